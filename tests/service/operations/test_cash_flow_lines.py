"""Cash flow lines: the same however many are read at once, in order, whatever their texts hold."""

import datetime as dt
import json
from collections import defaultdict
from decimal import Decimal

import pyarrow as pa
import pytest
from sqlalchemy import select

from accounting_analytics.service.bookkeeping.new_entries import NewJournalEntry, NewLine
from accounting_analytics.service.bookkeeping.posted_journal import post_entries
from accounting_analytics.service.operations.cash_flow_lines import Read, Wanted, flow_lines, in_order
from accounting_analytics.service.storage import tables

DAY = dt.datetime(2025, 1, 31, 12, tzinfo=dt.UTC)


def in_2025(moment):
    """Condition that an instant lies in the year."""
    return moment >= 1735689600_000_000


def post(books, descriptions):
    """Post two entries a moment, backwards in time, each with one of the texts."""
    bank, *categories = books.bank(), books.category("Rent"), books.category("Food")
    entries = [
        NewJournalEntry(
            DAY - dt.timedelta(hours=number // 2),
            said,
            (NewLine(bank, "credit", Decimal(number)), NewLine(categories[number % 3 % 2], "debit", Decimal(number))),
        )
        for number, said in enumerate(descriptions)
    ]
    post_entries(books.store, books.instance_id, entries)


def read(books, lines_at_once):
    """Lines and sums by ledger, and how many parts they came in."""
    instance = books.store.instance(books.instance_id)
    ledgers = tables.ledgers.c
    keys = select(ledgers.pk).where(ledgers.instance_pk == instance.pk, ledgers.report_cash_flow.is_(False))
    lines, units, parts = defaultdict(list), defaultdict(int), 0
    with books.store.reading() as connection:
        names = select(ledgers.pk, ledgers.name).where(ledgers.instance_pk == instance.pk)
        names = {key: json.dumps(name) for key, name in connection.execute(names)}
        for part in flow_lines(connection, Wanted(keys, in_2025, []), names, 2, lines_at_once=lines_at_once):
            lines[part.ledger_key] += json.loads(f"[{part.rendered.to_pybytes().decode()}]", parse_float=Decimal)
            units[part.ledger_key] += part.units
            parts += 1
    return lines, units, parts


@pytest.mark.parametrize("texts", [["", "Rent", 'a "quoted" \\ text\n'], ["plain", "\x1f", "a\x1fb\x1f"]], ids=ascii)
def test_lines_are_the_same_however_many_are_read_at_once(books, texts):
    """Texts of all kinds come back, also those with the character that separates them, in (datetime, id) order."""
    post(books, [texts[number % 3] for number in range(50)])
    lines, units, parts = read(books, 1000)
    assert parts == 2
    assert sorted(line["journal_entry_description"] for of in lines.values() for line in of) == sorted(
        texts[number % 3] for number in range(50)
    )
    for key, of_ledger in lines.items():
        places = [(line["datetime"], line["line_id"]) for line in of_ledger]
        assert places == sorted(places)
        assert units[key] == sum(line["amount"] for line in of_ledger) * 100
        assert {line["cash_flow_ledger_name"] for line in of_ledger} == {"Bank"}
    assert -sum(units.values()) == sum(range(50)) * 100
    for lines_at_once in (1, 7, 49, 50):
        again, sums, parts = read(books, lines_at_once)
        assert (again, sums) == (lines, units)
        assert parts >= min(50 // lines_at_once, 25)


def test_no_lines_are_no_parts(books):
    """Books without lines have none to read."""
    assert read(books, 10) == ({}, {}, 0)


def test_lines_are_put_in_order_however_they_come():
    """Each ledger's lines go by instant as a number and then by id, and every column goes along."""
    ids, moments = ["d", "c", "b", "a", "f", "e"], ["10", "9", "9", "10", "-1", "-2"]
    columns = [ids, ["0"] * 6, list("123456"), moments, ["1"] * 6, ids, ids]
    read = Read([3, 7], [4, 2], [pa.array(column) for column in columns])
    line_ids, _, lows, instants, _, entry_ids, _ = (column.to_pylist() for column in in_order(read).columns)
    assert line_ids == entry_ids == ["b", "c", "a", "d", "e", "f"]
    assert lows == ["3", "2", "4", "1", "6", "5"]
    assert instants == ["9", "9", "10", "10", "-2", "-1"]
