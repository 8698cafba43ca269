"""A process that ends after a load failed or was interrupted exits: no thread converts lines any more."""

import signal
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("ended_load.py").read_text(encoding="utf-8")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("end", "outputs"),
    [("changed", {"ChangedWhileReadingError"}), ("interrupted", {"KeyboardInterrupt", "loaded"})],
)
def test_a_process_exits_after_a_load_ended(fork_server, tmp_path, soak_count, end, outputs):
    """Arrow waits at the end of a process for what its threads do, and these for Python, which has ended by then."""
    seen = []
    for seed in range(soak_count(100, fewer=3)):
        fork_server.start(PROGRAM, end, seed, folder=tmp_path, seconds=300)
        ended = fork_server.wait()
        assert ended.returncode != -signal.SIGALRM, f"run {seed} did not end within five minutes after {ended.stdout}"
        assert ended.returncode == 0, ended.stderr
        seen.append(ended.stdout)
    assert set(seen) <= outputs
    assert min(outputs) in seen
