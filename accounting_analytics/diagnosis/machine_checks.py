"""Checks of this machine: time zones, disk and libraries, each by really using them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from accounting_analytics.diagnosis.findings import Finding, Part, failed, passed, run_check, warning
from accounting_analytics.errors import PeriodError
from accounting_analytics.periods import LOCALTIME, time_zone_names, zone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_MB = 1 << 20
_RECOMMENDED_MB, _REQUIRED_MB = 1024, 50
_SECONDS = 60
_IMPORT = "import {0}; print(getattr({0}, '__version__', 'of unknown version'))"


def check_machine(output: Path) -> list[Finding]:
    """All findings about this machine; `output` is the folder for results."""
    checks: dict[str, Callable[[], Finding]] = {
        "time zones": check_time_zones,
        "disk": lambda: check_disk(output),
        "JupyterLab": lambda: check_library("jupyterlab", "notebooks cannot be opened (make lab)"),
        "plotly": lambda: check_library("plotly", "charts cannot be drawn"),
    }
    return [run_check(Part.MACHINE, name, check) for name, check in checks.items()]


def check_time_zones() -> Finding:
    """Check that every zone of the interface has data here."""
    names = time_zone_names() - {LOCALTIME}
    missing = sorted(name for name in names if not _has_data(name))
    if missing:
        return failed(
            f"{len(missing)} of {len(names)} zones of the interface have no data here, such as {missing[0]}: days "
            "cannot be counted in them",
            "install it with: pip install tzdata",
        )
    return passed(f"{len(names)} zones have data here")


def check_disk(folder: Path) -> Finding:
    """Check that results can be written, and that there is space for them."""
    existing = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.is_dir())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"written")
            file.flush()
        free = shutil.disk_usage(existing).free // _MB
    except OSError as error:
        message = f"cannot write to {existing}: {error.strerror or error}"
        return failed(message, "give another output folder")
    message = f"{free:,} MB free in {existing}"
    if free >= _RECOMMENDED_MB:
        return passed(message)
    result = warning if free >= _REQUIRED_MB else failed
    return result(f"only {message}", "free some space, or give another output folder")


def check_library(module: str, consequence: str) -> Finding:
    """Check that a library can be imported in a new process, which a broken one may crash.

    `consequence` says what does not work without it.
    """
    step = f"install it with: pip install {module}"
    try:
        finished = subprocess.run(  # noqa: S603 (our own interpreter)
            [sys.executable, "-c", _IMPORT.format(module)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return warning(f"{consequence}: {type(error).__name__}", step)
    if finished.returncode:
        messages = finished.stderr.strip().splitlines() or [f"exit code {finished.returncode}"]
        return warning(f"{consequence}: {messages[-1].strip()}", step)
    return passed(f"{finished.stdout.strip()} can be imported")


def _has_data(name: str) -> bool:
    """Whether a zone can be read; a damaged file of it is listed too."""
    try:
        zone(name)
    except PeriodError:
        return False
    return True
