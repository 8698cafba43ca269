"""The memory of a load to Parquet depends on the windows in flight, not on the books."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
# the peak memory of a process includes that of the process that forked it: fork from a small one, not from the tests
WATCH = """
import os, subprocess, sys
program = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(program.pid, 0)
program.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss)
sys.exit(program.returncode)
"""


@pytest.mark.soak
@pytest.mark.long
def test_a_load_to_parquet_stays_small(soak_count):
    """A load of many lines takes less than 500 MB, including interpreter and libraries."""
    lines = soak_count(1_000_000, fewer=60_000)
    server = [sys.executable, str(BENCHMARKS / "page_server.py"), str(lines), "1", "1", "1"]
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served:  # noqa: S603
        port, _ = served.stdout.readline().split()
        load = [sys.executable, str(BENCHMARKS / "load.py"), "--program", "ours to Parquet"]
        output = subprocess.run(  # noqa: S603 (our own program)
            [sys.executable, "-c", WATCH, *load, "--url", f"http://127.0.0.1:{port}"],
            stdout=subprocess.PIPE, text=True, check=True,
        ).stdout  # fmt: skip
        served.stdin.close()
    assert f'"lines": {lines}' in output
    assert int(output.splitlines()[-1]) / 1024 < 500
