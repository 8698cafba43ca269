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
def test_days_before_the_first_entry_are_refused(run_demo, assert_refused, command):
    finished = run_demo(command, *COMMANDS[command], "--period", "2024-05", code=3)
    assert_refused(finished, "the first entry of the books is of 2025-01-01", "choose days from then on")


@pytest.mark.parametrize("option", [(), ("--demo",)])
def test_no_statement_names_another_first_day_of_the_books(run, demo_company, assert_refused, option):
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
def test_zeros_after_the_last_entry_come_with_a_question(run_demo, command, message):
    finished = run_demo(*command, "--period", "2028-01", code=3)
    assert message in finished.stderr
    assert "is it the right period?" in finished.stderr


def test_an_empty_export_replaces_nothing(run_demo, assert_refused, tmp_path):
    finished = run_demo("export", "--period", "2028-01", "--output", "export", code=3)
    assert_refused(finished, "nothing was written: no line entry is of 2028-01-01 to 2028-01-31")
    assert not (tmp_path / "export").exists()


@pytest.mark.parametrize("statement", ["balance-sheet", "trial-balance"])
def test_later_months_have_the_balances_of_the_last_entry(run, statement):
    finished = run("statements", statement, "--demo", "--period", "2028-01")
    assert "35,526.42" in finished.stdout  # of the savings account


def test_months_without_cash_compare_no_flow(demo_company):
    months = aa.reconcile(aa.load_books(demo_company.client, "2028-01", progress=False))
    assert months.ties
    assert not months.moved_cash
    assert "no line entry moved cash, so no flow was compared" in months.summary()


def test_register_of_a_payee_names_other_commands(run_demo, assert_refused):
    finished = run_demo("register", "ROYAL GREEN IMPORTERS", "--period", "2026-05", code=2)
    assert_refused(finished, "no discovered ledger matches", "counterparties are in `statements recurring`")


def test_outlook_before_the_company_starts_needs_only_the_last_day(run, assert_refused):
    assert_refused(run("outlook", "--demo", code=2), "no days are given", "an outlook", "take --end-date alone")


def test_bridge_to_an_empty_month_asks_about_the_period(run_demo):
    finished = run_demo("bridge", "--period", "2026-07", code=3)
    assert "one of the periods is empty: no line entry is of 2026-07-01 to 2026-07-31" in finished.stderr


def test_an_empty_queue_of_empty_days(run_demo):
    """It is no error, because jobs have quiet days."""
    finished = run_demo("queue", "--period", "2026-07")
    assert "no line entry is of 2026-07-01 to 2026-07-31" in finished.stderr


def test_local_books_end_with_their_latest_line(run, deep_books):
    days = ("--start-date", "2024-12-01", "--end-date", "2025-12-31")
    run("sync", "--books", "local", *days, **deep_books.environment())
    shown = run("statements", "recurring", "--books", "local", "--json")
    assert shown.content["end_date"] == "2025-01-10"


def test_the_demo_knows_the_first_day_of_its_books(run):
    finished = run("reconcile", "--demo", "--period", "2025-02")
    assert "Starting balances are summed from the line entries since 1 Jan 2025" in finished.stdout
