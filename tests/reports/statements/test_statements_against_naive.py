"""Every figure of every statement against the naive ones, on random books, any frame, and the demo books."""

from collections import Counter
from fractions import Fraction

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from books_strategy import books, line_table, requests
from hypothesis import given, settings
from hypothesis import strategies as st
from long_cases import also_long
from naive_statements import BALANCE, CASH, INCOME, OPENING, TRIAL, columns, percent, shifted_days, units
from statement_checks import (
    BOOKS_START,
    FUNCTIONS,
    LEDGER_ROWS,
    MONTHS,
    assert_law,
    days_of,
    entry_units,
    periods,
    row_key,
    row_units,
    shown_keys,
    statement_of,
    whole_units,
)

import accounting_analytics as aa

ROWS_OF_TREES = (INCOME, BALANCE, CASH)
DECIMALS = pa.decimal128(18, 2)
FRAMES = {
    "pandas": lambda table: table.to_pandas(types_mapper={DECIMALS: pd.ArrowDtype(DECIMALS)}.get),
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "duckdb": duckdb.from_arrow,
}


@pytest.mark.parametrize("kind", ROWS_OF_TREES)
@settings.get_profile("slow")
@given(naive=books(), request=requests())
def test_ledgers_and_sections_have_naive_sums(kind, naive, request):
    naive.first_month = request.first_month
    statement, days = statement_of(kind, naive, request), days_of(request)
    subtotals = [row for row in statement.rows if row.kind == "subtotal"]
    sections = {frozenset(row.ledger_ids): row for row in subtotals}
    rows = {row.key: row for row in statement.rows if row.kind == "ledger"}
    assert len({row.section for row in subtotals}) == len(sections) == len(subtotals)
    for section in naive.sections(kind):
        whole = [naive.section_total(kind, section, one) for one in days]
        if any(map(units, whole)):
            subtotal = sections[frozenset(naive.in_section(kind, section))]
            assert row_units(statement, subtotal.key) == list(map(units, whole))
    for ledger_id in naive.ledgers:
        section, key = naive.section(kind, ledger_id), row_key(statement, ledger_id)
        assert (key is None) == (section is None)
        if key is None:
            continue
        total = [naive.total(kind, ledger_id, one) for one in days]
        own = [units(naive.own(kind, ledger_id, one)) for one in days]
        assert row_units(statement, key) == list(map(units, total))
        assert row_units(statement, row_key(statement, ledger_id, own=True)) == own
        if key in rows:
            assert any(total)
            assert rows[key].section == sections[frozenset(naive.in_section(kind, section))].section
        elif any(map(units, total)):  # the row of its section shows it
            assert total == [naive.section_total(kind, section, one) for one in days]
            assert not any(own)


@settings.get_profile("slow")
@given(naive=books(), request=requests())
def test_lines_of_the_income_statement_are_naive(naive, request):
    statement = statement_of(INCOME, naive, request)
    found = [naive.income(days) for days in days_of(request)]
    for key in ("gross_profit", "operating_income", "net_income"):
        assert row_units(statement, key) == [one[key] for one in found]


@settings.get_profile("slow")
@given(naive=books(), request=requests())
def test_the_balance_sheet_balances(naive, request):
    naive.first_month = request.first_month
    statement = statement_of(BALANCE, naive, request)
    found = [{name: units(lines) for name, lines in naive.balance_sheet(one.last).items()} for one in days_of(request)]
    for key in ("total_assets", "total_liabilities", "earnings_of_earlier_periods", "earnings_of_the_period"):
        assert row_units(statement, key) == [one[key] for one in found]
    both = row_units(statement, "total_liabilities_and_equity")
    assert both == [one["total_assets"] for one in found]


@settings.get_profile("slow")
@given(naive=books(), request=requests())
def test_starting_cash_and_flows_are_ending_cash(naive, request):
    statement = statement_of(CASH, naive, request)
    found = [naive.cash(days) for days in days_of(request)]
    assert (OPENING in shown_keys(statement)) == any(map(naive.openings, days_of(request)))
    for key in ("starting_cash_balance", OPENING, "net_cash_flow", "ending_cash_balance"):
        assert row_units(statement, key) == [one[key] for one in found]
    assert all(sum(amounts) == end for *amounts, end in (one.values() for one in found))


@settings.get_profile("slow")
@given(naive=books(), request=requests())
def test_both_sides_of_the_trial_balance_are_the_same(naive, request):
    statement = statement_of(TRIAL, naive, request)
    debit_columns, credit_columns = periods(statement)[::2], periods(statement)[1::2]
    for days, debit, credit in zip(days_of(request), debit_columns, credit_columns, strict=True):
        expected = naive.trial(days.last)
        for ledger_id, sides in expected.items():
            found = [whole_units(statement.value(ledger_id, column.key)) for column in (debit, credit)]
            assert found == list(sides)
        for column, side in ((debit, 0), (credit, 1)):
            assert whole_units(statement.value("total", column.key)) == sum(one[side] for one in expected.values())
        assert statement.value("total", debit.key) == statement.value("total", credit.key)


