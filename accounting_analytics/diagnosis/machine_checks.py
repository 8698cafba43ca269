"""Checks of this machine: time zones, disk, libraries and Jupyter kernels, each by really using them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import zoneinfo
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.diagnosis.findings import (
    CheckOutcome,
    Part,
    failed,
    not_checked,
    passed,
    run_check,
    warning,
)
from accounting_analytics.errors import PeriodError
from accounting_analytics.periods import LOCALTIME, time_zone_names, zone

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable

    from accounting_analytics.diagnosis.findings import Finding

_DISTRIBUTION = "accounting-analytics"
_MB = 1 << 20
_RECOMMENDED_MB, _REQUIRED_MB = 1024, 50
_SECONDS = 60
_EXTRA = re.compile(r"(?P<name>[\w.-]+).*;\s*extra == ['\"](?P<extra>[\w-]+)['\"]")
_VERSION = re.compile(r"# version (\S+)")
_IMPORT = "import {0}; print(getattr({0}, '__version__', 'of unknown version'))"
_KERNELS = (
    # KernelManager gives the command that Jupyter itself would start
    "import ipykernel, json; from jupyter_client import KernelManager; "
    "from jupyter_client.kernelspec import KernelSpecManager; names = KernelSpecManager().find_kernel_specs(); "
    "print(json.dumps({name: KernelManager(kernel_name=name).format_kernel_cmd()[:1] for name in names}))"
)


def check_machine(output: Path) -> list[Finding]:
    """All findings about this machine; `output` is the folder for results."""
    checks: dict[str, Callable[[], CheckOutcome]] = {
        "time zones": check_time_zones,
        "disk": lambda: check_disk(output),
        "JupyterLab": lambda: check_library("jupyterlab", "notebooks cannot be opened (make lab)"),
        "Jupyter kernel": check_kernel,
        "plotly": lambda: check_library("plotly", "charts cannot be drawn"),
        "optional extras": check_extras,
    }
    with ThreadPoolExecutor(2) as threads:  # the libraries are imported in separate processes
        return list(threads.map(lambda name: run_check(Part.MACHINE, name, checks[name]), checks))


def check_time_zones() -> CheckOutcome:
    """Check that every zone of the interface has data here, and that the data is up to date."""
    missing = sorted(name for name in time_zone_names() - {LOCALTIME} if not _has_data(name))
    if missing:
        return failed(
            f"{len(missing)} of {len(time_zone_names())} zones of the interface have no data here, such as "
            f"{missing[0]}: days cannot be counted in them",
            "install it with: pip install tzdata",
        )
    packaged = _zone_data_version(resources.files("tzdata").joinpath("zoneinfo")) or "of unknown version"
    system = next(filter(None, map(_zone_data_version, map(Path, zoneinfo.TZPATH))), None)
    if system is None:
        return passed(f"data {packaged}, from the tzdata package")
    if system < packaged:
        return warning(
            f"data {system}, from the system, is older than {packaged} of the tzdata package: where a country changed "
            "its clocks in between, days are counted by the old rules",
            "update the system's tzdata, or set PYTHONTZPATH to an empty string to use the package's",
        )
    return passed(f"data {system}, from the system")


def check_disk(folder: Path) -> CheckOutcome:
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


def check_library(module: str, consequence: str) -> CheckOutcome:
    """Check that a library can be imported; `consequence` says what does not work without it."""
    result = _import(module)
    if result.output is None:
        step = f"install it with: pip install {module}"
        return warning(f"{consequence}: {result.problem}", step)
    return passed(f"{result.output} can be imported")


def check_kernel() -> CheckOutcome:
    """Check that Jupyter has a kernel whose program exists."""
    result = _run_python(_KERNELS)
    programs: dict[str, list[str]] = {} if result.output is None else json.loads(result.output)
    usable = sorted(name for name, program in programs.items() if program and shutil.which(program[0]))
    if usable:
        return passed(", ".join(usable))
    problem = f"the program of kernel {min(programs)} is missing" if programs else "Jupyter has no kernel"
    return warning(
        f"notebooks cannot be run: {result.problem or problem}",
        "install one with: python -m ipykernel install --sys-prefix",
    )


def check_extras() -> CheckOutcome:
    """Check that the installed optional libraries can be imported."""
    try:
        requirements = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return not_checked("because the package runs from its source and is not installed, so its extras are not known")
    extras = [(match["extra"], match["name"]) for match in map(_EXTRA.match, requirements) if match]
    problems = {name: _import(name.replace("-", "_")).problem for _, name in extras if _is_installed(name)}
    for name, problem in problems.items():
        if problem:
            message = f"{name} is installed but cannot be imported: {problem}"
            return warning(message, f"reinstall it: pip install --force-reinstall {name}")
    installed = ", ".join(f"{name} ({extra})" for extra, name in extras if name in problems)
    missing = ", ".join(f"{name} ({extra})" for extra, name in extras if name not in problems)
    message = f"installed: {installed or 'none'}" + (f"; not installed: {missing}" if missing else "")
    return passed(message)


class _ProcessResult(NamedTuple):
    """Last line of a program's output, or why it failed."""

    output: str | None
    problem: str = ""


def _run_python(code: str) -> _ProcessResult:
    """Run code in a new Python process, which a broken library may crash."""
    command = [sys.executable, "-c", code]
    try:
        finished = subprocess.run(  # noqa: S603 (our own interpreter)
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return _ProcessResult(None, f"{type(error).__name__}")
    output = finished.stdout.strip().splitlines()
    if finished.returncode == 0 and output:
        return _ProcessResult(output[-1].strip())
    messages = finished.stderr.strip().splitlines()
    return _ProcessResult(None, messages[-1].strip() if messages else f"exit code {finished.returncode}")


def _import(module: str) -> _ProcessResult:
    """Import a module in a new process, and print its version."""
    return _run_python(_IMPORT.format(module))


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _has_data(name: str) -> bool:
    """Whether a zone can be read; a damaged file of it is listed too."""
    try:
        zone(name)
    except PeriodError:
        return False
    return True


def _zone_data_version(folder: Traversable) -> str | None:
    """Version of a time zone database; None if the folder has none."""
    try:
        with folder.joinpath("tzdata.zi").open(encoding="utf-8") as file:
            match = _VERSION.match(file.readline())
    except (OSError, UnicodeDecodeError):
        return None
    return match[1] if match else None
