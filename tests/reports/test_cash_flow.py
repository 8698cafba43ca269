"""Recomputing the cash flow report: examples calculated by hand, a naive oracle, every engine, invalid input."""

import datetime as dt
from decimal import Decimal, localcontext
from typing import NamedTuple

import duckdb
import numpy as np
import pandas as pd
import planted_books
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core import column_conversion
from accounting_analytics.core.errors import (
    AmountError,
    FrameError,
    HierarchyError,
    IncompleteLoadError,
    InputError,
)
from accounting_analytics.core.load_metadata import to_table_metadata
from accounting_analytics.core.schemas import Ledgers, LineEntries

ENGINES = ["pandas", "pyarrow", "polars", "polars lazy", "duckdb"]
TWO_ENGINES = ["pandas", "duckdb", *also_long("pyarrow", "polars", "polars lazy")]
"""One in memory and one of files, where all engines calculate the same."""
NOON = dt.time(12, tzinfo=dt.UTC)


class Ledger(NamedTuple):
    """The fields of a ledger that the report uses."""

    id: str
    name: str
    cash: bool = False
    parent: str | None = None
    sort_code: str = "5"
    parent_known: bool = True


class Entry(NamedTuple):
    """A journal entry: its instant, and (ledger id, signed amount) of its lines."""

    at: dt.datetime
    lines: list[tuple[str, Decimal]]


def noon(text):
    return dt.datetime.combine(dt.date.fromisoformat(text), NOON)


def entry(date, **lines):
    """Make an entry at noon of a date; keywords are ledger ids, values signed amounts as text."""
    return Entry(noon(date), [(ledger_id, Decimal(amount)) for ledger_id, amount in lines.items()])


def line_frame(entries, scale=2, *, exact=False):
    """Line entries of some entries, ids le_0, le_1 ... and je_0, je_1 ..."""
    rows = [(number, e.at, *line) for number, e in enumerate(entries) for line in e.lines]
    lines = [
        planted_books.Line(
            f"le_{place}", ledger_id, f"je_{number}", at, signed, f"entry {number}" if number % 3 else None
        )
        for place, (number, at, ledger_id, signed) in enumerate(rows)
    ]
    return planted_books.line_frame(lines, scale, exact=exact)


def ledger_frame(ledgers):
    cells = {
        "id": [one.id for one in ledgers],
        "name": [one.name for one in ledgers],
        "type": ["asset"] * len(ledgers),
        "report_cash_flow": [one.cash for one in ledgers],
        "parent_id": [one.parent for one in ledgers],
        "sort_code": [one.sort_code for one in ledgers],
        "parent_known": [one.parent_known for one in ledgers],
    }
    return Ledgers.from_columns(cells)


def on_engine(frame, engine, tmp_path):
    """Convert a frame, or a table of Arrow, to an engine (the lazy ones read Parquet)."""
    if engine == "pandas":
        return frame
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    if engine == "pyarrow":
        return table
    if engine == "polars":
        return pl.from_arrow(table)
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
    pq.write_table(table, path)
    return pl.scan_parquet(path) if engine == "polars lazy" else duckdb.read_parquet(str(path))


def amounts(frame, column, key="ledger_id"):
    """Column of a report table as {id: text of the amount}; None for null."""
    return {
        ledger_id: None if pd.isna(amount) else f"{amount:.2f}"
        for ledger_id, amount in zip(frame[key], frame[column], strict=True)
    }


def plain(cell):
    """Cell as a plain Python value; floats as the decimal that they are printed as."""
    if pd.isna(cell):
        return None
    return Decimal(str(cell)) if isinstance(cell, float) else cell


def texts(frame):
    """Rows of a table as tuples of plain Python values."""
    return [tuple(map(plain, row)) for row in frame.itertuples(index=False)]


CHART = [
    Ledger("bank", "Bank", cash=True, sort_code="10"),
    Ledger("savings", "Savings", cash=True, parent="bank", sort_code="11"),
    Ledger("card", "Card", cash=True, sort_code="20"),
    Ledger("receivable", "Receivable", sort_code="12"),
    Ledger("equity", "Opening", sort_code="30"),
    Ledger("sales", "Sales", sort_code="40"),
    Ledger("costs", "Costs", sort_code="5"),
    Ledger("rent", "Rent", parent="costs", sort_code="51"),
    Ledger("office", "Office", parent="costs", sort_code="52"),
    Ledger("paper", "Paper", parent="office", sort_code="521"),
    Ledger("unused", "Unused", cash=True, sort_code="19"),
]
BOOKS = [
    entry("2024-12-31", bank="1000", equity="-1000"),
    entry("2025-01-01", bank="-400.50", rent="400.50"),  # first day
    entry("2025-01-05", card="-19.99", paper="19.99"),  # card purchase: outflow on the day of purchase
    entry("2025-01-06", bank="-300", savings="300"),  # inside cash
    entry("2025-01-07", card="19.99", bank="-19.99"),  # paying the card: inside cash
    entry("2025-01-10", receivable="250", sales="-250"),  # invoice: no cash
    entry("2025-01-20", bank="250", receivable="-250"),  # its payment
    entry("2025-01-31", bank="-30", savings="20", rent="4", paper="6"),  # split, two cash ledgers; last day
    entry("2025-02-01", bank="-1", rent="1"),  # after
]


