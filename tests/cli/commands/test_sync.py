"""Local books in the shell: synced, read by every command that loads, synced after a run; versions and closed days."""

import datetime as dt
import re
import shutil
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
def changed_company(tmp_path_factory):
    """Return a demo company whose books the tests of this module change."""
    with aa.demo(database=tmp_path_factory.mktemp("changed") / "books.db") as company:
        yield company


@pytest.mark.parametrize(
    "command",
    [
        ("statements", "income"),
        ("report",),
        ("queue",),
        *also_long(("register", "Operating Account"), ("propose", "--rules", RULES), ("rules", "test", RULES)),
    ],
    ids=lambda command: command[0],
)
def test_local_books_give_the_figures_of_the_service(run_demo, run, demo_books, demo_company, command):
    served = run_demo(*command, *MARCH, "--json")
    names = ("ACCOUNTING_ANALYTICS_COMPANY", "ACCOUNTING_ANALYTICS_CURRENCY")
    headed = {name: demo_company.environment()[name] for name in names}
    local = run(*command, *MARCH, "--books", demo_books, "--json", **headed)
    assert local.stderr.count(AGE) == 1
    expected, printed = served.content, local.content
    if command[0] in {"statements", "report"}:
        assert any(AGE in note for note in printed["notes"])
        printed |= {name: expected.get(name) for name in ("notes", "origin") if name in printed}
    if command[0] == "report":
        expected, printed = ([one["ending_cash_balance"], len(one["lines"])] for one in (expected, printed))
    if command[0] == "register":
        expected, printed = ([row["amount"] for row in one] for one in (expected, printed))
    assert printed == expected


def test_books_know_their_chart_first_day_and_what_precedes(run, demo_books):
    configured = run("report", *MARCH, "--raw", ACCOUNTING_ANALYTICS_BOOKS=str(demo_books))
    assert AGE in configured.stderr
    listed = run("discover", *MARCH, "--books", demo_books, "--json").content
    assert {ledger["id"] for ledger in listed} == set(aa.LocalBooks.open(demo_books).ledgers()["id"])
    assert " balance" in run("register", "Operating Account", *MARCH, "--books", demo_books).stdout
    balance = run("statements", "balance-sheet", *MARCH, "--books", demo_books)
    assert "Balances are sums since 1 Jan 2025, the first day of the books." in balance.stdout
    assert AGE in balance.stdout
    compared = run("statements", "income", *MARCH, "--compare", "prior-year", "--books", demo_books)
    assert "Mar 2024" in compared.stdout


@pytest.mark.parametrize(
    "case",
    [
        (("report", *MARCH, "--demo"), "--demo and --books are both given"),
        (("reconcile", *MARCH), "--books: they would be compared with themselves; `sync` compares each month"),
        (("verify", "plan.csv"), "--books: `verify` reads what the service has now, so leave it out"),
        (("statements", "income", *MARCH, "--dry-run"), "Unknown option: --dry-run"),
        (("queue", *MARCH, "--checkpoint", "windows"), "Unknown option: --checkpoint"),
        (("statements", "income", *MARCH, "--allow-partial"), "--allow-partial has no effect with --books"),
        (
            ("register", "Rent", *MARCH, "--parents", "p.csv"),
            "--parents has no effect with --books: they have",
        ),
        (("discover", *MARCH, "--time-zone", "UTC"), "these local books count days in America/New_York"),
        (("queue", "--period", "2024-03"), "the local books have 2025-01-01 to 2025-03-31"),
    ],
)
def test_options_without_effect_on_local_books_are_refused(run_demo, assert_refused, demo_books, case):
    command, text = case
    assert_refused(run_demo(*command, "--books", demo_books, code=2), text)


