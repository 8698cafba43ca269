"""The READMEs are tested against the program: their blocks run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text(encoding="utf-8")
SERVICE_README = (PROJECT / "accounting_analytics" / "service" / "README.md").read_text(encoding="utf-8")
PROGRAM = "accounting-analytics"
MAIN = "from accounting_analytics.cli import main; main()"
MAX_README_LINES = 110
PYTHON_RESULTS = """
assert len(cash[cash.amount == 7514.02]) == 1, cash
assert len(matched) == len(bank) == 13, matched
assert list(matched[matched.id.isna()].text) == ["STOP PAYMENT FEE"], matched
assert len(income["Rent", "2026-05"].entries) > 0
assert len(figure.mark("inflow|2026-05").entries) > 0
assert len(plan) > 0 and "Travel" in set(plan.frame["updated_category_ledger_name"]), plan
journal = __import__("pathlib").Path("recategorize.journal").read_text()
assert journal.count('"outcome": "done"') > 100 and '"outcome": "unknown"' not in journal
"""
"""What the Python blocks of the README have made."""
PRINTED = {
    "import": r"entries: [1-9]",
    "register": r"Operating Account",
    "reconcile": r"agree",
    "preview": r"\d+\.\d\d",
    "statements income --books": r"Net income",
    "books history": r"20\d\d-",
}
"""What commands print, by their beginning."""
WRITTEN = {"income.xlsx": 5_000, "plan.csv": 1_000, "runs/scheduled_report_2026-05-01_2026-05-31.html": 100_000}
"""Files that the commands write, and how many bytes they have at least."""


def blocks(text, language):
    """Return the code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text):
    """Return the commands of all shell blocks that end by themselves and need no database server."""
    lines = [line for block in blocks(text, "sh") for line in block.splitlines() if line.startswith(PROGRAM)]
    return [line for line in lines if (" serve " not in line or "--check" in line) and "postgresql://" not in line]


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with the files that the commands use."""
    for folder in ("data", "notebooks"):
        shutil.copytree(PROJECT / folder, tmp_path / folder)
    return tmp_path


def test_python_blocks_run(checkout):
    """The Python blocks run as they are, one after the other."""
    finished = subprocess.run(  # noqa: S603 (our own code)
        [sys.executable, "-W", "error", "-c", "\n".join([*blocks(README, "python"), PYTHON_RESULTS])],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    assert "agree to the last digit" in finished.stdout
    assert "print(cash[cash.amount == 7514.02]" in README


@pytest.fixture
def run_commands(checkout, fork_server):
    """Return a function that runs commands one after the other in one folder, without their imports each time."""

    def run_commands(commands, **environment):
        for command in commands:
            words = shlex.split(command, comments=True)[1:]
            fork_server.start(MAIN, *words, folder=checkout, environment=os.environ | environment)
            finished = fork_server.wait()
            assert finished.returncode == 0, f"{command}\n{finished.stderr}"
            for beginning, text in PRINTED.items():
                if command.startswith(f"{PROGRAM} {beginning}"):
                    assert re.search(text, finished.stdout + finished.stderr), f"{command}\n{finished.stdout}"

    return run_commands


def check_files(checkout):
    """Check that the commands of the README have written files with rows."""
    for name, size in WRITTEN.items():
        assert (checkout / name).stat().st_size > size, name
    assert [*checkout.glob("parquet/current/fact_line_entry/**/*.parquet")]


@pytest.mark.long
def test_shell_commands_run_as_they_are(run_commands, checkout):
    """The commands run as they are, each on a demo company of its own."""
    run_commands(commands(README))
    check_files(checkout)


# what is enough of the books to run each command
FEWER_MONTHS = {"2026-01-01": "2026-05-01", "sync --demo": "sync --demo --start-date 2026-04-01"}


def test_shell_commands_run(run_commands, demo_company, checkout):
    """The commands run; one as it is, the others on fewer months of a demo company that is not started for each."""
    first, *others = commands(README)
    for text, shorter in FEWER_MONTHS.items():
        assert any(text in command for command in others)
        others = [command.replace(text, shorter) for command in others]
    run_commands([first])
    run_commands([command.replace(" --demo", "") for command in others], **demo_company.environment())
    assert "--demo" in first
    check_files(checkout)


def test_shell_commands_of_the_service_run(run_commands):
    """So do those of the service."""
    run_commands(commands(SERVICE_README))


def test_blocks_are_found():
    """Both READMEs have commands to run, and the first has Python blocks."""
    assert len(commands(README)) >= 10
    assert len(commands(SERVICE_README)) >= 5
    assert len(blocks(README, "python")) >= 2


def test_readme_is_short():
    """The README stays readable in five minutes."""
    assert len(README.splitlines()) <= MAX_README_LINES