TABLES = ("ledgers", "lines", "starting_balances", "ending_balances")


def january(line_entries=None, ledgers=None, balances=None, time_zone=None, scale=None, **options):
    """Recompute the report of January, of the books above unless others are given."""
    line_entries = line_frame(BOOKS) if line_entries is None else line_entries
    ledgers = ledger_frame(CHART) if ledgers is None else ledgers
    if time_zone is None and "load" not in getattr(line_entries, "attrs", {}):
        time_zone = "UTC"
    opening = None if balances is None else ("2025-01-01", balances)
    books = aa.Books(line_entries, ledgers, "2025-01", time_zone=time_zone, opening=opening, scale=scale)
    return aa.recompute_cash_flow(books, **options)


def checked(report):
    report.exact().checked()
    return report


def assert_same(report, expected, tables=TABLES):
    for table in tables:
        pd.testing.assert_frame_equal(getattr(report, table), getattr(expected, table))


@pytest.mark.parametrize("engine", TWO_ENGINES)
def test_a_month_calculated_by_hand(engine, tmp_path):
    lines = on_engine(line_frame(BOOKS), engine, tmp_path)
    frames = lines, on_engine(ledger_frame(CHART), engine, tmp_path)
    report = checked(aa.recompute_cash_flow(aa.Books(*frames, time_zone="UTC"), ("2025-01-01", dt.date(2025, 1, 31))))
    assert texts(report.ledgers) == [
        ("receivable", "Receivable", Decimal("250.00"), Decimal("250.00")),
        ("costs", "Costs", Decimal("0.00"), Decimal("-430.49")),
        ("rent", "Rent", Decimal("-404.50"), Decimal("-404.50")),
        ("office", "Office", Decimal("0.00"), Decimal("-25.99")),
        ("paper", "Paper", Decimal("-25.99"), Decimal("-25.99")),
    ]
    named = ["cash_flow_ledger_name", "journal_entry_id", "journal_entry_description"]
    assert texts(report.lines[["line_id", "ledger_id", "amount", *named]]) == [
        ("le_13", "receivable", Decimal("250.00"), "Bank", "je_6", None),
        ("le_3", "rent", Decimal("-400.50"), "Bank", "je_1", "entry 1"),
        ("le_16", "rent", Decimal("-4.00"), "Bank", "je_7", "entry 7"),
        ("le_5", "paper", Decimal("-19.99"), "Card", "je_2", "entry 2"),
        ("le_17", "paper", Decimal("-6.00"), "Bank", "je_7", "entry 7"),
    ]
    assert report.lines["datetime"].tolist()[1] == noon("2025-01-01")
    assert list(report.starting_balances["ledger_id"]) == ["bank", "savings", "unused", "card"]
    assert amounts(report.starting_balances, "cash_balance")["bank"] == "1000.00"
    assert amounts(report.ending_balances, "cash_balance") == {
        "bank": "499.51",
        "savings": "320.00",
        "unused": "0.00",
        "card": "0.00",
    }
    assert amounts(report.ending_balances, "total_cash_balance")["bank"] == "819.51"
    assert list(report.exact().sums.values()) == [Decimal(1000), Decimal("-180.49"), Decimal("819.51")]
    assert report.identity_gap == 0
    assert not report.anchored
    assert any("earliest of 2024-12-31 12:00 UTC" in note for note in report.notes)


@pytest.mark.parametrize("engine", TWO_ENGINES)
@pytest.mark.parametrize("entries", [BOOKS, []])
def test_period_without_lines_is_empty_and_typed(engine, tmp_path, entries):
    ledgers = on_engine(ledger_frame(CHART), engine, tmp_path)
    lines = on_engine(line_frame(entries), engine, tmp_path)
    early = checked(aa.recompute_cash_flow(aa.Books(lines, ledgers, time_zone="UTC"), ("2001-01-01", "2001-12-31")))
    never = checked(
        aa.recompute_cash_flow(aa.Books(lines, ledgers, time_zone="Pacific/Apia"), ("2011-12-30", "2011-12-30"))
    )
    for report in (early, never):
        assert report.ledgers.empty
        assert report.lines.empty
        assert len(report.ending_balances) == 4
        assert (report.starting_cash_balance, report.ending_cash_balance) == (0, 0)
        assert any("No given line entry is before" in note for note in report.notes)


@pytest.mark.parametrize("engine", TWO_ENGINES)
def test_period_to_the_ends_of_the_calendar_has_every_line(engine, tmp_path):
    frames = on_engine(line_frame(BOOKS), engine, tmp_path), on_engine(ledger_frame(CHART), engine, tmp_path)
    report = checked(
        aa.recompute_cash_flow(aa.Books(*frames, time_zone="America/New_York"), ("0001-01-01", "9999-12-31"))
    )
    assert report.net_cash_flow == report.ending_cash_balance == 818.51


