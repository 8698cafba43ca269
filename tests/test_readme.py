"""The README is held against the program: every Python and shell block of it runs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
BLOCKS = re.findall(
    r"^```(\w+)\n(.*?)^```", (PROJECT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
TOURS = [
    [
        line
        for line in block.splitlines()
        if line.startswith("accounting-analytics") and (" serve " not in line or "--check" in line)
    ]
    for language, block in BLOCKS
    if language == "sh"
]


@pytest.fixture
def checkout(tmp_path):
    """Return a folder that holds what the README's commands name."""
    for folder in ("data", "notebooks"):
        shutil.copytree(PROJECT / folder, tmp_path / folder)
    return tmp_path


def test_python_tour_runs(checkout):
    """The Python blocks, one after the other, run as they stand."""
    code = "\n".join(block for language, block in BLOCKS if language == "python")
    finished = subprocess.run(  # noqa: S603 (our own words)
        [sys.executable, "-W", "error", "-c", code],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    assert "agree to the last digit" in finished.stdout


@pytest.mark.parametrize("commands", [pytest.param(tour, id=tour[0][21:60]) for tour in TOURS if tour])
def test_shell_tour_runs(checkout, commands):
    """The commands of a shell block run as they stand, one after the other in one folder."""
    for command in commands:
        program = command.replace("accounting-analytics", f"{sys.executable} -m accounting_analytics", 1)
        finished = subprocess.run(  # noqa: S602 (our own words, with their quotes)
            program, shell=True, cwd=checkout, capture_output=True, text=True, check=False, timeout=300
        )
        assert finished.returncode == 0, finished.stderr


def test_there_is_something_to_run():
    """The README has Python blocks and at least ten commands."""
    assert sum(map(len, TOURS)) >= 10
    assert any(language == "python" for language, _ in BLOCKS)
