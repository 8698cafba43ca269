"""Memory of a load to Parquet is bounded by what is in flight, not by the books."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
# what a process needed at most counts from before its program began: so it begins from a small one, not from the tests
WATCH = """
import os, subprocess, sys
program = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(program.pid, 0)
program.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss)
sys.exit(program.returncode)
"""


@pytest.mark.soak
def test_a_load_to_parquet_stays_small(soak_count):
    """A hundred thousand lines, or a million, in less than 500 MB, interpreter and libraries included."""
    lines = soak_count(1_000_000)
    server = [sys.executable, str(BENCHMARKS / "page_server.py"), str(lines), "1", "1", "1"]
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served:  # noqa: S603
        port, _ = served.stdout.readline().split()
        load = [sys.executable, str(BENCHMARKS / "load.py"), "--program", "ours to Parquet"]
        told = subprocess.run(  # noqa: S603 (our own program)
            [sys.executable, "-c", WATCH, *load, "--url", f"http://127.0.0.1:{port}"],
            stdout=subprocess.PIPE, text=True, check=True,
        ).stdout  # fmt: skip
        served.stdin.close()
    assert f'"lines": {lines}' in told
    assert int(told.splitlines()[-1]) / 1024 < 500
