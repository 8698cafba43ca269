"""Closed periods: every later change of their lines raises an alarm until they are closed again."""

import datetime as dt
from types import SimpleNamespace

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.local_books import local_books as books_module

FIRST = dt.date(2025, 10, 1)
OCTOBER = aa.Period("2025-10-01", "2025-10-31", "America/New_York")
NOVEMBER = aa.Period("2025-11-01", "2025-11-30", "America/New_York")


def sync(books, service):
    return books.sync(service.client, start_date=FIRST, end_date="2025-12-31", months_a_night=0)


def entry_on_cash(service, start, end):
    """Return the key of an entry that touches cash, on one of some days."""
    first, last = (int(pd.Timestamp(day, tz="UTC").timestamp()) * 1_000_000 for day in (start, end))
    (pk,), *_ = service.execute(
        "SELECT pk FROM journal_entries WHERE cash_ledger_pk IS NOT NULL AND datetime BETWEEN ? AND ?", first, last
    )
    return pk


def move(service, entry, day):
    moment = int(pd.Timestamp(f"{day}T17:00Z").timestamp()) * 1_000_000
    service.execute("UPDATE line_entries SET datetime = ? WHERE journal_entry_pk = ?", moment, entry)
    service.execute("UPDATE journal_entries SET datetime = ? WHERE pk = ?", moment, entry)


def test_changes_of_a_closed_month_raise_an_alarm(tmp_path, serve, monkeypatch):
    """Two closed months stay as they were closed, with their alarms, when old versions are deleted."""
    with serve(500, FIRST) as service:
        books = aa.LocalBooks.open(tmp_path / "books")
        sync(books, service)
        books.close(OCTOBER)
        with pytest.raises(InputError, match="does not include all of"):
            books.close(aa.Period("2023-03-01", "2023-03-31", "America/New_York"))
        move(service, entry_on_cash(service, "2025-12-02", "2025-12-30"), "2025-12-15")
        assert sync(books, service).alarms == ()
        with pytest.raises(InputError, match="these are the books as of version 0"):
            books.as_of(0).close(OCTOBER)
        books.close(NOVEMBER)
        move(service, entry_on_cash(service, "2025-10-02", "2025-10-30"), "2025-12-16")
        found = sync(books, service)
        (alarm,) = found.alarms
        assert alarm.startswith("Oct 2025 changed since it was closed on ")
        assert " of 1 journal entry in 1 month." in alarm
        assert set(found.changes.frame["kind"]) == {"amended"}
        assert set(found.changes.frame["month"]) == {"2025-10", "2025-12"}
        move(service, entry_on_cash(service, "2025-11-02", "2025-11-29"), "2025-12-17")
        assert len(sync(books, service).alarms) == 2
    closed = books.closed()
    assert [str(day.date()) for day in closed["start_date"]] == ["2025-10-01", "2025-11-01"]
    assert (closed["changed_lines"] > 1).all()
    drift = books.drift(closed["version"][0], period=OCTOBER)
    assert set(drift.frame["kind"]) == {"amended"}
    assert set(drift.lines["change"]) == {"before"}
    lines = [books.as_of(version).line_entries() for version in closed["version"]]
    alarms, files = books.alarms(), len([*(tmp_path / "books").rglob("*.parquet")])
    assert books.compact() == 0  # all versions are of the last 90 days
    later = SimpleNamespace(now=lambda zone: dt.datetime.now(zone) + dt.timedelta(days=200))
    monkeypatch.setattr(books_module, "dt", SimpleNamespace(datetime=later, UTC=dt.UTC, timedelta=dt.timedelta))
    removed = books.compact()
    monkeypatch.undo()
    assert removed > 0
    assert len([*(tmp_path / "books").rglob("*.parquet")]) == files - removed
    again = aa.LocalBooks.open(tmp_path / "books")
    assert again.alarms() == alarms
    for version, before in zip(closed["version"], lines, strict=True):
        pd.testing.assert_frame_equal(again.as_of(version).line_entries(), before)
    again.close(OCTOBER)
    assert len(again.alarms()) == 1
    assert list(again.closed()["changed_lines"] > 0) == [False, True]


@pytest.mark.long
def test_entry_that_moves_into_a_closed_month_is_an_alarm(tmp_path, serve):
    with serve(501, FIRST) as service:
        books = aa.LocalBooks.open(tmp_path / "books")
        sync(books, service)
        books.close(OCTOBER)
        move(service, entry_on_cash(service, "2025-12-02", "2025-12-30"), "2025-10-15")
        assert len(sync(books, service).alarms) == 1
