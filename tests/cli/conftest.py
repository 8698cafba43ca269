"""The command line, run in an empty folder with only the given configuration."""

import json
import os
from typing import NamedTuple

import pytest


class Finished(NamedTuple):
    """What a command printed."""

    stdout: str
    stderr: str

    @property
    def content(self):
        return json.loads(self.stdout)


@pytest.fixture
def run(tmp_path, command_line):
    """Return a function that runs a command in an empty folder with only the given settings, and compares its code."""

    def run(*arguments, code=0, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ACCOUNTING_ANALYTICS_")}
        clean |= {"XDG_CONFIG_HOME": str(tmp_path / "config")}
        finished = command_line([*map(str, arguments)], tmp_path, clean | environment)
        assert finished.returncode == code, finished.stderr
        return Finished(finished.stdout, finished.stderr)

    return run


@pytest.fixture
def run_demo(run, demo_company):
    """Return a function that runs the command line on the demo company, perhaps with further settings."""
    return lambda *arguments, **environment: run(*arguments, **demo_company.environment() | environment)


@pytest.fixture
def run_on_books(run):
    """Return a function that runs a command on the database books.db."""
    return lambda *arguments, **options: run(*arguments, "--database", "books.db", **options)


@pytest.fixture
def assert_refused():
    """Return a function that checks for one error line on stderr with texts, no traceback and no result."""

    def assert_refused(finished, *texts):
        assert "Traceback" not in finished.stderr
        lines = [line for line in finished.stderr.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, finished.stderr
        for text in texts:
            assert text in lines[0]
        assert finished.stdout == ""

    return assert_refused
