"""Local books in the place of a client, of line entries or of ledgers: same results, their age in each, refusals."""

import datetime as dt
import re
from decimal import Decimal

import pandas as pd
import pytest
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.schemas import PlanItems

DAYS = ("2025-01-01", "2025-03-31")
MARCH = ("2025-03-01", "2025-03-31")


@pytest.fixture(scope="module")
def books(demo_books):
    """Return local books with the first quarter of the demo company, in which its books begin."""
    return aa.LocalBooks.open(demo_books)


@pytest.fixture(scope="module")
def age(books):
    """Return the note on the age of the books."""
    assert books.notes[0].startswith("Local books, version 0, as of ")
    return books.notes[0]


@pytest.fixture(scope="module")
def frames(demo_company, books):
    """Return the same line entries and ledgers as a service gives them, without an age."""
    ledgers = books.ledgers()
    return aa.load_line_entries(demo_company.client, ledgers["id"], *DAYS), ledgers


STATEMENTS = (aa.cash_flow_statement, aa.income_statement, aa.balance_sheet, aa.trial_balance)


def test_loads_read_the_books(books, frames, age):
    """Discovery, load and report take books in the place of a client, and state their age."""
    assert aa.discover_ledgers(books, *MARCH).equals(books.ledgers())
    lines = aa.load_line_entries(books, books.ledgers()["id"], *MARCH)
    expected = frames[0][frames[0]["local_date"].dt.month == 3].reset_index(drop=True)
    pd.testing.assert_frame_equal(lines, expected)
    one = aa.load_line_entries(books, lines["ledger_id"].iloc[0], *MARCH, time_zone=books.time_zone, in_flight=1)
    assert set(one["ledger_id"]) == {lines["ledger_id"].iloc[0]}
    assert isinstance(one["local_date"].iloc[0], dt.date)
    report = aa.load_cash_flow_report(books, *MARCH)
    assert age in report.notes
    assert report.origin == "recomputed"
    assert report.ledgers.equals(aa.recompute_cash_flow(*frames, *MARCH).ledgers)


@pytest.mark.parametrize("make", STATEMENTS, ids=lambda make: make.__name__)
def test_statements_of_books(books, frames, make, age):
    """A statement of books needs no ledgers and no first day of the books, and its balances are balances."""
    of_balances = {} if make is aa.income_statement else {"books_start": DAYS[0]}
    expected = make(*frames, *MARCH, **of_balances)
    statement = make(books, start_date=MARCH[0], end_date=MARCH[1])
    assert statement.frame.equals(expected.frame)
    assert statement.title == expected.title
    assert age in statement.notes
    assert age not in expected.notes
    assert make(books, books.ledgers(), *MARCH).frame.equals(expected.frame)
    assert age in " ".join(statement.explain().split())


def test_a_given_first_day_wins(books):
    """books_start= replaces what the books state, and lines that begin later are movements since then."""
    later = aa.balance_sheet(books, None, *MARCH, books_start="2024-12-01")
    assert "movement since 2025-01-01" in " ".join(later.notes)
    part = aa.load_line_entries(books, books.ledgers()["id"], *MARCH)
    statement = aa.balance_sheet(part, books.ledgers())
    assert "The lines begin on 2025-03-01, and the books on 2025-01-01" in statement.notes[0]


def test_recomputed_report(books, frames, age):
    """A report of books states since when it sums, and how old they are; one of frames does neither."""
    report = aa.recompute_cash_flow(books, None, *MARCH)
    assert report.notes[0].endswith("since 2025-01-01, the first day of the books.")
    assert age in report.notes
    assert age in report.explain()
    assert age in report.to_json()
    assert age not in aa.recompute_cash_flow(*frames, *MARCH).notes
    part = aa.load_line_entries(books, books.ledgers()["id"], *MARCH)
    assert "Unless the books begin in this period" in aa.recompute_cash_flow(part, books.ledgers(), *MARCH).notes[0]


def test_register_of_books(books, frames, age):
    """A register of books has their ledgers, and says that its running total is the balance."""
    name = books.ledgers().loc[books.ledgers()["report_cash_flow"], "name"].iloc[0]
    entries = aa.register(books, name, period=aa.Period(*MARCH, books.time_zone))
    assert entries.equals(aa.register(frames[0], name, ledgers=frames[1], period=aa.Period(*MARCH, books.time_zone)))
    assert "since 2025-01-01, the first day of the books, so it is the balance." in entries.attrs["notes"][0]
    assert age in aa.notes(entries)


