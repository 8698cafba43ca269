"""Optional programs, without which tests are skipped loudly or fail where everything is required; long counts."""

import os
import shutil
from pathlib import Path

import hypothesis
import pytest

PROGRAMS = {
    "browser": ("chromium", "apt-get install chromium"),
    "hledger": ("hledger", "apt-get install hledger"),
    "ledger": ("ledger", "apt-get install ledger"),
    "postgresql": ("initdb", "apt-get install postgresql"),
}
# Debian keeps the server programs of PostgreSQL off the path
SEARCHED = os.pathsep.join(
    [os.environ.get("PATH", os.defpath), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
)
# two cores are shared by servers, browsers and kernels: an example may wait for its turn
hypothesis.settings.register_profile("shared", deadline=None)
hypothesis.settings.load_profile("shared")
REQUIRE_ALL = os.environ.get("ACCOUNTING_ANALYTICS_REQUIRE_ALL") == "1"
# tests marked `soak` do a tenth of their long count by default, and all of it at 10 (`make soak`)
SOAK = int(os.environ.get("ACCOUNTING_ANALYTICS_SOAK", "1"))


def missing_programs():
    """Markers whose program is not on this machine."""
    return {marker: need for marker, need in PROGRAMS.items() if shutil.which(need[0], path=SEARCHED) is None}


def pytest_configure():
    """Refuse to start without the optional programs where everything is required."""
    missing = missing_programs()
    if REQUIRE_ALL and missing:
        needs = ", ".join(f"{program} ({install})" for program, install in missing.values())
        pytest.exit(f"everything is required here, but these programs are missing: {needs}", returncode=1)


def pytest_collection_modifyitems(items):
    """Skip tests whose program is missing."""
    for marker, (program, install) in missing_programs().items():
        for item in items:
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"{program} is not installed: {install}"))


def pytest_sessionfinish(session):
    """Fail a run that skipped anything where everything is required."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if REQUIRE_ALL and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Say loudly what was not tested."""
    for marker, (program, install) in missing_programs().items():
        terminalreporter.write_sep("!", f"NOT TESTED: everything marked '{marker}', because {program} is missing")
        terminalreporter.write_line(f"To test it too: {install}")


@pytest.fixture(scope="session")
def program_path():
    """Return a function that finds one of the optional programs."""
    return lambda name: Path(shutil.which(name, path=SEARCHED))


@pytest.fixture(scope="session")
def soak_count():
    """Return a function that scales a long count of a `soak` test: a tenth of it, or all of it in `make soak`."""
    return lambda long: max(1, long * SOAK // 10)


@pytest.fixture(scope="session")
def demo_company():
    """Return the demo company, served on loopback until the tests end; tests must not change its books."""
    from accounting_analytics.demo import demo  # noqa: PLC0415 (most tests need no service)

    with demo() as company:
        yield company
