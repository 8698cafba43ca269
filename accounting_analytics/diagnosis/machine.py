"""Is this machine ready? Each check is a plain function that looks for real: opens, imports, writes."""

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

from accounting_analytics.diagnosis.finding import Finding, Part, Verdict
from accounting_analytics.errors import PeriodError
from accounting_analytics.periods import LOCALTIME, time_zone_names, zone

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable

_DISTRIBUTION = "accounting-analytics"
_MB = 1 << 20
_WANTED_MB, _NEEDED_MB = 1024, 50
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SECONDS = 60
_EXTRA = re.compile(r"(?P<name>[\w.-]+).*;\s*extra == ['\"](?P<extra>[\w-]+)['\"]")
_VERSION = re.compile(r"# version (\S+)")
_IMPORT = "import {0}; print(getattr({0}, '__version__', 'of unknown version'))"
_KERNELS = (
    # as Jupyter starts it: the kernel "python" is the interpreter that asks, whatever is on the path
    "import ipykernel, json; from jupyter_client import KernelManager; "
    "from jupyter_client.kernelspec import KernelSpecManager; names = KernelSpecManager().find_kernel_specs(); "
    "print(json.dumps({name: KernelManager(kernel_name=name).format_kernel_cmd()[:1] for name in names}))"
)


def machine_findings(output: Path) -> list[Finding]:
    """All findings about this machine; `output` is the folder where results would go."""
    checks: tuple[Callable[[], Finding], ...] = (
        time_zones,
        lambda: disk(output),
        lambda: library("JupyterLab", "jupyterlab", "notebooks cannot be opened (make lab)"),
        kernel,
        lambda: library("plotly", "plotly", "charts cannot be drawn"),
        extras,
        browser,
    )
    with ThreadPoolExecutor(2) as threads:  # imports run in processes of their own
        return list(threads.map(lambda check: check(), checks))


def time_zones() -> Finding:
    """Check that every zone of the interface opens here, from data that is not behind."""
    check = "time zones"
    missing = sorted(name for name in time_zone_names() - {LOCALTIME} if not _opens(name))
    if missing:
        return Finding(
            Part.MACHINE,
            check,
            Verdict.FAILED,
            f"{len(missing)} of {len(time_zone_names())} zones of the interface have no data here, such as "
            f"{missing[0]}: days cannot be counted in them",
            "install it with: pip install tzdata",
        )
    packaged = _zones_version(resources.files("tzdata").joinpath("zoneinfo")) or "of unknown version"
    system = next(filter(None, map(_zones_version, map(Path, zoneinfo.TZPATH))), None)
    if system is None:
        return Finding(Part.MACHINE, check, Verdict.OK, f"data {packaged}, from the tzdata package")
    if system < packaged:
        return Finding(
            Part.MACHINE,
            check,
            Verdict.WARNING,
            f"data {system}, from the system, is older than {packaged} of the tzdata package: where a country changed "
            "its clocks in between, days are counted by the old rules",
            "update the system's tzdata, or set PYTHONTZPATH to nothing to use the package's",
        )
    return Finding(Part.MACHINE, check, Verdict.OK, f"data {system}, from the system")


def disk(folder: Path) -> Finding:
    """Check that results can be written, and there is room for them."""
    check = "disk"
    place = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.is_dir())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"written")
            file.flush()
        free = shutil.disk_usage(place).free // _MB
    except OSError as error:
        said = f"nothing can be written to {place}: {error.strerror or error}"
        return Finding(Part.MACHINE, check, Verdict.FAILED, said, "give another folder as output")
    said = f"{free:,} MB free in {place}"
    if free >= _WANTED_MB:
        return Finding(Part.MACHINE, check, Verdict.OK, said)
    verdict = Verdict.WARNING if free >= _NEEDED_MB else Verdict.FAILED
    return Finding(Part.MACHINE, check, verdict, f"only {said}", "make room, or give another folder as output")