def test_next_sync_raises_the_alarm_of_a_closed_month(run, assert_refused, changed_company, *, tmp_path):
    environment = changed_company.environment()
    first = run(*SYNC, **environment)
    assert first.stdout.startswith("Version 0: all 3 months agree with the service's cash flow reports. ")
    assert "read them with --books local" in first.stderr
    planned = run("plan", *MARCH, "--rules", RULES, "--output", "plan.csv", "--books", "local")
    assert "preview plan.csv --start-date 2025-03-01 --end-date 2025-03-31 --books local" in planned.stderr
    run("preview", "plan.csv", *MARCH, "--books", "local")
    count = len(aa.Plan.load(tmp_path / "plan.csv"))
    refused = run("apply", "plan.csv", "--journal", "j", "--books", "none", "--confirm", **environment, code=2)
    assert_refused(refused, NO_BOOKS)
    dry = run("apply", "plan.csv", "--journal", "j", "--books", "local", **environment)
    assert "synced" not in dry.stderr
    applied = run("apply", "plan.csv", "--journal", "j", "--books", "local", "--confirm", **environment)
    assert "local books in local are synced: Version 1: all 3 months agree" in applied.stderr
    assert f"{count} lines of {count} journal entries in 1 month" in applied.stderr
    run("books", "close", *MARCH, "--books", "local")
    run("undo", "j", "--journal", "j2", "--confirm", **environment)
    synced = run(*SYNC, **environment, code=3)
    assert "ALARM: Mar 2025 changed since it was closed on " in synced.stdout
    assert "error: 1 closed period has changed: accounting-analytics books closed --books local" in synced.stderr
    assert "read them with" not in synced.stderr
    report = aa.LocalBooks.open(tmp_path / "local").report(
        aa.Period("2025-03-01", "2025-03-31", changed_company.time_zone)
    )
    served = aa.load_cash_flow_report(changed_company.client, "2025-03-01", "2025-03-31")
    assert report.exact().sums == served.exact().sums
    as_json = run(*SYNC, "--json", "--months-a-night", "0", **environment, code=3).content
    assert as_json["ties"]
    assert as_json["changes"] == []
    assert len(as_json["alarms"]) == 1


@pytest.mark.long
def test_instance_at_another_address_is_synced_and_noted(run_demo, run, demo_company, changed_company):
    run_demo(*SYNC)
    synced = run(*SYNC, **changed_company.environment())
    assert (
        f"The service is at {changed_company.client.base_url} now; it was at {demo_company.base_url}." in synced.stdout
    )


@pytest.mark.long
def test_run_is_reported_before_its_failed_sync(run, changed_company, tmp_path):
    run(*SYNC, **changed_company.environment())
    plan = ("plan", "--period", "2025-01", "--rules", RULES, "--output", "plan.csv", "--books", "local")
    run(*plan)
    with FileLock(tmp_path / "local" / "books.lock"):
        applied = run(
            "apply",
            "plan.csv",
            "--journal",
            "j",
            "--books",
            "local",
            "--confirm",
            **changed_company.environment(),
            code=2,
        )
    assert "done" in applied.stdout
    assert "the run has ended, but the local books were not synced: accounting-analytics sync" in applied.stderr
    assert (tmp_path / "j").exists()


@pytest.mark.long
def test_unproven_month_exits_3_and_every_result_says_so(run_demo, run, demo_company, distortion, forwarding):
    def change(path, _, report):
        if "reports" in path:
            report["ending_cash_balance"] = str(Decimal(report["ending_cash_balance"]) + 1)

    with forwarding(demo_company.base_url, distortion(response=change)) as base_url:
        synced = run_demo(
            "sync", "--books", "local", "--period", "2025-01", ACCOUNTING_ANALYTICS_BASE_URL=base_url, code=3
        )
    assert "1 of 1 months do not agree with the service's report" in synced.stdout
    assert "the books were written, and every result of them says so" in synced.stderr
    read = run("statements", "income", "--period", "2025-01", "--books", "local")
    assert "1 of 1 months do not agree with the service's report" in read.stderr


@pytest.fixture
def copied_local_books(demo_books, tmp_path):
    """Return a copy of local books that a test may change: books may be moved with their folder."""
    return shutil.copytree(demo_books, tmp_path / "local")


def test_history_is_newest_first_with_proofs(run, demo_books, copied_local_books):
    shown = run("books", "history", "--books", demo_books)
    assert re.search(r"^ +0 +\d{4}-\d\d-\d\d \d\d:\d\d +sync +[\d,]+ +0 +0 +0 +True +True", shown.stdout, re.MULTILINE)
    assert "all 3 months agree with the service's cash flow reports" in shown.stdout
    run("books", "close", "--books", copied_local_books, "--period", "2025-03")
    closed, first = run("books", "history", "--books", copied_local_books, "--json").content
    assert (closed["version"], closed["action"]) == (1, "close")
    assert (first["version"], first["months_compared"], first["ties"]) == (0, 3, True)


