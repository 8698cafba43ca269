"""Exact sums against an oracle of Python integers: any columns of days, on frames in memory and on lazy engines."""

import datetime as dt
from collections import Counter, defaultdict

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.core.exact_sums import ExactLines

START = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
LEDGERS = ["bank", "card", "food", "rent"]
CASH = ["bank", "card"]
ENGINES = {
    "pandas": lambda table: table.to_pandas(),
    "pyarrow": lambda table: table,
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "duckdb": duckdb.from_arrow,
}
ALWAYS = ((START - dt.timedelta(days=99), None),)
HOURS = st.integers(-50, 50)
LINES = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from(LEDGERS), st.integers(-(10**11), 10**11), HOURS), max_size=30
)


def at(hour):
    """Instant some hours after the start."""
    return START + dt.timedelta(hours=hour)


def exact_lines(rows, engine):
    """Lines of (entry, ledger, whole amount, hour) on an engine, at scale 2."""
    table = pa.table(
        {
            "id": pa.array([f"le_{number}" for number in range(len(rows))], pa.string()),
            "ledger_id": pa.array([ledger for _, ledger, _, _ in rows], pa.string()),
            "journal_entry_id": pa.array([f"je_{entry}" for entry, _, _, _ in rows], pa.string()),
            "journal_entry_description": pa.nulls(len(rows), pa.string()),
            "datetime": pa.array([at(hour) for *_, hour in rows], pa.timestamp("us", "UTC")),
            "signed_amount": pa.array([amount for _, _, amount, _ in rows], pa.int64()),
        }
    )
    return ExactLines.from_frame(ENGINES[engine](table), scale=2)


def intervals(draw):
    """Disjoint intervals of hours in order; the last may have no end."""
    hours = sorted(draw(st.sets(HOURS, max_size=6)))
    ends = [*hours[1::2], None][: (len(hours) + 1) // 2]
    return list(zip(hours[::2], ends, strict=True))


def columns_of_days(draw):
    """Columns of intervals of hours, and the same as instants."""
    columns = [intervals(draw) for _ in range(draw(st.integers(0, 3)))]
    return columns, [tuple((at(a), None if b is None else at(b)) for a, b in column) for column in columns]


def is_inside(hour, column):
    """Whether an hour is in one of some intervals."""
    return any(a <= hour and (b is None or hour < b) for a, b in column)


@pytest.mark.parametrize("engine", ENGINES)
@given(st.data())
def test_sums_by_ledger_and_days(engine, data):
    rows = data.draw(LINES)
    columns, days = columns_of_days(data.draw)
    sums = exact_lines(rows, engine).sums(*days)
    used = []
    for column, found in zip(columns, sums.columns, strict=True):
        expected = defaultdict(int)
        for _, ledger, amount, hour in rows:
            if is_inside(hour, column):
                expected[ledger] += 100 * amount
                used.append(hour)
        assert found == expected
    assert sums.earliest == (at(min(used)) if used else None)


@pytest.mark.parametrize("engine", ENGINES)
@given(rows=LINES, balanced=st.booleans())
def test_flows_of_cash_entries_agree_in_engine_and_memory(engine, rows, balanced):
    if balanced:
        gaps = Counter()
        for entry, _, amount, _ in rows:
            gaps[entry] -= amount
        rows = [*rows, *((entry, "rent", gap, 0) for entry, gap in gaps.items())]
    lines = exact_lines(rows, engine)
    touching = {entry for entry, ledger, _, _ in rows if ledger in CASH}
    flows, gaps = defaultdict(int), defaultdict(int)
    for entry, ledger, amount, _ in rows:
        gaps[f"je_{entry}"] += amount
        if entry in touching and ledger not in CASH:
            flows[ledger] -= 100 * amount
    unbalanced = sorted(entry for entry, gap in gaps.items() if gap)
    found = lines.flows(CASH, ALWAYS)
    assert (found.columns, sorted(found.unbalanced), found.openings) == ((flows,), unbalanced, ({},))
    opened = {entry for entry, ledger, _, _ in rows if ledger == "rent"}
    apart = lines.flows(CASH, ALWAYS, openings=["rent"])
    for found_flows, is_opening in ((apart.columns[0], False), (apart.openings[0], True)):
        expected = defaultdict(int)
        for entry, ledger, amount, _ in rows:
            if entry in touching and ledger not in CASH and (entry in opened) == is_opening:
                expected[ledger] -= 100 * amount
        assert found_flows == expected
    entries = lines.entries(ALWAYS)
    on_cash = entries.on(CASH)
    in_memory = entries.sums(entries.of_entries_with(on_cash) & ~on_cash)
    assert ({ledger: -units for ledger, units in in_memory.items()}, sorted(entries.unbalanced())) == (
        flows,
        unbalanced,
    )


@pytest.mark.parametrize("engine", ENGINES)
@given(st.data())
def test_flows_by_days_are_those_of_each_column(engine, data):
    rows = data.draw(LINES)
    columns, days = columns_of_days(data.draw)
    found = exact_lines(rows, engine).flows(CASH, *days)
    of_column = [[row for row in rows if is_inside(row[3], column)] for column in columns]
    used = [row for row in rows if any(row in kept for kept in of_column)]
    touching = {entry for entry, ledger, _, _ in used if ledger in CASH}
    gaps = Counter()
    for entry, _, amount, _ in used:
        gaps[f"je_{entry}"] += amount
    for kept, net in zip(of_column, found.columns, strict=True):
        expected = defaultdict(int)
        for entry, ledger, amount, _ in kept:
            if entry in touching and ledger not in CASH:
                expected[ledger] -= 100 * amount
        assert net == expected
    assert sorted(found.unbalanced) == sorted(entry for entry, gap in gaps.items() if gap)


@given(rows=LINES)
def test_most_moved_ledger_has_the_largest_cash_sum(rows):
    entries = exact_lines(rows, "pyarrow").entries(ALWAYS)
    order = {"card": 0, "bank": 1, "food": 2, "rent": 3}
    moved = entries.most_moved(entries.on(CASH), order)
    movements = defaultdict(lambda: defaultdict(int))
    for entry, ledger, amount, _ in rows:
        if ledger in CASH:
            movements[f"je_{entry}"][ledger] += amount
    found = {
        entry: entries.ledger_ids[number]
        for entry, number in zip(entries.entry_ids.to_pylist(), moved, strict=True)
        if number >= 0
    }
    expected = {
        entry: min(own, key=lambda ledger: (-abs(own[ledger]), order[ledger])) for entry, own in movements.items()
    }
    assert found == expected
