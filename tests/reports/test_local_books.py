"""Local books loaded in the place of a client: same results, their age in each, refusals."""

import re
from decimal import Decimal

import pandas as pd
import pytest
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.schemas import PlanItems
from accounting_analytics.reconciliation.compared_report import compare_reports

DAYS = ("2025-01-01", "2025-03-31")
MARCH = ("2025-03-01", "2025-03-31")


@pytest.fixture(scope="module")
def local_books(demo_books):
    """Return local books with the first quarter of the demo company, in which its books begin."""
    return aa.LocalBooks.open(demo_books)


@pytest.fixture(scope="module")
def loaded(local_books):
    """Return what calculations take of them."""
    return aa.load_books(local_books)


@pytest.fixture(scope="module")
def age(local_books):
    assert local_books.notes[0].startswith("Local books, version 0, as of ")
    return local_books.notes[0]


@pytest.fixture(scope="module")
def frames(demo_company, local_books):
    """Return the same line entries and ledgers as a service gives them, without an age."""
    ledgers = local_books.ledgers()
    return aa.load_line_entries(demo_company.client, ledgers["id"], *DAYS), ledgers


STATEMENTS = (aa.cash_flow_statement, aa.income_statement, aa.balance_sheet, aa.trial_balance)


def test_loads_read_the_books(local_books, loaded, frames, age):
    pd.testing.assert_frame_equal(loaded.lines, frames[0])
    assert loaded.ledgers.equals(local_books.ledgers())
    assert age in loaded.notes
    assert (loaded.version, loaded.copy_of) == (0, local_books.source)
    march = aa.load_books(local_books, MARCH, reports=[MARCH])
    assert march.reports == ()
    assert march.proofs["2025-03"].proven_at is not None
    assert march.lines.equals(loaded.lines)
    assert march.period == aa.Period(*MARCH, local_books.time_zone)
    one = aa.load_books(local_books, MARCH, since=MARCH[0], ledgers=["Rent"], time_zone=local_books.time_zone)
    assert set(one.lines["ledger_name"]) == {"Rent"}
    report = local_books.report(aa.Period(*MARCH, local_books.time_zone))
    assert age in report.notes
    assert report.origin == "recomputed"
    assert report.ledgers.equals(aa.recompute_cash_flow(aa.Books(*frames), MARCH).ledgers)


@pytest.mark.parametrize("make", STATEMENTS, ids=lambda make: make.__name__)
def test_statements_of_local_books_have_balances(loaded, frames, make, age):
    expected = make(aa.Books(*frames, opening=DAYS[0]), MARCH)
    statement = make(loaded, MARCH)
    assert statement.frame.equals(expected.frame)
    assert statement.title == expected.title
    assert age in statement.notes
    assert age not in expected.notes
    assert make(aa.Books(loaded.lines, loaded.ledgers), MARCH).frame.equals(expected.frame)
    assert age in " ".join(statement.explain().split())


def test_a_given_first_day_wins(local_books):
    later = aa.balance_sheet(aa.load_books(local_books, MARCH, opening="2024-12-01"))
    assert "movement since 1 Jan 2025" in " ".join(later.notes)
    statement = aa.balance_sheet(aa.load_books(local_books, MARCH, since=MARCH[0]))
    assert "The lines begin on 1 Mar 2025, and the books on 1 Jan 2025" in statement.notes[0]


def test_recomputed_report_states_its_sums_and_age(local_books, loaded, frames, age):
    report = aa.recompute_cash_flow(loaded, MARCH)
    assert report.notes[0].endswith("since 1 Jan 2025, the first day of the books.")
    assert age in report.notes
    assert age in report.explain()
    assert age in report.to_json()
    assert age not in aa.recompute_cash_flow(aa.Books(*frames), MARCH).notes
    part = aa.recompute_cash_flow(aa.load_books(local_books, MARCH, since=MARCH[0]))
    assert "Unless the books begin in this period" in part.notes[0]


def test_register_of_local_books_ends_at_the_balance(loaded, frames, age):
    name = loaded.ledgers.loc[loaded.ledgers["report_cash_flow"], "name"].iloc[0]
    entries = aa.register(loaded, name, MARCH)
    assert entries.equals(aa.register(aa.Books(*frames), name, MARCH))
    assert "since 1 Jan 2025, the first day of the books, so it is the balance." in entries.attrs["notes"][0]
    assert age in aa.notes(entries)