def test_closed_days_are_listed_with_later_changes(run, demo_books, copied_local_books):
    none = run("books", "closed", "--books", demo_books)
    assert "no days are closed; to close some: accounting-analytics books close --books" in none.stderr
    synced_at = aa.LocalBooks.open(copied_local_books).synced_at
    closed = run("books", "close", "--books", copied_local_books, "--period", "2025-02")
    shown = run(
        "report", "--period", "2025-02", "--raw", "--books", copied_local_books
    ).stderr  # the age is that of the sync
    assert shown.count(f"Local books, version 1, as of {synced_at:%Y-%m-%d %H:%M} UTC") == 1
    assert closed.stdout == "closed Feb 2025 (America/New_York) in version 1\n"
    assert closed.stderr == "2025-02: The service's cash flow report agrees with the line entries to the last digit.\n"
    as_json = run("books", "close", "--books", copied_local_books, "--period", "2025-Q1", "--json").content
    first = as_json["months"][0]
    assert (as_json["version"], as_json["start_date"], as_json["end_date"]) == (2, "2025-01-01", "2025-03-31")
    assert [one["month"] for one in as_json["months"]] == ["2025-01", "2025-02", "2025-03"]
    assert f"2025-02: {first['verdict']}\n" == closed.stderr
    assert dt.datetime.fromisoformat(first["proven_at"]) == synced_at
    _, row = run("books", "closed", "--books", copied_local_books, "--json").content
    assert (row["start_date"], row["version"], row["changed_lines"]) == ("2025-02-01T00:00:00", 1, 0)
    assert " 2025-02-01   2025-02-28 " in run("books", "closed", "--books", copied_local_books).stdout


def test_drift_compares_with_itself_or_the_version_before(run, demo_books, copied_local_books):
    for folder in (demo_books, copied_local_books):
        shown = run("books", "drift", "--books", folder)
        assert shown.stdout.startswith("No line changed between version 0 (")
        run("books", "close", "--books", copied_local_books, "--period", "2025-02")
    found = run("books", "drift", "--books", copied_local_books, "--since", "0", "--until", "0", "--json").content
    assert found["changes"] == []


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            ("drift", "--since", "1999-01-01"),
            "no version of the local books is as of '1999-01-01'; they have ver",
        ),
        (("drift", "--since", "yesterday"), "'yesterday' is not a calendar date; write it like 2025-01-31"),
        (("drift", "--since", "0", "--period", "2024-01"), "the local books have 2025-01-01 to 2025-03-31"),
        (("drift", "--until", "9"), "no version of the local books is as of 9"),
        (
            ("close", "--period", "2025-04"),
            (
                "which does not include all of 2025-04-01 to 2025-04-30 (America/New_York); to extend them, sync with "
                "end_date='2025-04-30'"
            ),
        ),
        (
            ("close", "--period", "2025"),
            (
                "all of 2025-01-01 to 2025-12-31 (America/New_York); for the days that they have, "
                "use 2025-01-01/2025-03-31; to extend them, sync with end_date='2025-12-31'"
            ),
        ),
    ],
)
def test_unknown_versions_and_days_are_refused(run, assert_refused, demo_books, command, text):
    assert_refused(run("books", *command, "--books", demo_books, code=2), text)


@pytest.mark.parametrize("command", [("report", *MARCH), *(("books", one) for one in ("history", "drift", "compact"))])
def test_reading_a_folder_without_books_creates_nothing(run, assert_refused, tmp_path, command):
    assert_refused(run(*command, "--books", "none", code=2), NO_BOOKS)
    assert list(tmp_path.iterdir()) == []


def test_queries_print_tables_or_json_and_change_nothing(run, assert_refused, demo_books):
    query = "select count(*) as lines, sum(signed_amount) as gap from line_entries"
    (row,) = run("books", "sql", query, "--books", demo_books, "--json").content
    assert row == {"lines": len(aa.LocalBooks.open(demo_books).line_entries()), "gap": "0.00"}
    assert re.search(r"lines +gap", run("books", "sql", query, "--books", demo_books).stdout)
    finished = run("books", "sql", "delete from line_entries", "--books", demo_books, code=2)
    assert_refused(finished, "DELETE is not a query, and local books are read only")


def test_compact_deletes_nothing_newest_versions_need(run, copied_local_books):
    finished = run("books", "compact", "--books", copied_local_books, "--keep-days", "1")
    assert finished.stdout == "0 files of old versions deleted\n"
    run("books", "history", "--books", copied_local_books)
    finished = run("books", "compact", "--books", copied_local_books, "--json")
    assert finished.content == {"deleted_files": 0}
