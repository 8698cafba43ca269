"""JupyterLab on the demo company."""

import os
import signal
import time

import pytest

from accounting_analytics.core.errors import ConfigurationError
from accounting_analytics.demo_company import open_lab


def test_a_missing_folder_is_refused(tmp_path):
    """A folder of notebooks that does not exist is refused."""
    with pytest.raises(ConfigurationError, match="does not exist"):
        open_lab(tmp_path / "notebooks")


@pytest.mark.long
def test_a_terminated_program_ends_jupyterlab(fork_server, tmp_path):
    """A stopped container or job sends SIGTERM: JupyterLab ends, and then the program, with its exit code."""
    (tmp_path / "notebooks").mkdir()
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    process_id = fork_server.start(
        "from accounting_analytics.demo_company import open_lab; raise SystemExit(open_lab())",
        folder=tmp_path,
        environment=os.environ | folders | {"JUPYTER_PORT": "0", "BROWSER": "true"},
    )
    while not [*tmp_path.glob("RUNTIME/jpserver-*.json")]:
        time.sleep(0.1)
        os.kill(process_id, 0)
    os.kill(process_id, signal.SIGTERM)
    assert fork_server.wait().returncode == 0
    assert not [*tmp_path.glob("RUNTIME/jpserver-*.json")]