def test_every_step_from_the_queue_states_the_age(books, frames, age):
    """Queue, groups, proposals, report of rules, plan and preview say how old the books are that they were made of."""
    queue = aa.uncategorized_queue(books)
    assert queue.equals(aa.uncategorized_queue(*frames))
    rules = aa.load_rules("data/rules.toml")
    proposals = aa.propose(queue, rules, books.ledgers())
    plan = aa.plan_recategorization(proposals, ledgers=books.ledgers())
    effect = plan.preview(aa.recompute_cash_flow(books, None, *DAYS))
    made = [
        queue,
        aa.group_queue(queue),
        proposals,
        aa.report_rules(queue, rules, books.ledgers(), books),
        plan,
        effect,
    ]
    assert [aa.notes(one).count(age) for one in made] == [1] * len(made)
    assert age not in aa.notes(aa.propose(aa.uncategorized_queue(*frames), rules, books.ledgers()))


def test_certificate_of_books(books, frames, age):
    """The certificate of books is that of their lines, with their age; one of a load from the service has none."""
    certificate = aa.check_completeness(books)
    assert certificate.complete
    assert certificate.notes == books.notes
    assert age in certificate.notes
    assert age in certificate.explain()
    assert "(not checked: the lines are of several loads)" in certificate.explain()
    assert aa.check_completeness(frames[0]).notes == ()


def test_the_reported_and_the_books(demo_company, books, age):
    """The service's report is reconciled with that of books, whose age the result states."""
    reported = aa.load_cash_flow_report(demo_company.client, *MARCH)
    recomputed = aa.recompute_cash_flow(books, None, *MARCH, starting_balances=reported.starting_balances)
    result = aa.reconcile(reported, recomputed, line_entries=books)
    assert result.ties
    assert f"Recomputed: {age}" in result.notes
    with pytest.raises(InputError, match="reported was recomputed from line entries, not loaded from the service"):
        aa.reconcile(books.report(aa.Period(*MARCH, books.time_zone)), recomputed)
    other = altered(
        reported,
        lines=reported.lines.assign(amount=reported.lines["amount"] + 1),
        ending_cash_balance=Decimal(1),
    )
    assert not aa.reconcile(other, recomputed, line_entries=books).ties


PLAN = aa.Plan.from_frame(PlanItems.without_rows())
REFUSED = [
    (  # dates that follow books without a name are taken for ledgers
        lambda books: aa.income_statement(books, *MARCH),
        "ledgers is '2025-03-01': local books have their own ledgers",
    ),
    (lambda books: aa.load_line_entries(books, "a", *MARCH, consistency="all"), "consistency has no effect on local"),
    (
        lambda books: aa.load_line_entries(books, "a", *MARCH, expand=["ledger"]),
        "do not have what expand= asks for, ledger",
    ),
    (lambda books: aa.load_line_entries(books, [], *MARCH), "no ledgers given"),
    (lambda books: aa.discover_ledgers(books, *MARCH, parents={"a": None}), "parents has no effect on local books"),
    (lambda books: aa.discover_ledgers(books, *MARCH, inflow_ledger_id="a"), "inflow_ledger_id has no effect on local"),
    (
        lambda books: aa.discover_ledgers(books, *MARCH, time_zone="UTC"),
        "time_zone is UTC, but these local books count",
    ),
    (lambda books: aa.load_cash_flow_report(books, *MARCH, time_zone="UTC"), "count days in America/New_York"),
    (lambda books: aa.reconcile_months(books, *MARCH), "would be compared with themselves: connect to the service, or"),
    (lambda books: aa.apply_plan(books, PLAN, journal="j"), "local books cannot change the service: connect to it"),
    (lambda books: aa.undo_plan(books, "j"), "local books cannot change the service: connect to it; nothing was sent"),
    (lambda books: aa.verify_plan(books, PLAN), "local books do not show what the service has now: connect to it"),
    (aa.doctor, "client is of type LocalBooks, not LedgerClient"),
    (lambda books: aa.income_statement(books.line_entries()), "ledgers are missing; discover_ledgers("),
    (lambda books: aa.register(books.line_entries(), "Rent"), "ledgers are missing; discover_ledgers("),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_books_cannot_do_is_refused(books, call, message):
    """What needs the service, and options without an effect, are refused with what to do instead."""
    with pytest.raises(InputError, match=re.escape(message)):
        call(books)


def test_days_are_checked(books):
    """Books refuse days that are none, as the service does."""
    with pytest.raises(aa.errors.PeriodError):
        aa.discover_ledgers(books, "2025-03-01", "2025-02-01")
