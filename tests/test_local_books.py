"""Local books in the place of a client, of line entries or of ledgers: same results, their age in each, refusals."""

import dataclasses
import datetime as dt
from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import InputError
from accounting_analytics.local_books import LocalBooks, lines_of
from accounting_analytics.periods import Period
from accounting_analytics.recategorization.plan import Plan
from accounting_analytics.schemas import PlanItems

DAYS = ("2025-01-01", "2025-06-30")
MARCH = ("2025-03-01", "2025-03-31")
AGE = "Local books, version 3, as of 2026-07-01 06:00 UTC."


@dataclasses.dataclass
class CopiedBooks:
    """Books that hold what was loaded from the demo company."""

    lines: pd.DataFrame
    chart: pd.DataFrame
    time_zone: str
    scale: int = 2

    def ledgers(self):
        """Chart of accounts."""
        return self.chart

    def line_entries(self, period=None, *, ledger_ids=None, is_cashflow=None, tag_ids=None):
        """Lines of some days and ledgers."""
        assert is_cashflow is None
        assert tag_ids is None
        load = dict(self.lines.attrs["load"])
        days = period or Period(load["start_date"], load["end_date"], self.time_zone)
        chosen = self.lines["local_date"].dt.date.between(days.start_date, days.end_date)
        ids = list(self.chart["id"] if ledger_ids is None else ledger_ids)
        frame = self.lines[chosen & self.lines["ledger_id"].isin(ids)].reset_index(drop=True)
        first, last = str(days.start_date), str(days.end_date)
        load |= {"start_date": first, "end_date": last, "lines": len(frame), "books_start": DAYS[0], "books_version": 3}
        frame.attrs = {"scale": 2, "load": load | {"ledgers": dict.fromkeys(ids, f"{first}/{last}")}, "notes": (AGE,)}
        return frame

    def report(self, period, *, tag_ids=()):
        """Report of some days."""
        assert tag_ids == ()
        return aa.recompute_cash_flow(self, None, period.start_date, period.end_date)


@pytest.fixture(scope="module")
def books(demo_company):
    """Return books with half a year of the demo company, as if its books began then."""
    ledgers = aa.discover_ledgers(demo_company.client, *DAYS)
    return CopiedBooks(aa.load_line_entries(demo_company.client, ledgers["id"], *DAYS), ledgers, demo_company.time_zone)


@pytest.fixture(scope="module")
def frames(books):
    """Return line entries and ledgers as a service gives them, without an age."""
    return books.lines, books.chart


STATEMENTS = (aa.cash_flow_statement, aa.income_statement, aa.balance_sheet, aa.trial_balance)


def test_what_local_books_are(books, frames):
    """Books are recognized by what they have; frames and clients are not books."""
    assert isinstance(books, LocalBooks)
    assert not isinstance(frames[0], LocalBooks)
    assert lines_of(frames[0]) is frames[0]
    assert lines_of(None) is None


def test_loads_read_the_books(books, frames):
    """Discovery, load and report take books in the place of a client, and state their age."""
    assert aa.discover_ledgers(books, *MARCH) is books.chart
    lines = aa.load_line_entries(books, books.chart["id"], *MARCH)
    expected = frames[0][frames[0]["local_date"].dt.month == 3].reset_index(drop=True)
    pd.testing.assert_frame_equal(lines, expected)
    one = aa.load_line_entries(books, lines["ledger_id"].iloc[0], *MARCH, time_zone=books.time_zone, in_flight=1)
    assert set(one["ledger_id"]) == {lines["ledger_id"].iloc[0]}
    report = aa.load_cash_flow_report(books, *MARCH)
    assert AGE in report.notes
    assert report.origin == "recomputed"
    assert report.ledgers.equals(aa.recompute_cash_flow(*frames, *MARCH).ledgers)


@pytest.mark.parametrize("make", STATEMENTS, ids=lambda make: make.__name__)
def test_statements_of_books(books, frames, make):
    """A statement of books needs no ledgers and no first day of the books, and its balances are balances."""
    of_balances = {} if make is aa.income_statement else {"books_start": DAYS[0]}
    expected = make(*frames, *MARCH, **of_balances)
    statement = make(books, start_date=MARCH[0], end_date=MARCH[1])
    assert statement.frame.equals(expected.frame)
    assert statement.title == expected.title
    assert AGE in statement.notes
    assert AGE not in expected.notes
    assert make(books, books.ledgers(), *MARCH).frame.equals(expected.frame)
    assert AGE in statement.explain()


def test_a_given_first_day_wins(books):
    """books_start= replaces what the books state, and lines that begin later are movements since then."""
    later = aa.balance_sheet(books, None, *MARCH, books_start="2024-12-01")
    assert "movement since 2025-01-01" in " ".join(later.notes)
    part = aa.load_line_entries(books, books.chart["id"], *MARCH)
    statement = aa.balance_sheet(part, books.chart)
    assert "The lines begin on 2025-03-01, and the books begin on 2025-01-01" in statement.notes[0]


def test_recomputed_report(books, frames):
    """A report of books states since when it sums, and how old they are; one of frames does neither."""
    report = aa.recompute_cash_flow(books, None, *MARCH)
    assert report.notes[0].endswith("since 2025-01-01, the first day of the books.")
    assert AGE in report.notes
    assert AGE in report.explain()
    assert AGE in report.to_json()
    assert AGE not in aa.recompute_cash_flow(*frames, *MARCH).notes
    part = aa.load_line_entries(books, books.chart["id"], *MARCH)
    assert "Unless the books begin in this period" in aa.recompute_cash_flow(part, books.chart, *MARCH).notes[0]


