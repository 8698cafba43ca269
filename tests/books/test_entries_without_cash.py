"""Entries without cash that are posted late, changed or removed, which no report shows, are found by the next sync."""

import datetime as dt
import random

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.books import entries_without_cash
from accounting_analytics.books.entries_without_cash import plan_reading

FIRST = dt.date(2025, 1, 1)
DAYS = {"start_date": FIRST, "end_date": "2025-12-31"}
MONTHS = aa.Period("2025-01-01", "2025-12-31", "UTC").months()
NAMES = [str(month.start_date)[:7] for month in MONTHS]


def test_late_entries_in_closed_months_are_found(tmp_path, serve):
    """Entries without cash that are posted, doubled, moved or removed anywhere are in the books after one sync."""
    days = {"start_date": dt.date(2025, 10, 1), "end_date": "2025-12-31"}
    with serve(600, days["start_date"]) as service:
        books = aa.Books.open(tmp_path / "books")
        books.sync(service.client, **days)
        books.close(books.period)
        for edit in (service.insert, service.double_amounts, service.move, service.delete):
            edit(touches_cash=False)
        result = books.sync(service.client, **days)
        assert (result.ties, result.complete, result.unread_months) == (True, True, ())
        assert len(result.alarms) == 1
        pd.testing.assert_frame_equal(books.line_entries(), service.load(books.ledgers()))
        books.close(books.period)
        result = books.sync(service.client, **days)
        assert (result.alarms, result.unread_months) == ((), ())
        assert "No changed line was found. " in result.summary()
        ledgers = len(books.ledgers())
        assert result.requests <= 3 + 5 + ledgers + ledgers + (ledgers - len(service.cash))


@pytest.mark.long
def test_ledgers_take_turns_where_requests_are_few(tmp_path, serve, monkeypatch):
    """Where all ledgers take too many requests, each sync reads some, completes their entries, and names the months."""
    monkeypatch.setattr(entries_without_cash, "MOST_REQUESTS", 3)
    with serve(601, FIRST) as service:
        books = aa.Books.open(tmp_path / "books")
        books.sync(service.client, **DAYS)
        service.delete(touches_cash=False)
        service.insert(touches_cash=False)
        result = books.sync(service.client, **DAYS)
        assert len(result.unread_months) == 11
        unread = "Entries without cash of 11 months, 2025-02 to 2025-12, were not all read again."
        assert unread in result.summary()
        result = books.sync(service.client, **DAYS)
        assert (result.ties, result.complete) == (True, True)
        pd.testing.assert_frame_equal(books.line_entries(), service.load(books.ledgers()))


def plan(lines, ledgers, closed=(), turn=0):
    """Plan what to read of ledgers with so many lines a month: the number of ledgers, and the days."""
    ids = [f"ledger-{number:03}" for number in range(ledgers)]
    counts = pd.DataFrame(lines, index=NAMES, columns=ids)
    periods = [aa.Period.parse(name, time_zone="UTC") for name in closed]
    readings = plan_reading(counts, MONTHS, ids, periods, turn)
    return [(one.ledger_ids, str(one.days.start_date)[:7], str(one.days.end_date)[:7]) for one in readings]


def test_closed_months_come_first():
    """All months are read where 100 requests are enough, else closed ones; else ledgers take turns over all days."""
    ((ids, *days),) = plan(80, 100)
    assert (len(ids), *days) == (100, "2025-01", "2025-12")
    ((ids, *days),) = plan(500, 40, closed=["2025-03", "2025-04"])
    assert (len(ids), *days) == (40, "2025-03", "2025-04")
    apart = plan(500, 40, closed=["2025-03", "2025-06", "2025-09"])
    assert [(first, last) for _, first, last in apart] == [("2025-03", "2025-03"), ("2025-06", "2025-06")]
    taken = [plan(10, 120, closed=["2025-03"], turn=turn) for turn in range(2)]
    assert [len(ids) for ((ids, *_),) in taken] == [100, 20]
    assert len({one for ((ids, *_),) in taken for one in ids}) == 120
    assert plan(10, 120, turn=2) == taken[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_plan_never_exceeds_the_requests(seed):
    """Whatever the books have, a plan takes 100 requests, and ledgers with too many lines are left to the rota."""
    draw = random.Random(seed)  # noqa: S311 (a test)
    ids = [f"ledger-{number}" for number in range(draw.randint(1, 300))]
    counts = pd.DataFrame({one: draw.choices([0, 1, 900, 5000, 20_000], k=len(NAMES)) for one in ids}, index=NAMES)
    closed = [aa.Period.parse(name, time_zone="UTC") for name in draw.sample(NAMES, draw.randint(0, 12))]
    readings = plan_reading(counts, MONTHS, ids, closed, draw.randint(0, 50))
    requests = 0
    for one in readings:
        lines = counts.loc[[month.month for month in one.days.months()]].sum()
        requests += sum(max(1, -(-lines[ledger_id] // 1000)) for ledger_id in one.ledger_ids)
    assert requests <= 100