@settings.get_profile("slow")
@given(naive=books(), request=requests(), data=st.data())
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_entries_sum_to_additive_figures(kind, naive, request, data):
    names = ["prior", "prior_year", "change", "change_pct", "share", *([] if kind == BALANCE else ["total", "average"])]
    options = {} if kind == TRIAL else {"compare": data.draw(st.lists(st.sampled_from(names), unique=True))}
    statement, days = statement_of(kind, naive, request, **options), days_of(request)
    rows = [row for row in statement.rows if row.kind != "heading"]
    for _ in range(8 if rows else 0):
        row, column = data.draw(st.sampled_from(rows)), data.draw(st.sampled_from(statement.columns))
        figure = assert_law(statement, row, column)
        if figure is not None and column.kind == "period" and row.kind in LEDGER_ROWS and kind != TRIAL:
            place = periods(statement).index(column)
            sums = naive.own if row.kind == "own" else naive.total
            assert entry_units(figure) == sums(kind, row.ledger_ids[0], days[place])


@pytest.mark.parametrize("kind", ROWS_OF_TREES)
@settings.get_profile("slow")
@given(naive=books(), request=requests(), data=st.data())
def test_siblings_and_disjoint_columns_share_no_entry(kind, naive, request, data):
    statement = statement_of(kind, naive, request)
    rows = {row.key: row for row in statement.rows if row.kind != "heading"}
    used = Counter()
    for column in data.draw(st.lists(st.sampled_from(periods(statement)), max_size=3, unique_by=lambda one: one.key)):
        entries = {
            key: entry_units(statement[f"{key}|{column.key}"]) for key in rows if statement.is_additive(key, column.key)
        }
        for key, row in rows.items():
            if row.children and key in entries and row.kind != "balance":
                assert set(row.children) <= entries.keys()
                parts = [line for child in row.children for line in entries[child]]
                assert len(parts) == len(set(parts))
                assert set(parts) <= entries[key].keys()
                assert_cancel(naive, entries[key].keys() - parts, kind)
        roots = [row.key for row in rows.values() if row.kind == "subtotal" and row.key in entries]
        lines = [line for key in roots for line in entries[key]]
        assert len(lines) == len(set(lines))
        used.update(lines)
    if kind != BALANCE:
        assert set(used.values()) <= {1}


def assert_cancel(naive, lines, kind):
    """Check that lines of a total that none of its parts has are those of balances of zero, which have no row."""
    assert kind == BALANCE or not lines
    sums = Counter()
    for line in naive.lines:
        sums[line.ledger] += line.units if line.id in lines else 0
    assert not any(sums.values())


@pytest.mark.parametrize("kind", ROWS_OF_TREES)
@settings.get_profile("slow")
@given(naive=books(), request=requests())
def test_comparisons_are_those_of_naive_sums(kind, naive, request):
    statement = statement_of(kind, naive, request, compare=["prior", "prior_year", "change", "change_pct", "share"])
    days = dict(zip((column.key for column in periods(statement)), days_of(request), strict=True))
    kinds = Counter(column.kind for column in statement.columns)
    assert set(kinds.values()) == {len(days)}
    assert set(kinds) == {"period", "prior", "prior_year", "change", "change_pct", "share"}
    for row in [one for one in statement.rows if one.kind in LEDGER_ROWS]:
        sums = naive.own if row.kind == "own" else naive.total
        for column in statement.columns:
            if column.kind == "period":
                continue
            here = days[column.of]
            value = statement.value(row.key, column.key)
            now = units(sums(kind, row.ledger_ids[0], here))
            earlier = shifted_days(here, MONTHS[request.unit] if column.kind == "prior" else 12)
            before = units(sums(kind, row.ledger_ids[0], earlier))
            if kind != INCOME and column.kind != "share" and earlier.last < BOOKS_START:
                assert value is None
                continue
            match column.kind:
                case "prior" | "prior_year":
                    assert whole_units(value) == before
                case "change":
                    assert whole_units(value) == now - before
                case "change_pct":
                    assert_percent(value, percent(now - before, abs(before)))
                case "share":
                    assert_percent(value, percent(now, naive.whole(kind, here)))