def large_books(large, unit):
    """Books with 8 deposits of a large amount, give or take the smallest unit."""
    return [
        Entry(noon("2024-12-31"), [("bank", large + unit), ("equity", -large - unit)]),
        *(Entry(noon("2025-01-02"), [("bank", large - unit), ("sales", unit - large)]) for _ in range(7)),
    ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scale", [2, *also_long(0, 10)])
def test_amounts_of_20_digits_are_exact(engine, scale, tmp_path):
    with localcontext(prec=200):
        unit, large = Decimal(1).scaleb(-scale), Decimal(98765432109876543210)
        books, ending, net = large_books(large, unit), 8 * large - 6 * unit, 7 * large - 7 * unit
    lines = on_engine(line_frame(books, scale, exact=True), engine, tmp_path)
    ledgers = on_engine(ledger_frame(CHART), engine, tmp_path)
    for with_lines in (True, False):
        report = checked(january(lines, ledgers, lines=with_lines))
        sums = report.exact()
        assert (report.scale, sums.ending_cash_balance, sums.net_cash_flow) == (scale, ending, net)
        assert list(report.exact().ledgers["net_cash_flow"]) == [net]
        for text in (report.summary(), report.explain(), report._repr_html_()):
            assert f"{net:,f}" in text
        message = (
            rf"net_cash_flow: amount {net:,f} is too large for a pandas frame.*local books on an engine and Parquet"
        )
        for name in ("ledgers", "frame", "net_cash_flow"):
            with pytest.raises(AmountError, match=message):
                getattr(report, name)


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_beyond_64_bits_are_exact(engine, tmp_path):
    largest = Decimal(10**15 - 1).scaleb(-2)
    before = [Entry(noon("2024-12-31"), [("bank", largest), ("equity", -largest)]) for _ in range(10_000)]
    frames = on_engine(line_frame(before), engine, tmp_path), on_engine(ledger_frame(CHART), engine, tmp_path)
    for lines in (frames[0], on_engine(line_frame(before, exact=True), engine, tmp_path)):
        report = january(lines, frames[1])
        assert report.exact().starting_cash_balance == 10_000 * largest
        with pytest.raises(AmountError, match=r"amount 99,999,999,999,999,900\.00 is too large for a pandas frame"):
            _ = report.starting_cash_balance


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gap_of_64_bits_is_a_gap(engine, tmp_path):
    """An entry whose debits exceed its credits by 2**64 units does not balance, though it would in int64."""
    count, rest = divmod(2**64, 10**15 - 1)
    units = [10**15 - 1] * count + [rest]
    books = [*BOOKS, Entry(noon("2025-01-03"), [("rent", Decimal(one).scaleb(-2)) for one in units])]
    frames = on_engine(line_frame(books), engine, tmp_path), on_engine(ledger_frame(CHART), engine, tmp_path)
    with pytest.raises(IncompleteLoadError, match="1 journal entry does not balance"):
        january(*frames)


@pytest.mark.parametrize("engine", TWO_ENGINES)
def test_totals_alone_are_those_of_the_whole_report(engine, tmp_path):
    frames = on_engine(line_frame(BOOKS), engine, tmp_path), ledger_frame(CHART)
    whole = january(*frames)
    totals = checked(january(*frames, lines=False))
    assert len(whole.lines) > len(totals.lines) == 0
    assert (whole.totals_only, totals.totals_only) == (False, True)
    assert_same(totals, whole, ("ledgers", "starting_balances", "ending_balances"))
    assert (totals.net_cash_flow, totals.notes) == (whole.net_cash_flow, whole.notes)


def stating(lines, count, time_zone="UTC"):
    """Return the lines, stating a load of so many lines."""
    load = {"start_date": "2000-01-01", "end_date": "2030-12-31", "time_zone": time_zone}
    lines.attrs["load"] = load | {"complete": True, "filters": {}, "ledgers": "{}", "lines": count}
    return lines


@pytest.mark.parametrize("with_lines", [True, False])
@pytest.mark.parametrize("engine", ["pandas", "pyarrow"])
def test_nulls_as_ids_are_refused_where_a_load_is_stated(engine, with_lines, tmp_path):
    lines = line_frame(BOOKS)
    stating(lines, len(lines))
    lines["id"] = lines["id"].where(lines["datetime"] < pd.Timestamp("2025-01-01", tz="UTC"), None)
    table = on_engine(lines, engine, tmp_path)
    if engine == "pyarrow":
        table = table.replace_schema_metadata(to_table_metadata(lines.attrs["load"]))
    with pytest.raises(FrameError, match="'id' is null"):
        january(table, lines=with_lines)


@pytest.mark.parametrize(
    ("count", "many"), [(2, 1_000_000), (4, 3), pytest.param(1_000_002, 1_000_000, marks=pytest.mark.long)]
)
def test_an_id_that_occurs_twice_is_refused_in_frames_of_any_length(count, many, monkeypatch):
    monkeypatch.setattr(column_conversion, "_MANY_TEXTS", many)
    both = line_frame([entry("2025-03-03", bank="-5", rent="5")])
    frame = both.take(np.tile([0, 1], count // 2)).reset_index(drop=True)
    frame["id"] = "le_" + pd.Series(np.arange(count)).astype("str")
    frame["journal_entry_id"] = "je_" + pd.Series(np.arange(count) // 2).astype("str")
    ledgers = ledger_frame([Ledger("bank", "Bank", cash=True), Ledger("rent", "Rent")])
    days = ("2025-03-01", "2025-03-31")
    report = aa.recompute_cash_flow(aa.Books(LineEntries.checked(frame), ledgers, time_zone="UTC"), days, lines=False)
    assert report.net_cash_flow == -5 * (count // 2)
    frame.loc[count - 1, "id"] = "le_0"
    with pytest.raises(FrameError, match=r"id: value occurs more than once \(2x\)"):
        LineEntries.checked(frame)
    with pytest.raises(FrameError, match="occurs more than once: le_0;"):
        aa.recompute_cash_flow(aa.Books(frame, ledgers, time_zone="UTC"), days, lines=False)


@pytest.mark.parametrize("with_lines", [True, False])
@pytest.mark.parametrize("engine", TWO_ENGINES)
def test_loads_that_overlap_are_refused(engine, with_lines, tmp_path):
    """Lines that occur twice would double a starting balance, flows, or balances of two cash ledgers alone.

    Of lines in memory all are counted; lazy engines count those that are summed.
    """
    lines, ledgers, is_lazy = line_frame(BOOKS), ledger_frame(CHART), engine in {"polars lazy", "duckdb"}
    of_first = "le_0" if is_lazy else "le_0, le_1"
    for entry_id, named in (("je_0", of_first), ("je_1", "le_2, le_3"), ("je_3", "le_6, le_7")):
        twice = pd.concat([lines, lines[lines["journal_entry_id"] == entry_id]], ignore_index=True)
        frame = on_engine(twice, engine, tmp_path)
        with pytest.raises(FrameError, match=rf"occurs more than once: {named}; load these days once"):
            january(frame, ledgers, lines=with_lines)
        if entry_id == "je_0" and is_lazy:  # earlier lines are not used where balances are given
            anchored = january(frame, ledgers, lines=with_lines, balances={"bank": Decimal(1000)})
            assert anchored.ending_cash_balance == 819.51
    with pytest.raises(FrameError, match="ledger id occurs more than once"):
        january(lines, pd.concat([ledgers, ledgers]), lines=with_lines)


@pytest.mark.parametrize("with_lines", [True, False])
def test_ids_are_counted_only_where_no_load_is_stated(with_lines):
    lines = line_frame(BOOKS)
    twice = pd.concat([lines, lines[:2]], ignore_index=True)
    believed = january(stating(twice.copy(), len(twice)), lines=with_lines)
    assert believed.starting_cash_balance == 2000
    more = "there are 2 lines more than the 20 that were loaded: lines are there twice, or others were added"
    with pytest.raises(IncompleteLoadError, match=f"the lines are not those that were loaded: {more}"):
        january(stating(twice, len(lines)), lines=with_lines, allow_partial=True)
    twice.attrs.pop("load")
    with pytest.raises(FrameError, match="occurs more than once: le_0, le_1;"):
        january(twice, lines=with_lines)


def with_amounts(lines, amounts, engine, tmp_path):
    """Lines on an engine with other signed amounts, in the type of an Arrow array, where NaN is not null."""
    if engine == "pandas":
        return lines.assign(signed_amount=amounts.to_pandas())
    table = pa.Table.from_pandas(lines, preserve_index=False)
    table = table.set_column(table.column_names.index("signed_amount"), "signed_amount", amounts)
    return on_engine(table, engine, tmp_path)


@pytest.mark.parametrize("engine", TWO_ENGINES)
def test_rounding_noise_is_removed_and_noted(engine, tmp_path):
    lines = line_frame(BOOKS)
    noisy = lines["signed_amount"].to_numpy(copy=True)
    noisy[:4] = np.nextafter(noisy[:4], np.inf)
    noisy[5] += 1e-7
    given_lines = with_amounts(lines, pa.array(noisy), engine, tmp_path)
    report = checked(january(given_lines))
    assert "5 amounts had float rounding noise, which was removed." in report.notes
    exact = january(lines)
    assert not any("noise" in note for note in exact.notes)
    assert_same(report, exact)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scale", [3, *also_long(2, 10)])
def test_exact_floats_have_no_noise(engine, scale, tmp_path):
    """No engine mistakes an exact amount for one with noise: they divide in different ways."""
    amounts = [Decimal(units).scaleb(-scale) for units in range(1, 30_000, 13)]
    books = [Entry(noon("2025-01-02"), [("bank", one), ("sales", -one)]) for one in amounts]
    lines = on_engine(line_frame(books, scale), engine, tmp_path)
    report = january(lines, scale=scale)
    assert not any("noise" in note for note in report.notes)
    assert report.exact().ending_cash_balance == sum(amounts)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrong", [24.335, 1e13, *also_long(float("inf"), float("-inf"), 1e300)])
def test_floats_that_are_no_amounts_are_refused(engine, wrong, tmp_path):
    lines = line_frame(BOOKS)
    amounts = lines["signed_amount"].to_numpy(copy=True)
    amounts[[3, 5]] = wrong
    given_lines = with_amounts(lines, pa.array(amounts), engine, tmp_path)
    with pytest.raises(AmountError) as caught:
        january(given_lines)
    for part in ("2 amounts in signed_amount not in whole minor units at scale 2", "le_3", "le_5", ".round(2)"):
        assert part in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_is_refused_as_null(engine, tmp_path):
    """A NaN, which an engine may tell from null, is a missing amount; DuckDB misses NaN in files with statistics."""
    lines = line_frame(BOOKS)
    amounts = lines["signed_amount"].to_numpy(copy=True)
    amounts[3] = float("nan")
    given_lines = with_amounts(lines, pa.array(amounts), engine, tmp_path)
    refusal = "1 amount in signed_amount not in" if engine == "duckdb" else "'signed_amount' is null"
    with pytest.raises((AmountError, FrameError), match=refusal):
        january(given_lines)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [pa.int32(), *also_long(pa.int64())])
def test_integers_are_major_units(engine, kind, tmp_path):
    lines = line_frame([entry("2025-01-02", bank="250", sales="-250")])
    given_lines = with_amounts(lines, pa.array([250, -250], kind), engine, tmp_path)
    report = checked(january(given_lines))
    assert report.ending_cash_balance == 250
    assert report.ledgers["net_cash_flow"].tolist() == [250.0]
    assert report.scale == 2


def test_the_scale_is_stated_once_or_assumed():
    lines = line_frame(BOOKS)
    assumed = "No scale is stated; amounts are assumed to have 2 fraction digits."
    assert assumed not in january(lines).notes
    with pytest.raises(FrameError, match=r"no single scale: .* state \[2, 3\]"):
        january(lines, scale=3)
    with pytest.raises(FrameError, match=r"state \[2, 3\]"):
        january(line_frame(BOOKS, exact=True), scale=3)
    lines.attrs.clear()
    assert assumed in january(lines).notes
    assert assumed not in january(lines, scale=2).notes
    assert january(lines, scale=3).scale == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_beyond_38_digits_are_refused(engine, tmp_path):
    huge = Decimal("9" * 36)
    books = [Entry(noon("2025-01-02"), [("bank", huge), ("sales", huge.copy_negate())]) for _ in range(3)]
    lines = line_frame(books, exact=True)
    frames = on_engine(lines, engine, tmp_path), on_engine(ledger_frame(CHART), engine, tmp_path)
    with pytest.raises(AmountError, match="cannot be summed exactly"):
        january(*frames)


def test_the_cash_ledger_named_is_the_one_that_moved_most():
    chart = [
        Ledger("b", "B", cash=True, sort_code="2"),
        Ledger("a", "A", cash=True, sort_code="2"),
        Ledger("z", "Z", cash=True, sort_code="1"),
        Ledger("fee", "Fee"),
    ]
    at = noon("2025-01-02")
    books = [
        Entry(at, [("a", Decimal(-5)), ("b", Decimal(4)), ("fee", Decimal(1))]),
        Entry(at, [("a", Decimal(-5)), ("b", Decimal(3)), ("b", Decimal(3)), ("fee", Decimal(-1))]),
        Entry(at, [("a", Decimal(-5)), ("b", Decimal(-5)), ("fee", Decimal(10))]),
        Entry(at, [("b", Decimal(-5)), ("z", Decimal(-5)), ("fee", Decimal(10))]),
        Entry(at, [("z", Decimal(9)), ("z", Decimal(-9)), ("b", Decimal(-1)), ("fee", Decimal(1))]),
    ]
    lines = january(line_frame(books), ledger_frame(chart)).lines
    named = dict(zip(lines["journal_entry_id"], lines["cash_flow_ledger_name"], strict=True))
    assert named == {"je_0": "A", "je_1": "B", "je_2": "A", "je_3": "Z", "je_4": "B"}


def test_cash_totals_include_only_cash_ledgers():
    chart = [
        Ledger("top", "Top", cash=True, sort_code="1"),
        Ledger("middle", "Middle", parent="top"),
        Ledger("deep", "Deep", cash=True, parent="middle", sort_code="2"),
    ]
    books = [entry("2025-01-02", deep="7", middle="-5", top="-2")]
    report = january(line_frame(books), ledger_frame(chart))
    assert amounts(report.ending_balances, "total_cash_balance") == {"top": "5.00", "deep": "7.00"}
    assert amounts(report.ledgers, "total_net_cash_flow") == {"middle": "5.00", "top": "5.00"}


def test_the_zone_of_the_load_is_the_default():
    lines = line_frame(BOOKS)
    with pytest.raises(InputError, match="the line entries state no time zone and have no local_date; name the zone"):
        aa.Books(lines, ledger_frame(CHART))
    stated = stating(lines.copy(), len(lines), "Asia/Tokyo")
    loaded = january(stated)
    assert loaded.period.time_zone == "Asia/Tokyo"
    assert not any("time zone" in note for note in loaded.notes)
    given = january(stated, time_zone="UTC")
    assert given.period.time_zone == "UTC"
    assert not any("time zone" in note for note in given.notes)


def test_balances_roll_forward_from_given_ones():
    summed = january()
    for balances in (
        summed.starting_balances,
        {"bank": Decimal(1000), "savings": Decimal(0), "card": Decimal(0), "unused": Decimal(0)},
        {"BANK": Decimal(1000), "savings": Decimal(0)},  # a name; a ledger that is absent starts at zero
    ):
        for first in (0, 1):  # with and without the entry before the period
            lines = line_frame(BOOKS)[2 * first :]
            report = january(lines, balances=balances)
            assert report.anchored
            assert any("were supplied, not summed" in note for note in report.notes)
            assert_same(report, summed)


def test_given_balances_must_fit_the_chart():
    whole = january()
    for wrong in (whole, whole.starting_balances["cash_balance"], [Decimal(1)]):
        with pytest.raises(InputError, match=r"opening is of type .*; pass \{ledger: balance\}, starting_balances of"):
            january(balances=wrong)
    with pytest.raises(
        FrameError,
        match=r"opening: the balances are of all ledgers, and debits less credits are 1\.00; .* without rent",
    ):
        january(balances={"rent": Decimal(1)})
    with pytest.raises(FrameError, match=r"opening: no discovered ledger matches 'bamk'; did you mean 'Bank'"):
        january(balances={"bamk": Decimal(1)})
    with pytest.raises(FrameError, match=r"opening: a ledger occurs more than once"):
        january(balances=dict.fromkeys(("bank", "BANK"), 1))
    with pytest.raises(AmountError, match="does not fit"):
        january(balances={"bank": Decimal("1.005")})
    with pytest.raises(FrameError, match="cash_balance"):
        january(balances=pd.DataFrame({"ledger_id": []}))
    twice = pd.DataFrame({"ledger_id": ["bank", "bank"], "cash_balance": [Decimal(1), Decimal(2)]})
    with pytest.raises(FrameError, match="more than once"):
        january(balances=twice)
    for amount, message in ((1.005, "ledger_id bank; call"), (None, "'cash_balance' is null"), ("1", "not exact")):
        wrong = pd.DataFrame({"ledger_id": ["bank"], "cash_balance": [amount]})
        with pytest.raises((AmountError, FrameError), match=message):
            january(balances=wrong)
    floats = pd.DataFrame({"ledger_id": ["bank"], "cash_balance": [0.1 + 0.2]})
    for noisy in ({"bank": Decimal("0.30000000000000004")}, floats):
        report = january(balances=noisy)
        assert report.starting_cash_balance == 0.3
        assert any("3 cash ledgers without a supplied balance" in note for note in report.notes)
        assert any("1 supplied balance had float rounding noise removed" in note for note in report.notes)


@pytest.mark.parametrize("engine", TWO_ENGINES)
@pytest.mark.parametrize("missing", ["le_2", "le_3", "le_10", "le_14"])
def test_a_missing_line_is_never_a_silent_wrong_number(engine, missing, tmp_path):
    lines = line_frame(BOOKS)
    (entry_id,) = lines.loc[lines["id"] == missing, "journal_entry_id"]
    frame = on_engine(lines[lines["id"] != missing], engine, tmp_path)
    with pytest.raises(IncompleteLoadError, match=rf"1 journal entry does not balance .* missing: {entry_id};"):
        january(frame)


def test_only_entries_of_the_period_have_to_balance_within_it():
    lines = line_frame(BOOKS)
    assert january(lines[~lines["id"].isin(["le_1", "le_19"])]).ending_cash_balance == 819.51
    spread = line_frame([entry("2025-01-31", bank="1", sales="-1")])
    spread.loc[0, "datetime"] = pd.Timestamp(noon("2025-02-01"))
    with pytest.raises(IncompleteLoadError, match="does not balance within the period"):
        january(spread)
    many = line_frame([entry("2025-01-02", bank="1", sales="-1") for _ in range(500)])
    with pytest.raises(IncompleteLoadError, match=r"500 journal entries do not balance .* and 495 more") as caught:
        january(many[many["ledger_id"] == "bank"])
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("absent", ["bank", "rent", "receivable", "equity"])
def test_ledgers_that_are_not_in_the_chart_are_named(absent):
    chart = [one._replace(parent=None) for one in CHART if one.id != absent]
    with pytest.raises(
        FrameError, match=rf"1 ledger of the line entries not in ledgers: {absent} with \d+ lines? that sum"
    ):
        january(ledgers=ledger_frame(chart))


def test_unused_ledgers_need_not_be_known():
    later = [*BOOKS, entry("2025-03-01", bank="-1", new="1")]
    chart = [*(one for one in CHART if one.id != "equity"), Ledger("idle", "Idle", parent="gone")]
    for books, ledgers, balances in ((later, CHART, None), (BOOKS, chart, {"bank": Decimal(1000)})):
        report = january(line_frame(books), ledger_frame(ledgers), balances=balances)
        assert report.ending_cash_balance == 819.51


def test_parents_must_be_in_the_chart():
    orphan = [one for one in CHART if one.id != "costs"]
    with pytest.raises(HierarchyError, match=r"1 parent ledger not in ledgers: costs;"):
        january(ledgers=ledger_frame(orphan))
    cycle = [one._replace(parent="paper") if one.id == "costs" else one for one in CHART]
    with pytest.raises(HierarchyError, match="cycle"):
        january(ledgers=ledger_frame(cycle))


def without_parents(*ledger_ids, types=None):
    """Chart of accounts where the parents of some ledgers are not known, and the types are as given."""
    chart = [one._replace(parent=None, parent_known=False) if one.id in ledger_ids else one for one in sorted(CHART)]
    frame = ledger_frame(chart)
    return frame.drop(columns="type") if types is None else frame.assign(type=frame["id"].map(types).astype("str"))


TYPES = {"receivable": "asset", "bank": "asset", "savings": "asset", "unused": "asset", "card": "liability"}
TYPES |= dict.fromkeys(("costs", "rent", "office", "paper"), "expense") | {"sales": "revenue", "equity": "equity"}
UNTYPED = TYPES | {"rent": None, "office": None, "costs": None}
ABOVE_RENT = {"receivable", "costs", "office", "paper"}


@pytest.mark.parametrize(
    ("hidden", "types", "unknown", "inferred"),
    [
        (["rent"], None, ABOVE_RENT, ("rent",)),
        (["rent"], dict.fromkeys([one.id for one in CHART], "asset"), ABOVE_RENT, ("rent",)),
        # a cash ledger that was never used cannot change a total; the bank might be a part of it, or of the card
        (["unused", "bank"], None, {"unused", "card"}, ("bank",)),
        # two of one type leave the totals of that type null, and no others
        (["rent", "office"], TYPES, {"rent", "office", "paper"}, ()),
        # one above all others of its type has totals
        (["costs", "bank"], TYPES, {"unused"}, ("bank", "costs")),
        # a ledger of unknown type has that of its descendants; without any it might be a part of every tree
        (["costs"], UNTYPED, set(), ("costs",)),
        (["rent"], UNTYPED, ABOVE_RENT, ("rent",)),
    ],
)
def test_totals_that_might_include_a_ledger_are_null(hidden, types, unknown, inferred):
    report, known = checked(january(ledgers=without_parents(*hidden, types=types))), january()
    assert report.inferred_roots == inferred
    for table, column in (
        ("ledgers", "net_cash_flow"),
        ("ledgers", "total_net_cash_flow"),
        ("ending_balances", "cash_balance"),
        ("ending_balances", "total_cash_balance"),
    ):
        expected = amounts(getattr(known, table), column)
        if hidden == ["rent", "office"]:  # nothing is known to be a part of the costs, which have no row
            expected.pop("costs", None)
        if column.startswith("total"):
            expected |= dict.fromkeys(unknown & set(expected))
        assert amounts(getattr(report, table), column) == expected


def test_a_hierarchy_that_is_inferred_is_noted():
    notes = january(ledgers=without_parents("rent")).notes
    assert any("parents of 1 ledger are not known (Rent): totals that might" in note for note in notes)
    notes = january(ledgers=without_parents("costs", "bank", types=TYPES)).notes
    assert any(note.startswith("The hierarchy is inferred: the parents of 2") for note in notes)
    assert "Bank, Costs" in "".join(notes)
    report = january(ledgers=ledger_frame([*CHART, Ledger("idle", "Idle", parent_known=False)]))
    assert amounts(report.ledgers, "total_net_cash_flow")["costs"] == "-430.49"
    assert not any("not known" in note for note in report.notes)


def test_ledgers_without_a_sort_code_are_in_order():
    unknown = {"costs", "office", "receivable"}
    chart = [one._replace(sort_code="") if one.id in unknown else one for one in CHART]
    report = checked(january(ledgers=ledger_frame(chart)))
    assert list(report.ledgers["ledger_id"]) == ["costs", "rent", "office", "paper", "receivable"]
    assert list(report.lines["ledger_id"].unique()) == ["rent", "paper", "receivable"]
    known = january()
    assert report.net_cash_flow == known.net_cash_flow


@pytest.mark.parametrize("scale", [0, 3, 4, 10])
def test_flows_below_a_cent_are_kept(scale):
    unit = Decimal(1).scaleb(-scale)
    books = [
        Entry(noon("2025-01-02"), [("bank", -4 * unit), ("rent", 4 * unit)]),
        Entry(noon("2025-01-03"), [("bank", 4 * unit), ("sales", -4 * unit)]),
    ]
    lines = line_frame(books, scale)
    report = january(lines, scale=scale)
    exact = report.exact()
    nets = dict(zip(exact.ledgers["ledger_id"], exact.ledgers["net_cash_flow"], strict=True))
    totals = dict(zip(exact.ledgers["ledger_id"], exact.ledgers["total_net_cash_flow"], strict=True))
    assert nets == {"sales": 4 * unit, "costs": 0, "rent": -4 * unit}
    assert totals == {"sales": 4 * unit, "costs": -4 * unit, "rent": -4 * unit}
    assert list(exact.lines["amount"]) == [4 * unit, -4 * unit]


FRAMES = {"lines": line_frame(BOOKS), "ledgers": ledger_frame(CHART)}


@pytest.mark.parametrize("engine", TWO_ENGINES)
@pytest.mark.parametrize("frame", FRAMES)
def test_missing_columns_are_named(engine, frame, tmp_path):
    for column in {"id", "sort_code", "signed_amount", "datetime", "name"} & set(FRAMES[frame]):
        frames = {name: one.drop(columns=column if name == frame else []) for name, one in FRAMES.items()}
        frames = {name: on_engine(one, engine, tmp_path) for name, one in frames.items()}
        named = "line_entries" if frame == "lines" else frame
        with pytest.raises(FrameError, match=f"{named}: column is missing: {column}"):
            aa.recompute_cash_flow(aa.Books(**frames, period="2025-01", time_zone="UTC"))


@pytest.mark.parametrize("engine", TWO_ENGINES)
@pytest.mark.parametrize("column", ["id", "ledger_id", "journal_entry_id", "datetime", "signed_amount"])
def test_nulls_are_refused(engine, column, tmp_path):
    lines = line_frame(BOOKS)
    where = lines["journal_entry_id"] == "je_1" if column != "id" else lines["id"] == "le_3"
    lines.loc[where, column] = None
    frames = on_engine(lines, engine, tmp_path), ledger_frame(CHART)
    for with_lines in (True, False):
        with pytest.raises(FrameError, match=r"null|None"):
            january(*frames, lines=with_lines)


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        ("signed_amount", lambda column: column.astype("float32"), "'signed_amount' holds Float32, not exact"),
        ("signed_amount", lambda column: column.astype("str"), "'signed_amount' holds String, not exact"),
        ("signed_amount", lambda column: column > 0, "'signed_amount' holds Boolean, not exact"),
        ("datetime", lambda column: column.dt.tz_localize(None), r"'datetime' holds Datetime.*not instants"),
        ("datetime", lambda column: column.astype("str"), "'datetime' holds String, not instants"),
        ("id", lambda column: pd.Series(range(len(column))), "'id' holds Int64, not text"),
    ],
)
@pytest.mark.parametrize("engine", TWO_ENGINES)
def test_wrong_kinds_are_refused(engine, column, change, message, tmp_path):
    lines = line_frame(BOOKS)
    lines[column] = change(lines[column])
    with pytest.raises(FrameError, match=message):
        january(on_engine(lines, engine, tmp_path))


@pytest.mark.parametrize("name", ["line_entries", "ledgers"])
def test_a_column_that_is_there_twice_is_refused(name):
    frames = {"line_entries": line_frame(BOOKS), "ledgers": ledger_frame(CHART)}
    frames[name] = pd.concat([frames[name], frames[name][["id"]]], axis=1)
    with pytest.raises(FrameError, match=f"{name} has the column 'id' more than once: keep one of them"):
        january(*frames.values())


def test_values_of_several_kinds_are_refused():
    lines = line_frame(BOOKS)
    mixed = lines["ledger_id"].astype(object).where(lines.index > 0, 5)
    with pytest.raises(FrameError, match=r"line_entries cannot be read as a table: column 'ledger_id': .*int"):
        january(lines.assign(ledger_id=mixed))


@pytest.mark.parametrize("frame", [None, [], {"id": []}, "lines.parquet", 5])
def test_other_types_are_refused(frame):
    with pytest.raises(FrameError, match="it must be a pandas, pyarrow, polars, DuckDB or PySpark frame"):
        aa.recompute_cash_flow(aa.Books(frame, ledger_frame(CHART), time_zone="UTC"), ("2025-01-01", "2025-01-31"))


def test_encoded_text_other_time_units_and_zones_are_read():
    lines = line_frame(BOOKS).astype({"ledger_id": "category", "journal_entry_id": "category"})
    lines["datetime"] = lines["datetime"].dt.tz_convert("Asia/Tokyo").dt.as_unit("ms")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    in_duckdb = connection.from_arrow(pa.Table.from_pandas(line_frame(BOOKS), preserve_index=False))
    for other in (lines, in_duckdb):
        assert_same(checked(january(other)), january())


def test_frames_are_not_modified():
    lines, ledgers = line_frame(BOOKS), ledger_frame(CHART)
    shuffled = lines.sample(frac=1, random_state=4)
    assert_same(january(lines, ledgers), january(shuffled, ledgers[::-1]))
    pd.testing.assert_frame_equal(lines, line_frame(BOOKS))
    pd.testing.assert_frame_equal(ledgers, ledger_frame(CHART))


def assert_as_naive(seed, engine, tmp_path, *, exact=False):
    """Recompute the report of planted books on an engine, and compare every figure with the naive report."""
    books = planted_books.random_books(seed)
    lines = planted_books.line_frame(books.lines, exact=exact)
    frames = on_engine(lines, engine, tmp_path), on_engine(planted_books.ledger_frame(), engine, tmp_path)
    report = checked(aa.recompute_cash_flow(aa.Books(*frames, time_zone=books.zone, scale=2), books.days))
    naive = planted_books.naive_report(books)
    assert len(naive.lines) > 5
    for name in TABLES:
        expected = getattr(naive, name)
        assert texts(getattr(report, name)[list(expected.columns)]) == texts(expected)
    assert report.exact().sums == naive.exact().sums
    assert report.identity_gap == 0
    anchored = aa.recompute_cash_flow(
        aa.Books(*frames, time_zone=books.zone, scale=2, opening=(books.days[0], report.starting_balances)), books.days
    )
    pd.testing.assert_frame_equal(anchored.ending_balances, report.ending_balances)


@example(83635)  # a month of few lines
@given(st.integers(0, 10**6))
def test_random_books_against_a_naive_report(seed):
    assert_as_naive(seed, "pandas", None)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", [0, 1, *also_long(*range(2, 16))])
def test_engines_agree(engine, seed, tmp_path):
    assert_as_naive(seed // 2, engine, tmp_path, exact=seed % 2 == 1)
