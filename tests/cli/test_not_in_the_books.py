"""What is not in the books: every command says so."""

import pytest

import accounting_analytics as aa

COMMANDS = {
    "reconcile": (),
    "statements": ("income",),
    "bridge": (),
    "register": ("Rent",),
    "pack": ("--output", "packs"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_before_the_first_entry(run_demo, assert_refused, command):
    """Days before the books begin are refused with the day of the first entry, and no figure is shown."""
    finished = run_demo(command, *COMMANDS[command], "--period", "2024-05", code=3)
    assert_refused(finished, "the first entry of the books is of 2025-01-01", "choose days from then on")


@pytest.mark.parametrize("option", [(), ("--demo",)])
def test_before_the_first_day_of_the_books(run, demo_company, assert_refused, option):
    """Where the first day of the books is known, no statement names another day as their beginning."""
    environment = {} if option else demo_company.environment()
    finished = run("statements", "cash-flow", "--period", "2024-05", *option, **environment, code=3)
    assert_refused(finished, "the first entry of the books is of 2025-01-01")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("statements", "income"), "no line entry is of 2028-01-01 to 2028-01-31"),
        (("statements", "cash-flow"), "no line entry is of 2028-01-01 to 2028-01-31"),
        (("bridge",), "no line entry is of 2028-01-01 to 2028-01-31"),
        (("outlook",), "nothing was averaged: no line entry is of 2027-08-02 to 2028-01-31"),
        (("reconcile",), "no line entry moved cash in 2028-01-01 to 2028-01-31"),
    ],
)
def test_after_the_last_entry(run_demo, command, message):
    """Zeros are printed, and the error asks whether the period is right; a balance sheet has its balances."""
    finished = run_demo(*command, "--period", "2028-01", code=3)
    assert message in finished.stderr
    assert "is it the right period?" in finished.stderr


def test_an_empty_export_replaces_nothing(run_demo, assert_refused, tmp_path):
    """Days without entries are not exported, and what is in the folder stays."""
    finished = run_demo("export", "--period", "2028-01", "--output", "export", code=3)
    assert_refused(finished, "nothing was written: no line entry is of 2028-01-01 to 2028-01-31")
    assert not (tmp_path / "export").exists()


@pytest.mark.parametrize("statement", ["balance-sheet", "trial-balance"])
def test_balances_after_the_last_entry(run, statement):
    """A later month has the balances of the last entry."""
    finished = run("statements", statement, "--demo", "--period", "2028-01")
    assert "35,526.42" in finished.stdout  # of the savings account


def test_months_without_cash_are_not_said_to_tie_alone(demo_company):
    """The summary of months in which no cash moved says that no flow was compared."""
    months = aa.reconcile(aa.load_books(demo_company.client, "2028-01", progress=False))
    assert months.ties
    assert not months.moved_cash
    assert "no line entry moved cash, so no flow was compared" in months.summary()


def test_a_payee_is_no_ledger(run_demo, assert_refused):
    """A register of a counterparty is refused with the commands that have counterparties."""
    finished = run_demo("register", "ROYAL GREEN IMPORTERS", "--period", "2026-05", code=2)
    assert_refused(finished, "no discovered ledger matches", "counterparties are in `statements recurring`")


def test_an_outlook_without_a_day(run, assert_refused):
    """Before a demo company starts, the error says that the last day suffices."""
    assert_refused(run("outlook", "--demo", code=2), "no days are given", "an outlook", "take --end-date alone")


def test_a_bridge_to_an_empty_month(run_demo):
    """What stopped is no change where a month has no entries at all: the error asks whether it is the right period."""
    finished = run_demo("bridge", "--period", "2026-07", code=3)
    assert "one of the periods is empty: no line entry is of 2026-07-01 to 2026-07-31" in finished.stderr


def test_an_empty_queue_of_empty_days(run_demo):
    """An empty queue of days without entries says so; it is no error, because jobs have quiet days."""
    finished = run_demo("queue", "--period", "2026-07")
    assert "no line entry is of 2026-07-01 to 2026-07-31" in finished.stderr


def test_local_books_end_with_their_latest_line(run, deep_books):
    """Ages, what recurs and an outlook are those at the latest line, not at the end of the days that were synced."""
    days = ("--start-date", "2024-12-01", "--end-date", "2025-12-31")
    run("sync", "--books", "local", *days, **deep_books.environment())
    shown = run("statements", "recurring", "--books", "local", "--json")
    assert shown.content["end_date"] == "2025-01-10"


def test_the_demo_knows_the_first_day_of_its_books(run):
    """Starting balances of its months are summed since then."""
    finished = run("reconcile", "--demo", "--period", "2025-02")
    assert "Starting balances are summed from the line entries since 1 Jan 2025" in finished.stdout
