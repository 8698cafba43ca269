"""Entries that are moved to another day or ledger while the days that they were on are not read again."""

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import accounting_analytics as aa
from accounting_analytics.books.storage import BooksFolder, WorkingCopy, table_schema

MARCH, APRIL = aa.Period("2025-03-01", "2025-03-31", "UTC"), aa.Period("2025-04-01", "2025-04-30", "UTC")


def sync(books, service, **options):
    """Sync the twelve months."""
    return books.sync(service.client, start_date=service.first, end_date="2025-12-31", **options)


@pytest.mark.long
def test_an_entry_without_cash_is_not_in_two_months(tmp_path, serve):
    """An entry that moved into a month that is read again is no longer in the month that it was in before."""
    with serve(400, dt.date(2025, 1, 1)) as service:
        books = aa.Books.open(tmp_path / "books")
        sync(books, service)
        (pk, _), *_ = service.execute(
            "SELECT pk, datetime FROM journal_entries WHERE cash_ledger_pk IS NULL ORDER BY datetime DESC"
        )
        first_day = int(pd.Timestamp("2025-01-15T17:00Z").timestamp()) * 1_000_000
        service.execute("UPDATE line_entries SET datetime = ? WHERE journal_entry_pk = ?", first_day, pk)
        service.execute("UPDATE journal_entries SET datetime = ? WHERE pk = ?", first_day, pk)
        result = sync(books, service, months_a_night=1)
        assert result.ties
        pd.testing.assert_frame_equal(books.line_entries(), service.load(books.ledgers()))
        assert set(result.changes.frame["kind"]) == {"amended"}


def lines(**days):
    """Return a line of each id on a day of 2025, written as month and day: ``a=310``."""
    schema = table_schema(2)
    rows = [
        {
            "id": line_id,
            "ledger_id": "rent",
            "journal_entry_id": line_id,
            "datetime": dt.datetime(2025, day // 100, day % 100, 12, tzinfo=dt.UTC),
            "amount": Decimal("1.00"),
            "debit_credit": "debit",
            "signed_amount": Decimal("1.00"),
        }
        for line_id, day in days.items()
    ]
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema)


@pytest.fixture
def copy(tmp_path):
    """Return March and April with two lines each."""
    copy = WorkingCopy(BooksFolder(tmp_path / "books"), {}, 2)
    copy.add(aa.Period("2025-03-01", "2025-04-30", "UTC"), lines(a=305, b=306, c=405, d=406))
    return copy


def days_of(copy):
    """Return month and day of each line by month."""
    tables = {name: copy.read(name) for name in copy.files}
    return {
        name: [(row["id"], row["datetime"].month * 100 + row["datetime"].day) for row in table.to_pylist()]
        for name, table in tables.items()
    }


def test_a_line_moves_within_a_month(copy):
    """A line that is read again on a later day of its month is no longer on the day before."""
    copy.replace(aa.Period("2025-03-20", "2025-03-31", "UTC"), lines(a=325))
    assert days_of(copy)["2025-03"] == [("b", 306), ("a", 325)]


def test_a_line_moves_to_another_month(copy):
    """A line that is read in another month leaves its month; one that moved again is in the month read last."""
    copy.replace(APRIL, lines(b=410, c=405, d=406))
    copy.remove_moved()
    assert days_of(copy) == {"2025-03": [("a", 305)], "2025-04": [("c", 405), ("d", 406), ("b", 410)]}
    copy.replace(MARCH, lines(a=305, b=311, c=312))
    copy.replace(APRIL, lines(c=412, d=406))
    copy.remove_moved()
    assert days_of(copy) == {"2025-03": [("a", 305), ("b", 311)], "2025-04": [("d", 406), ("c", 412)]}


def test_a_line_moves_to_a_new_ledger(copy):
    """A line of a ledger that was not known replaces itself on the ledger that it was on before."""
    moved = lines(a=305).set_column(1, "ledger_id", pa.array(["new"]))
    copy.add(MARCH, moved)
    assert copy.read("2025-03")["ledger_id"].to_pylist() == ["new", "rent"]


def test_a_month_without_changes_keeps_its_file(copy):
    """Reading the same lines again writes no other file."""
    before = dict(copy.files)
    copy.replace(MARCH, lines(a=305, b=306))
    copy.remove_moved()
    assert copy.files == before