def library(check: str, module: str, without: str) -> Finding:
    """Check that a library can be imported; `without` says what cannot be done when it cannot."""
    ran = _python(_IMPORT.format(module))
    if ran.said is None:
        said, step = f"{without}: {ran.problem}", f"install it with: pip install {module}"
        return Finding(Part.MACHINE, check, Verdict.WARNING, said, step)
    return Finding(Part.MACHINE, check, Verdict.OK, f"{ran.said} can be imported")


def kernel() -> Finding:
    """Check that Jupyter knows a kernel whose program is there."""
    check = "Jupyter kernel"
    ran = _python(_KERNELS)
    programs: dict[str, list[str]] = {} if ran.said is None else json.loads(ran.said)
    there = sorted(name for name, program in programs.items() if program and shutil.which(program[0]))
    if there:
        return Finding(Part.MACHINE, check, Verdict.OK, ", ".join(there))
    broken = f"the program of kernel {min(programs)} is missing" if programs else "Jupyter knows no kernel"
    return Finding(
        Part.MACHINE,
        check,
        Verdict.WARNING,
        f"notebooks cannot be run: {ran.problem or broken}",
        "install one with: python -m ipykernel install --sys-prefix",
    )


def extras() -> Finding:
    """Check that optional libraries that are installed can be imported."""
    check = "optional extras"
    try:
        declared = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        said = "because the package runs from its source and is not installed, so its extras are not known"
        return Finding(Part.MACHINE, check, Verdict.NOT_CHECKED, said)
    named = [(match["extra"], match["name"]) for match in map(_EXTRA.match, declared) if match]
    states = [(extra, name, _state(name)) for extra, name in named]
    broken = [(name, state) for _, name, state in states if state not in {"", "absent"}]
    if broken:
        name, problem = broken[0]
        said = f"{name} is installed but cannot be imported: {problem}"
        return Finding(
            Part.MACHINE, check, Verdict.WARNING, said, f"install it anew: pip install --force-reinstall {name}"
        )
    there = [f"{name} ({extra})" for extra, name, state in states if not state]
    absent = [f"{name} ({extra})" for extra, name, state in states if state]
    told = ", ".join(there) or "none"
    return Finding(
        Part.MACHINE,
        check,
        Verdict.OK,
        f"installed: {told}" + (f"; not installed: {', '.join(absent)}" if absent else ""),
    )


def browser() -> Finding:
    """Check that a Chromium starts; only tests of the pages need it."""
    check = "chromium"
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        return Finding(Part.MACHINE, check, Verdict.OK, "not found; optional, only tests of the pages use it")
    ran = _run([program, "--version"])
    if ran.said is None:
        said = f"{program} does not start ({ran.problem}); only tests of the pages use it"
        return Finding(Part.MACHINE, check, Verdict.WARNING, said, "install it anew")
    return Finding(Part.MACHINE, check, Verdict.OK, f"{ran.said} ({program})")


class _Ran(NamedTuple):
    """Last line that a program said, or why it failed."""

    said: str | None
    problem: str = ""


def _python(code: str) -> _Ran:
    """Run code in a Python of its own: a broken library can do there what it likes."""
    return _run([sys.executable, "-c", code])


def _run(command: list[str]) -> _Ran:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False, errors="replace")  # noqa: S603 (programs found here)
    except (OSError, subprocess.TimeoutExpired) as error:
        return _Ran(None, f"{type(error).__name__}")
    said = done.stdout.strip().splitlines()
    if done.returncode == 0 and said:
        return _Ran(said[-1].strip())
    complaint = done.stderr.strip().splitlines()
    return _Ran(None, complaint[-1].strip() if complaint else f"it ended with {done.returncode}")


def _state(name: str) -> str:
    """``absent``, nothing where a distribution can be imported, or why it cannot."""
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"
    return _python(_IMPORT.format(name.replace("-", "_"))).problem


def _opens(name: str) -> bool:
    try:
        zone(name)
    except PeriodError:
        return False
    return True


def _zones_version(folder: Traversable) -> str | None:
    """Version of a zone database; None where there is none."""
    try:
        with folder.joinpath("tzdata.zi").open(encoding="utf-8") as file:
            said = _VERSION.match(file.readline())
    except (OSError, UnicodeDecodeError):
        return None
    return said[1] if said else None
