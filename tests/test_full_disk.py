"""Commands on a full disk: a limit of the file size, and a device that is always full."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from long_cases import also_long

PROJECT = Path(__file__).parent.parent
LONGEST_MESSAGES = 1_000
DAYS = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
PROGRAM = """
import resource, sys
from accounting_analytics.cli import main
if most := sys.argv.pop(1):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
main()
"""
ROWS = "".join(
    f"e{at},2025-01-02,A sale,{account},{side},1.00\n"
    for at in range(3000)
    for account, side in (("assets:bank", "debit"), ("income:sales", "credit"))
)


@pytest.fixture
def run_with_limit(tmp_path, fork_server):
    """Return a function that runs a command in an empty folder with a limit of the file size in bytes."""

    def run(*arguments, most=None, stdout=subprocess.PIPE, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ACCOUNTING_ANALYTICS_")}
        has_room_for_messages = most is None or most > LONGEST_MESSAGES
        if has_room_for_messages and stdout is subprocess.PIPE:
            fork_server.start(PROGRAM, most or "", *arguments, folder=tmp_path, environment=clean | environment)
            return fork_server.wait()
        return subprocess.run(  # noqa: S603 (our own program)
            [sys.executable, "-c", PROGRAM, str(most or ""), *map(str, arguments)],
            cwd=tmp_path,
            env=clean | {"PYTHONDONTWRITEBYTECODE": "1"} | environment,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def check_error(finished, code, *texts):
    """Check the exit code, and for one line with the texts on stderr."""
    assert finished.returncode == code, finished.stderr
    assert "Traceback" not in finished.stderr
    assert "Exception ignored" not in finished.stderr
    errors = [line for line in finished.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, finished.stderr
    for text in texts:
        assert text in errors[0]


def test_import_on_a_full_disk_posts_all_or_nothing(run_with_limit, tmp_path):
    (tmp_path / "lines.csv").write_text("entry_id,datetime,entry_description,ledger,debit_credit,amount\n" + ROWS)
    command = ("import", "lines.csv", "--database", "books.db", "--no-cash", "--time-zone", "UTC")
    check_error(run_with_limit(*command, most=300_000), 4, "the disk of the database is full; nothing was changed")
    assert {path.name for path in tmp_path.iterdir()} == {"lines.csv", "books.db"}
    assert run_with_limit("service", "instances", "list", "--database", "books.db").stderr == "no entries\n"
    assert run_with_limit(*command).returncode == 0
    assert "3000 entries are in the books already" in run_with_limit(*command).stderr


@pytest.mark.parametrize("name", ["export", *also_long("plan")])
def test_load_results_that_do_not_fit_leave_no_part(run_with_limit, tmp_path, demo_company, name):
    command, most = {
        "export": (("export", *DAYS, "--output", "out"), 6000),
        "plan": (("plan", *DAYS, "--rules", PROJECT / "data/rules.toml", "--output", "out"), 900),
    }[name]
    finished = run_with_limit(*command, most=most, **demo_company.environment())
    check_error(finished, 2, "out", "File too large")
    assert finished.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} == set()


@pytest.mark.long
def test_page_that_does_not_fit_leaves_no_part(run_with_limit, tmp_path):
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]), tmp_path / "sum.ipynb")
    finished = run_with_limit("run", "sum.ipynb", "--output", "out", most=100_000)
    check_error(finished, 2, "sum.html cannot be written: File too large", "the previous content is unchanged")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["sum.ipynb"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no device that is always full")
@pytest.mark.parametrize("command", [("config", "show"), *also_long(("config", "show", "--json"), ("--help",))])
def test_output_that_cannot_be_written_is_one_message(run_with_limit, command):
    with Path("/dev/full").open("w") as full:
        check_error(run_with_limit(*command, stdout=full), 1, "the output cannot be written", "No space left on device")


@pytest.mark.long
def test_start_on_a_full_disk_says_so(run_with_limit, tmp_path):
    (tmp_path / "lines.csv").write_text("entry_id,datetime,entry_description,ledger,debit_credit,amount\n" + ROWS)
    full = ("books.db cannot be opened, because its disk is full", "nothing was changed, make space")
    for command in (
        ("serve",),
        ("import", "lines.csv", "--cash", "assets:*", "--time-zone", "UTC"),
        ("service", "instances", "create"),
    ):
        for most in (1, 5000):
            check_error(run_with_limit(*command, "--database", "books.db", most=most), 2, *full)
    assert run_with_limit("service", "instances", "create", "--database", "books.db").returncode == 0
    check_error(run_with_limit("serve", "--database", "books.db", most=1), 2, *full)
    assert run_with_limit("service", "instances", "list", "--database", "books.db").returncode == 0