@pytest.mark.parametrize("kind", [INCOME, CASH])
@settings.get_profile("slow")
@given(naive=books(), request=requests())
def test_totals_and_averages_of_flows_are_those_of_columns(kind, naive, request):
    statement = statement_of(kind, naive, request, compare=["total", "average"])
    days, is_whole = columns(request.start, request.end, request.unit, request.first_month)
    if any("is in no average" in note for note in statement.notes):  # the first has opening balances
        is_whole = [known and one.first > BOOKS_START for one, known in zip(days, is_whole, strict=True)]
    for row in [one for one in statement.rows if one.kind in LEDGER_ROWS]:
        sums = naive.own if row.kind == "own" else naive.total
        amounts = [units(sums(kind, row.ledger_ids[0], one)) for one in days]
        whole = [amount for amount, known in zip(amounts, is_whole, strict=True) if known]
        assert whole_units(statement.value(row.key, "total")) == sum(amounts)
        average = whole_units(statement.value(row.key, "average"))
        if whole:
            assert abs(average - Fraction(sum(whole), len(whole))) <= Fraction(1, 2)
        else:
            assert average is None


def assert_percent(value, exact):
    """Check a percentage with one fraction digit."""
    assert (value is None) == (exact is None)
    if value is not None:
        assert value.as_tuple().exponent == -1
        assert abs(Fraction(value) - exact) <= Fraction(1, 20)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", [INCOME, *also_long(*(one for one in FUNCTIONS if one != INCOME))])
@settings(max_examples=3)
@given(naive=books(), request=requests(), decimals=st.booleans())
def test_any_frame_gives_the_statement_of_arrow(frame, kind, naive, request, decimals):
    table = line_table(naive, decimals=decimals)
    expected = statement_of(kind, naive, request, table)
    found = statement_of(kind, naive, request, FRAMES[frame](table))
    assert [row.key for row in found.rows] == [row.key for row in expected.rows]
    for key in shown_keys(found):
        for column in found.columns:
            assert found.value(key, column.key) == expected.value(key, column.key)
            assert found.text(key, column.key) == expected.text(key, column.key)


OF_SECTIONS = pytest.mark.parametrize("kind", [INCOME, BALANCE, CASH], indirect=True)


@pytest.fixture(scope="module", params=FUNCTIONS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def statement(kind, demo_books):
    """Return a statement of the demo books by month, with its comparisons."""
    compare = ["prior", "change", "change_pct", "share", *(["total", "average"] if kind in {INCOME, CASH} else [])]
    options = {} if kind == TRIAL else {"compare": compare}
    books = aa.Books(demo_books.lines, demo_books.ledgers, opening=demo_books.days[0])
    return getattr(aa, FUNCTIONS[kind])(books, **options)


def months(demo_books):
    """Days of each month of the demo."""
    days = demo_books.naive.days.values()
    return columns(min(days), max(days), "month")[0]


@OF_SECTIONS
def test_every_month_is_the_naive_one(kind, statement, demo_books):
    days = months(demo_books)
    rows = [row for row in statement.rows if row.kind in LEDGER_ROWS]
    assert len(days) == len(periods(statement)) == 18
    assert len(rows) > 20
    for row in rows:
        sums = demo_books.naive.own if row.kind == "own" else demo_books.naive.total
        assert row_units(statement, row.key) == [units(sums(kind, row.ledger_ids[0], one)) for one in days]


def test_entries_sum_to_figures_of_the_demo(statement):
    last = {column.kind: column for column in statement.columns if column.kind != "total"}
    rows = [row for row in statement.rows if row.kind != "heading"]
    of_each_kind = {row.kind: row for row in rows}.values()
    for row, column in ((row, column) for row in (*rows[::4], *of_each_kind) for column in last.values()):
        assert_law(statement, row, column)
    for row, column in ((row, one) for row in statement.rows[-3:] for one in statement.columns if one.kind == "total"):
        assert_law(statement, row, column)


@OF_SECTIONS
def test_tidy_rows_sum_to_the_statement(statement):
    tidy = statement.tidy()
    sums = tidy.groupby(["section", "column"], observed=True)["amount"].sum(min_count=1).round(2)
    subtotals = {row.section: row for row in statement.rows if row.kind == "subtotal"}
    for (section, column), amount in sums.items():
        if section in subtotals:
            cents = None if pd.isna(amount) else round(amount * 100)  # the month before the first one is not known
            assert cents == whole_units(statement.value(subtotals[section].key, column))
    of_days = [column for column in statement.columns if column.kind in {"period", "prior"}]
    keys = tidy[["column", "kind", "of_column"]].drop_duplicates().itertuples(index=False, name=None)
    assert set(keys) == {(column.key, column.kind, column.of or column.key) for column in of_days}
    assert set(tidy.loc[tidy["kind"] == "period", "column"]) == {column.key for column in periods(statement)}
    assert not tidy.duplicated(["ledger_id", "column"]).any()