def test_every_step_from_the_queue_states_the_age(loaded, frames, age):
    queue = aa.uncategorized_queue(loaded)
    given = aa.Books(*frames)
    assert queue.equals(aa.uncategorized_queue(given))
    rules = aa.load_rules("data/rules.toml")
    proposals = aa.propose(queue, rules, loaded)
    plan = aa.plan_recategorization(proposals, loaded)
    effect = plan.preview(aa.recompute_cash_flow(loaded, DAYS))
    made = [queue, aa.group_queue(queue), proposals, aa.report_rules(queue, rules, loaded), plan, effect]
    assert [aa.notes(one).count(age) for one in made] == [1] * len(made)
    assert age not in aa.notes(aa.propose(aa.uncategorized_queue(given), rules, given))


def test_certificate_of_local_books_states_their_age(local_books, loaded, frames, age):
    certificate = aa.check_completeness(loaded)
    assert certificate.complete
    assert set(local_books.notes) <= set(certificate.notes)
    assert age in certificate.explain()
    assert "(not checked: the lines are of several loads)" in certificate.explain()
    assert age not in aa.check_completeness(aa.Books(*frames)).notes


def test_service_report_is_reconciled_with_aged_books(demo_company, local_books, age):
    reported = aa.load_cash_flow_report(demo_company.client, *MARCH)
    opening = (MARCH[0], reported.starting_balances)
    recomputed = aa.recompute_cash_flow(
        aa.Books(local_books.line_entries(), local_books.ledgers(), opening=opening), MARCH
    )
    result = compare_reports(reported, recomputed, local_books.line_entries())
    assert result.ties
    assert f"Recomputed: {age}" in result.notes
    with pytest.raises(InputError, match="reports: a report was recomputed from line entries, and would be compared"):
        aa.load_books(local_books).with_reports([local_books.report(aa.Period(*MARCH, local_books.time_zone))])
    other = altered(
        reported,
        lines=reported.lines.assign(amount=reported.lines["amount"] + 1),
        ending_cash_balance=Decimal(1),
    )
    assert not compare_reports(other, recomputed, local_books.line_entries()).ties


PLAN = aa.Plan.from_frame(PlanItems.without_rows())
NO_CLIENT = "client is of type LocalBooks, not LedgerClient"
REFUSED = [
    (lambda books: aa.load_books(books, MARCH, time_zone="UTC"), "the local books have days in America/New_York"),
    (lambda books: aa.load_books(books, parents={"a": None}), "parents has no effect on local books"),
    (lambda books: aa.load_books(books, chart=books.ledgers()), "chart has no effect on local books"),
    (lambda books: aa.load_books(books, allow_partial=True), "allow_partial has no effect on local books"),
    (lambda books: aa.load_books(books, ledgers=["Rents"]), "Rents"),
    (lambda books: aa.load_books(books, engine="polars", ledgers=["Rent"]), "ledgers has no effect on local books"),
    (lambda books: aa.reconcile(aa.load_books(books)), "would be compared with themselves: load the books from the"),
    (lambda books: aa.load_line_entries(books, ["a"], *MARCH), NO_CLIENT),
    (lambda books: aa.discover_ledgers(books, *MARCH), NO_CLIENT),
    (lambda books: aa.load_cash_flow_report(books, *MARCH), NO_CLIENT),
    (lambda books: aa.apply_plan(books, PLAN, journal="j"), NO_CLIENT),
    (lambda books: aa.undo_plan(books, "j"), NO_CLIENT),
    (lambda books: aa.verify_plan(books, PLAN), NO_CLIENT),
    (aa.doctor, NO_CLIENT),
    (aa.income_statement, "books is of type LocalBooks, not Books; load_books(client) returns them"),
    (lambda books: aa.uncategorized_queue(books.line_entries()), "and Books(lines, ledgers) makes them of frames"),
    (lambda books: aa.Books(books.line_entries(), None), "ledgers are missing; discover_ledgers("),
    (lambda books: aa.income_statement(books.line_entries()), "and Books(lines, ledgers) makes them of frames"),
    (lambda books: aa.register(books.line_entries(), "Rent"), "and Books(lines, ledgers) makes them of frames"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_books_cannot_do_is_refused(local_books, call, message):
    with pytest.raises(InputError, match=re.escape(message)):
        call(local_books)


def test_impossible_days_are_refused_as_by_the_service(local_books):
    with pytest.raises(aa.errors.PeriodError):
        aa.load_books(local_books, ("2025-03-01", "2025-02-01"))
