"""What a statement shows, beside what the naive one has: figures of rows and columns in whole units."""

import datetime as dt
from fractions import Fraction

import pytest
from books_strategy import ledger_frame, line_table
from naive_statements import BALANCE, CASH, INCOME, TRIAL, columns

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError

FUNCTIONS = {
    INCOME: "income_statement",
    BALANCE: "balance_sheet",
    TRIAL: "trial_balance",
    CASH: "cash_flow_statement",
}
BOOKS_START = dt.date(2023, 12, 1)
MONTHS = {"month": 1, "quarter": 3, "year": 12}
ROUNDED = {"average", "change_pct", "share"}
LEDGER_ROWS = {"ledger", "own"}


def statement_of(kind, naive, request, frame=None, **options):
    """Statement of the package over the same books."""
    books = aa.Books(
        line_table(naive).to_pandas() if frame is None else frame,
        ledger_frame(naive),
        (request.start, request.end),
        time_zone=naive.zone,
        opening=None if kind == INCOME else BOOKS_START,
        fiscal_year_start_month=request.first_month,
    )
    return getattr(aa, FUNCTIONS[kind])(books, columns=request.unit, **options)


def days_of(request):
    return columns(request.start, request.end, request.unit, request.first_month)[0]


def periods(statement):
    """Columns of one period each."""
    return [column for column in statement.columns if column.kind == "period"]


def whole_units(amount):
    """Exact amount in units; None where it is not known."""
    if amount is None:
        return None
    scaled = amount.scaleb(2)
    assert scaled == int(scaled)
    return int(scaled)


def row_key(statement, ledger_id, *, own=False):
    """Key of a ledger's row, shown or not; None if it is not on the statement."""
    try:
        figures = statement.row(ledger_id, own=own)
    except InputError:
        return None
    return next(iter(figures.values())).key.rpartition("|")[0]


def row_units(statement, key):
    """Units of a row in each column of one period."""
    return [whole_units(statement.value(key, column.key)) for column in periods(statement)]


def shown_keys(statement):
    return {row.key for row in statement.rows if row.kind != "heading"}


def entry_units(figure):
    """Units of each entry of a figure, by line id."""
    entries = figure.entries
    ids = entries["id"] if "id" in entries else entries["line_id"]
    assert ids.is_unique
    return {one: round(amount * 100) for one, amount in zip(ids, entries["figure_amount"], strict=True)}


def assert_law(statement, row, column):
    """Check that the entries of an additive figure sum to it, and that any other figure has terms instead."""
    figure = statement[f"{row.key}|{column.key}"]
    assert figure.key == f"{row.key}|{column.key}"
    assert figure.exact() == statement.value(row.key, column.key)
    assert figure.is_additive == statement.is_additive(row.key, column.key)
    if figure.is_additive:
        assert sum(round(amount * 100) for amount in figure.entries["figure_amount"]) == whole_units(figure.exact())
        return figure
    with pytest.raises(InputError):
        figure.entries  # noqa: B018 (it raises)
    if figure.exact() is not None:
        assert_made_of_terms(row, column, figure)
    return None


def assert_made_of_terms(row, column, figure):
    """Check that a derived figure is what its terms give, rounded to its own digits."""
    first, *others = [Fraction(term.exact()) for term in figure.terms]
    match column.kind:
        case "average":
            expected = Fraction(first + sum(others), len(figure.terms))
        case "change_pct":
            expected = 100 * (first - others[0]) / abs(others[0])
        case _ if figure.signs[-1] == "/":
            expected = 100 * first / others[0]
        case _:
            factors = [factor for factor, _ in row.terms]
            expected = sum(factor * term for factor, term in zip(factors, (first, *others), strict=True))
    digit = Fraction(10) ** figure.exact().as_tuple().exponent
    is_rounded = column.kind in ROUNDED or row.kind == "percent"
    assert abs(Fraction(figure.exact()) - expected) <= (digit / 2 if is_rounded else 0), (row.key, column.key)
