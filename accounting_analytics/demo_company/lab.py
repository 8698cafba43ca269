"""JupyterLab, connected to the demo company."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from accounting_analytics.core.errors import ConfigurationError
from accounting_analytics.demo_company.served_company import demo


def open_lab(folder: str | Path = "notebooks") -> int:
    """Open JupyterLab on a folder of notebooks; return its exit code.

    After Ctrl-C, JupyterLab asks before it ends. SIGTERM ends JupyterLab and this process immediately. Call this in the
    main thread.
    """
    notebooks = Path(folder)
    if not notebooks.is_dir():
        raise ConfigurationError(
            f"folder {str(notebooks)!r} does not exist; run this in a checkout of the project, or after: "
            "accounting-analytics notebooks copy ."
        )
    with demo() as company:
        command = [sys.executable, "-m", "jupyterlab", str(notebooks), "--ServerApp.ip=127.0.0.1"]
        if os.name == "posix" and os.geteuid() == 0:
            command.append("--allow-root")  # often the only user in containers; only loopback is served
        lab = subprocess.Popen(command, env=os.environ | company.environment())  # noqa: S603 (our own interpreter)
        signal.signal(signal.SIGTERM, lambda *_: lab.terminate())
        while True:
            try:
                return lab.wait()
            except KeyboardInterrupt:
                continue  # JupyterLab also receives the interrupt, and asks for confirmation
