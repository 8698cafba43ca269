"""All statements of the demo books by month: every figure, its entries, and what a frame or a file says of it."""

from collections import Counter

import pytest
from naive_statements import BALANCE, CASH, INCOME, TRIAL, columns, units
from statement_checks import FUNCTIONS, LEDGER_ROWS, assert_law, entry_units, periods, row_units, whole_units

import accounting_analytics as aa

OF_SECTIONS = pytest.mark.parametrize("kind", [INCOME, BALANCE, CASH], indirect=True)


@pytest.fixture(scope="module", params=FUNCTIONS)
def kind(request):
    """Return the kind of a statement."""
    return request.param


@pytest.fixture(scope="module")
def statement(kind, demo_books):
    """Return a statement of the demo books by month, with its comparisons."""
    compare = ["prior", "change", "change_pct", "share", *(["total", "average"] if kind in {INCOME, CASH} else [])]
    options = {} if kind == TRIAL else {"compare": compare}
    if kind != INCOME:
        options["books_start"] = demo_books.days[0]
    return getattr(aa, FUNCTIONS[kind])(demo_books.lines, demo_books.ledgers, **options)


def months(demo_books):
    """Days of each month of the demo."""
    days = demo_books.naive.days.values()
    return columns(min(days), max(days), "month")[0]


@OF_SECTIONS
def test_every_month_is_the_naive_one(kind, statement, demo_books):
    """Every ledger's total and own amount in all eighteen months."""
    days = months(demo_books)
    rows = [row for row in statement.rows if row.kind in LEDGER_ROWS]
    assert len(days) == len(periods(statement)) == 18
    assert len(rows) > 20
    for row in rows:
        sums = demo_books.naive.own if row.kind == "own" else demo_books.naive.total
        assert row_units(statement, row.key) == [units(sums(kind, row.ledger_ids[0], one)) for one in days]


def test_entries_sum_to_additive_figures(statement):
    """The law, for every fourth row and the last ones in one column of each kind, and for totals."""
    last = {column.kind: column for column in statement.columns if column.kind != "total"}
    rows = [row for row in statement.rows if row.kind != "heading"]
    for row, column in ((row, column) for row in (*rows[::4], *rows[-3:]) for column in last.values()):
        assert_law(statement, row, column)
    for row, column in ((row, one) for row in statement.rows[-3:] for one in statement.columns if one.kind == "total"):
        assert_law(statement, row, column)


@pytest.mark.parametrize("kind", [INCOME, CASH], indirect=True)
def test_sections_are_all_cash_flow_lines(kind, statement, demo_books):
    """The sections of one column have each line exactly once."""
    subtotals = [row.key for row in statement.rows if row.kind == "subtotal"]
    for column, days in zip(periods(statement), months(demo_books), strict=True):
        used = Counter(line for key in subtotals for line in entry_units(statement[f"{key}|{column.key}"]))
        naive = demo_books.naive
        expected = [naive.section_total(kind, section, days) for section in naive.sections(kind)]
        assert used == Counter(line for section in expected for line in section)


@OF_SECTIONS
def test_tidy_rows_sum_to_the_statement(statement):
    """One row a ledger's own amount and column; sections and days are those of the rows."""
    tidy = statement.tidy()
    sums = tidy.groupby(["section", "column"], observed=True)["amount"].sum().round(2)
    subtotals = {row.section: row for row in statement.rows if row.kind == "subtotal"}
    for (section, column), amount in sums.items():
        if section in subtotals:
            assert round(amount * 100) == whole_units(statement.value(subtotals[section].key, column))
    assert set(tidy["column"]) == {column.key for column in periods(statement)}
    assert not tidy.duplicated(["ledger_id", "column"]).any()
