"""Local books in the shell: synced, read by every command that loads, synced after a run, and refused elsewhere."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from filelock import FileLock
from long_cases import also_long

import accounting_analytics as aa

PROJECT = Path(__file__).parents[3]
QUARTER = ("--start-date", "2025-01-01", "--end-date", "2025-03-31")
MARCH = ("--period", "2025-03")
RULES = PROJECT / "data/rules.toml"
AGE = "Local books, version 0, as of "
NO_BOOKS = "none has no local books yet; this writes them: accounting-analytics sync --books none"
SYNC = ("sync", "--books", "local", *QUARTER)


@pytest.fixture(scope="module")
def company(tmp_path_factory):
    """Return a demo company whose books the tests of this module change."""
    with aa.demo(database=tmp_path_factory.mktemp("changed") / "books.db") as company:
        yield company


def without_notes(text):
    """Return JSON without what books note in addition."""
    content = json.loads(text)
    return {name: value for name, value in content.items() if name not in {"notes", "origin"}}


@pytest.mark.parametrize(
    "command",
    [
        ("statements", "income"),
        ("report",),
        *also_long(
            ("statements", "cash-flow", "--books-start", "2025-01-01"),
            ("statements", "balance-sheet", "--books-start", "2025-01-01"),
        ),
    ],
    ids=" ".join,
)
def test_statements_of_books(run, demo_company, demo_books, command):
    """Statements and the report of local books have the figures of the service, without one, and their age."""
    served = run(*command, *MARCH, "--json", **demo_company.environment())
    local = run(*command, *MARCH, "--books", demo_books, "--json")
    assert (served.returncode, local.returncode) == (0, 0), local.stderr
    if command != ("report",):
        assert without_notes(local.stdout) == without_notes(served.stdout)
    else:
        served, figures = json.loads(served.stdout), json.loads(local.stdout)
        assert figures["ending_cash_balance"] == served["ending_cash_balance"]
        assert len(figures["lines"]) == len(served["lines"])
    assert AGE in local.stderr
    assert any(AGE in note for note in json.loads(local.stdout)["notes"])


@pytest.mark.parametrize(
    "command",
    [
        ("queue",),
        *also_long(("register", "Operating Account"), ("propose", "--rules", RULES), ("rules", "test", RULES)),
    ],
    ids=lambda command: command[0],
)
def test_tables_of_books(run, demo_company, demo_books, command):
    """Tables of local books are those of the service, and their age is stated once."""
    served = run(*command, *MARCH, "--json", **demo_company.environment())
    local = run(*command, *MARCH, "--books", demo_books, "--json")
    assert (served.returncode, local.returncode) == (0, 0), local.stderr
    expected, printed = json.loads(served.stdout), json.loads(local.stdout)
    if command[0] == "register":
        expected, printed = ([row["amount"] for row in one] for one in (expected, printed))
    assert printed == expected
    assert local.stderr.count(AGE) == 1


def test_a_register_of_books_has_balances(run, demo_books):
    """Books that reach back to the first day need no --books-start: balances are balances."""
    shown = run("register", "Operating Account", *MARCH, "--books", demo_books)
    assert " balance" in shown.stdout
    balance = run("statements", "balance-sheet", *MARCH, "--books", demo_books)
    assert "Balances are sums since 2025-01-01, the first day of the books." in balance.stdout
    assert AGE in balance.stdout


def test_compared_days_that_books_do_not_have(run, demo_books):
    """A year before the books is not known, and does not prevent the statement."""
    shown = run("statements", "income", *MARCH, "--compare", "prior-year", "--books", demo_books)
    assert shown.returncode == 0, shown.stderr
    assert "Mar 2024" in shown.stdout


def test_the_chart_of_books(run, demo_books):
    """`discover` lists the chart of accounts of the books."""
    listed = json.loads(run("discover", *MARCH, "--books", demo_books, "--json").stdout)
    assert {ledger["id"] for ledger in listed} == set(aa.connect(books=demo_books).ledgers()["id"])


def test_export_of_books(run, demo_books):
    """Without days all that the books have is exported, and the same again over the export before."""
    first = run("export", "--books", demo_books, "--output", "parquet")
    assert first.returncode == 0, first.stderr
    assert "2025-01-01 to 2025-03-31 (America/New_York)" in first.stdout
    again = run("export", "--books", demo_books, "--output", "parquet")
    assert again.stdout == first.stdout
    assert run("verify-export", "parquet").returncode == 0


def test_the_configured_books(run, demo_books):
    """The setting stands for --books where no service is configured."""
    shown = run("report", *MARCH, "--raw", ACCOUNTING_ANALYTICS_BOOKS=str(demo_books))
    assert shown.returncode == 0, shown.stderr
    assert AGE in shown.stderr


@pytest.mark.long
def test_notebooks_of_books(run, demo_company, demo_books, tmp_path):
    """A notebook that is run with --books connects to them, also where a service is configured."""
    import nbformat  # noqa: PLC0415 (slow, and needed here only)

    code = "import accounting_analytics as aa\nprint(aa.connect().summary())"
    cells = [nbformat.v4.new_code_cell("end = 1", metadata={"tags": ["parameters"]}), nbformat.v4.new_code_cell(code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "job.ipynb")
    finished = run("run", "job.ipynb", "--output", "out", "--books", demo_books, **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    assert f"Local books in {demo_books}" in (tmp_path / "out" / "job.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "case",
    [
        (("report", *MARCH, "--demo"), "--demo and --books are both given"),
        (("reconcile", *MARCH), "--books: they would be compared with themselves; `sync` compares each month"),
        (("verify", "plan.csv"), "--books: `verify` reads what the service has now, so leave it out"),
        (("statements", "income", *MARCH, "--dry-run"), "--dry-run has no effect with --books"),
        (("queue", *MARCH, "--checkpoint", "windows"), "--checkpoint has no effect with --books"),
        (("statements", "income", *MARCH, "--allow-partial"), "--allow-partial has no effect with --books"),
        (
            ("register", "Rent", *MARCH, "--parents", "p.csv"),
            "--parents has no effect with --books: they have",
        ),
        (("discover", *MARCH, "--time-zone", "UTC"), "these local books count days in America/New_York"),
        (("queue", "--period", "2024-03"), "the local books have 2025-01-01 to 2025-03-31"),
    ],
)
def test_refused_with_books(run, assert_refused, demo_company, demo_books, case):
    """What needs the service, or has no effect, is refused with what to do instead."""
    command, text = case
    assert_refused(run(*command, "--books", demo_books, **demo_company.environment()), 2, text)


def test_a_folder_without_books(run, assert_refused, tmp_path):
    """Reading needs books that were synced; nothing is created, and the message has the command."""
    assert_refused(run("report", *MARCH, "--books", "none"), 2, NO_BOOKS)
    assert list(tmp_path.iterdir()) == []


def test_sync_and_changes(run, assert_refused, company, *, tmp_path):
    """A run syncs its books; a change elsewhere is found by the next sync, which raises the alarm of a closed month."""
    environment = company.environment()
    first = run(*SYNC, **environment)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("Version 0: all 3 months agree with the service's cash flow reports. ")
    assert "read them with --books local" in first.stderr
    planned = run("plan", *MARCH, "--rules", RULES, "--output", "plan.csv", "--books", "local")
    assert planned.returncode == 0, planned.stderr
    assert "preview plan.csv --start-date 2025-03-01 --end-date 2025-03-31 --books local" in planned.stderr
    previewed = run("preview", "plan.csv", *MARCH, "--books", "local")
    assert previewed.returncode == 0, previewed.stderr
    count = len(aa.Plan.load(tmp_path / "plan.csv"))
    refused = run("apply", "plan.csv", "--journal", "j", "--books", "none", "--confirm", **environment)
    assert_refused(refused, 2, NO_BOOKS)
    dry = run("apply", "plan.csv", "--journal", "j", "--books", "local", **environment)
    assert "synced" not in dry.stderr
    applied = run("apply", "plan.csv", "--journal", "j", "--books", "local", "--confirm", **environment)
    assert applied.returncode == 0, applied.stderr
    assert "local books in local are synced: Version 1: all 3 months agree" in applied.stderr
    assert f"{count} lines of {count} journal entries in 1 month" in applied.stderr
    assert run("books", "close", *MARCH, "--books", "local").returncode == 0
    undone = run("undo", "j", "--journal", "j2", "--confirm", **environment)
    assert undone.returncode == 0, undone.stderr
    synced = run(*SYNC, **environment)
    assert synced.returncode == 3
    assert "ALARM: 2025-03-01 to 2025-03-31 changed since it was closed on " in synced.stdout
    assert "error: 1 closed period has changed: accounting-analytics books closed --books local" in synced.stderr
    assert "read them with" not in synced.stderr
    report = aa.connect(books=tmp_path / "local").report(aa.Period("2025-03-01", "2025-03-31", company.time_zone))
    served = aa.load_cash_flow_report(company.client, "2025-03-01", "2025-03-31")
    assert report.exact_sums() == served.exact_sums()
    as_json = json.loads(run(*SYNC, "--json", "--months-a-night", "0", **environment).stdout)
    assert as_json["ties"]
    assert as_json["changes"] == []
    assert len(as_json["alarms"]) == 1


@pytest.mark.long
def test_categorize_syncs_too(run, company, tmp_path):
    """The unattended run syncs the books that it is given."""
    environment = company.environment()
    (tmp_path / "rules.toml").write_text(
        '[[rule]]\nname = "all"\ncontains = "A"\ncategory = "Meals"\nexact = true\n', encoding="utf-8"
    )
    assert run(*SYNC, **environment).returncode == 0
    arguments = ("--rules", "rules.toml", "--max-amount", "9999", "--books", "local", "--confirm")
    finished = run("categorize", "--period", "2025-02", *arguments, **environment)
    assert finished.returncode == 0, finished.stderr
    assert "local books in local are synced: Version 1: all 3 months agree" in finished.stderr


@pytest.mark.long
def test_an_instance_that_is_served_elsewhere(run, demo_company, company):
    """The same instance at another address is synced, and the address is noted."""
    assert run(*SYNC, **demo_company.environment()).returncode == 0
    synced = run(*SYNC, **company.environment())
    assert synced.returncode == 0
    assert f"The service is at {company.client.base_url} now; it was at {demo_company.base_url}." in synced.stdout


@pytest.mark.long
def test_a_run_whose_books_cannot_be_synced(run, company, tmp_path):
    """If another program holds the books, the run is reported before the failure, which says what to do next."""
    assert run(*SYNC, **company.environment()).returncode == 0
    plan = ("plan", "--period", "2025-01", "--rules", RULES, "--output", "plan.csv", "--books", "local")
    assert run(*plan).returncode == 0
    with FileLock(tmp_path / "local" / "books.lock"):
        applied = run("apply", "plan.csv", "--journal", "j", "--books", "local", "--confirm", **company.environment())
    assert applied.returncode == 2
    assert "done" in applied.stdout
    assert "the run has ended, but the local books were not synced: accounting-analytics sync" in applied.stderr
    assert (tmp_path / "j").exists()


@pytest.mark.long
def test_a_month_that_is_not_proven(run, demo_company, distortion, forwarding):
    """A report that the lines do not agree with is exit code 3, and every result of the books says so."""

    def change(path, _, report):
        if "reports" in path:
            report["ending_cash_balance"] = str(Decimal(report["ending_cash_balance"]) + 1)

    with forwarding(demo_company.base_url, distortion(response=change)) as base_url:
        environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}
        synced = run("sync", "--books", "local", "--period", "2025-01", **environment)
    assert synced.returncode == 3, synced.stderr
    assert "1 of 1 months do not agree with the service's report" in synced.stdout
    assert "the books were written, and every result of them says so" in synced.stderr
    read = run("statements", "income", "--period", "2025-01", "--books", "local")
    assert read.returncode == 0
    assert "1 of 1 months do not agree with the service's report" in read.stderr
