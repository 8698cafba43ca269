"""Memory of a load to Parquet is bounded by what is in flight, not by the books."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
LINES = 100_000 * int(os.environ.get("ACCOUNTING_ANALYTICS_SOAK", "1"))


@pytest.mark.soak
def test_a_load_to_parquet_stays_small():
    """A hundred thousand lines, or a million, in less than 500 MB, interpreter and libraries included."""
    server = [sys.executable, str(BENCHMARKS / "page_server.py"), str(LINES), "1", "1", "1"]
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served:  # noqa: S603
        port, _ = served.stdout.readline().split()
        load = [sys.executable, str(BENCHMARKS / "load.py"), "--program", "ours to Parquet"]
        with subprocess.Popen(  # noqa: S603 (our own program)
            [*load, "--url", f"http://127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True
        ) as program:
            told = program.stdout.read()
            _, status, usage = os.wait4(program.pid, 0)
            program.returncode = status
        served.stdin.close()
    assert status == 0
    assert f'"lines": {LINES}' in told
    assert usage.ru_maxrss / 1024 < 500
