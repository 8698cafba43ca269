"""Cash flow lines: the same for every batch size, in order, with any texts."""

import datetime as dt
import json
from collections import defaultdict
from decimal import Decimal

import pyarrow as pa
import pytest
from sqlalchemy import select

from accounting_analytics.service.bookkeeping.post_entries import NewJournalEntry, NewLine, post_entries
from accounting_analytics.service.operations.cash_flow_lines import (
    CashFlowLineFilter,
    LineColumns,
    read_cash_flow_lines,
    sorted_lines,
)
from accounting_analytics.service.storage import tables

DAY = dt.datetime(2025, 1, 31, 12, tzinfo=dt.UTC)


def in_2025(moment):
    """Condition that an instant is in the year."""
    return moment >= 1735689600_000_000


def post(books, descriptions):
    """Post two entries per instant, backwards in time, each with one of the descriptions."""
    bank, *categories = books.bank(), books.category("Rent"), books.category("Food")
    entries = [
        NewJournalEntry(
            DAY - dt.timedelta(hours=number // 2),
            description,
            (NewLine(bank, "credit", Decimal(number)), NewLine(categories[number % 3 % 2], "debit", Decimal(number))),
        )
        for number, description in enumerate(descriptions)
    ]
    post_entries(books.store, books.instance_id, entries)


def read_lines(books, batch_size):
    """Lines and sums by ledger, and the number of parts they came in."""
    instance = books.store.instance(books.instance_id)
    ledgers = tables.ledgers.c
    keys = select(ledgers.pk).where(ledgers.instance_pk == instance.pk, ledgers.report_cash_flow.is_(False))
    lines, units, parts = defaultdict(list), defaultdict(int), 0
    with books.store.reading() as connection:
        names = select(ledgers.pk, ledgers.name).where(ledgers.instance_pk == instance.pk)
        names = dict(map(tuple, connection.execute(names)))
        line_filter = CashFlowLineFilter(keys, in_2025, [])
        for part in read_cash_flow_lines(connection, line_filter, names, 2, batch_size=batch_size):
            lines[part.ledger_key] += json.loads(f"[{part.rendered.to_pybytes().decode()}]", parse_float=Decimal)
            units[part.ledger_key] += part.units
            parts += 1
    return lines, units, parts


@pytest.mark.parametrize("texts", [["", "Rent", 'a "quoted" \\ text\n'], ["plain", "\x1f", "a\x1fb\x1f"]], ids=ascii)
def test_lines_are_the_same_for_every_batch_size(books, texts):
    """Lines come in (datetime, id) order with any descriptions, even with the character that separates them."""
    post(books, [texts[number % 3] for number in range(50)])
    lines, units, parts = read_lines(books, 1000)
    assert parts == 2
    assert sorted(
        line["journal_entry_description"] for ledger_lines in lines.values() for line in ledger_lines
    ) == sorted(texts[number % 3] for number in range(50))
    for key, of_ledger in lines.items():
        positions = [(line["datetime"], line["line_id"]) for line in of_ledger]
        assert positions == sorted(positions)
        assert units[key] == sum(line["amount"] for line in of_ledger) * 100
        assert {line["cash_flow_ledger_name"] for line in of_ledger} == {"Bank"}
    assert -sum(units.values()) == sum(range(50)) * 100
    for batch_size in (1, 7, 49, 50):
        again, sums, parts = read_lines(books, batch_size)
        assert (again, sums) == (lines, units)
        assert parts >= min(50 // batch_size, 25)


def test_books_without_lines(books):
    """Books without lines have no parts."""
    assert read_lines(books, 10) == ({}, {}, 0)


def test_lines_are_sorted():
    """Each ledger's lines are sorted by instant as a number and then by id, in every column."""
    ids, moments = ["d", "c", "b", "a", "f", "e"], ["10", "9", "9", "10", "-1", "-2"]
    columns = [ids, ["0"] * 6, list("123456"), moments, ["1"] * 6, ids, ids]
    lines = LineColumns([3, 7], [4, 2], [pa.array(column) for column in columns])
    line_ids, _, lows, instants, _, entry_ids, _ = (column.to_pylist() for column in sorted_lines(lines).columns)
    assert line_ids == entry_ids == ["b", "c", "a", "d", "e", "f"]
    assert lows == ["3", "2", "4", "1", "6", "5"]
    assert instants == ["9", "9", "10", "10", "-2", "-1"]