def test_register_of_books(books, frames):
    """A register of books has their ledgers, and says that its running total is the balance."""
    name = books.chart.loc[books.chart["report_cash_flow"], "name"].iloc[0]
    entries = aa.register(books, name, period=Period(*MARCH, books.time_zone))
    assert entries.equals(aa.register(frames[0], name, ledgers=frames[1], period=Period(*MARCH, books.time_zone)))
    assert "since 2025-01-01, the first day of the books, so it is the balance." in entries.attrs["notes"][0]
    assert AGE in aa.notes(entries)


def test_every_step_from_the_queue_states_the_age(books, frames):
    """Queue, groups, proposals, report of rules, plan and preview say how old the books are that they were made of."""
    queue = aa.uncategorized_queue(books)
    assert queue.equals(aa.uncategorized_queue(*frames))
    rules = aa.load_rules("data/rules.toml")
    proposals = aa.propose(queue, rules, books.chart)
    plan = aa.plan_recategorization(proposals, ledgers=books.chart)
    effect = plan.preview(aa.recompute_cash_flow(books, None, *DAYS))
    made = [
        queue,
        aa.group_queue(queue),
        proposals,
        aa.report_rules(queue, rules, books.chart, books),
        plan,
        effect,
        aa.combine_loads([aa.load_line_entries(books, books.chart["id"], *MARCH)]),
    ]
    assert [aa.notes(one).count(AGE) for one in made] == [1] * len(made)
    assert AGE not in aa.notes(aa.propose(aa.uncategorized_queue(*frames), rules, books.chart))


def test_certificate_of_books(books, frames):
    """The certificate of books is that of their lines, with their age; one of a load from the service has none."""
    certificate = aa.check_completeness(books)
    assert certificate.complete
    assert certificate.notes == (AGE,)
    assert AGE in certificate.explain()
    assert aa.check_completeness(frames[0]).notes == ()


def test_the_reported_and_the_books(demo_company, books):
    """The service's report is reconciled with that of books, whose age the result states."""
    reported = aa.load_cash_flow_report(demo_company.client, *MARCH)
    recomputed = aa.recompute_cash_flow(books, None, *MARCH, starting_balances=reported.starting_balances)
    result = aa.reconcile(reported, recomputed, line_entries=books)
    assert result.ties
    assert f"Recomputed: {AGE}" in result.notes
    with pytest.raises(InputError, match="reported was recomputed from line entries, not loaded from the service"):
        aa.reconcile(books.report(Period(*MARCH, books.time_zone)), recomputed)
    changed = dataclasses.replace(
        reported,
        lines=reported.lines.assign(amount=reported.lines["amount"] + 1),
        ending_cash_balance=Decimal(1),
    )
    assert not aa.reconcile(changed, recomputed, line_entries=books).ties


PLAN = Plan(PlanItems.without_rows())
REFUSED = [
    (lambda books: aa.load_line_entries(books, "a", *MARCH, checkpoint="x"), "checkpoint has no effect on local books"),
    (lambda books: aa.load_line_entries(books, "a", *MARCH, consistency="all"), "consistency has no effect on local"),
    (lambda books: aa.load_line_entries(books, "a", *MARCH, expand=["ledger"]), "do not have the expansion(s) ledger"),
    (lambda books: aa.load_line_entries(books, [], *MARCH), "no ledgers given"),
    (lambda books: aa.discover_ledgers(books, *MARCH, parents={"a": None}), "parents has no effect on local books"),
    (lambda books: aa.discover_ledgers(books, *MARCH, inflow_ledger_id="a"), "inflow_ledger_id has no effect on local"),
    (
        lambda books: aa.discover_ledgers(books, *MARCH, time_zone="UTC"),
        "time_zone is UTC, but these local books count",
    ),
    (lambda books: aa.load_cash_flow_report(books, *MARCH, time_zone="UTC"), "count days in America/New_York"),
    (lambda books: aa.load_line_entries_to_parquet(books, "a", *MARCH, "x"), "because this reads the service: connect"),
    (lambda books: aa.plan_load(books, "a", *MARCH), "because this reads the service: connect to it; nothing was sent"),
    (lambda books: aa.reconcile_months(books, *MARCH), "would be compared with themselves: connect to the service, or"),
    (lambda books: aa.apply_plan(books, PLAN, journal="j"), "local books cannot change the service: connect to it"),
    (lambda books: aa.undo_plan(books, "j"), "local books cannot change the service: connect to it; nothing was sent"),
    (lambda books: aa.verify_plan(books, PLAN), "local books do not show what the service has now: connect to it"),
    (aa.doctor, "client is of type CopiedBooks, not LedgerClient"),
    (lambda books: aa.income_statement(books.lines), "ledgers are missing; discover_ledgers(client, ...) returns them"),
    (lambda books: aa.register(books.lines, "Rent"), "ledgers are missing; discover_ledgers(client, ...) returns them"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_books_cannot_do_is_refused(books, call, message):
    """What needs the service, and options without an effect, are refused with what to do instead."""
    with pytest.raises(InputError) as caught:
        call(books)
    assert message in str(caught.value)


def test_days_are_checked(books):
    """Books refuse days that are none, as the service does."""
    assert isinstance(books.lines["local_date"].iloc[0], dt.date)
    with pytest.raises(aa.errors.PeriodError):
        aa.discover_ledgers(books, "2025-03-01", "2025-02-01")
