"""The statements of a pack, and the lines behind all of them."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.errors import InputError
from accounting_analytics.pack.pack_lines import PackLines
from accounting_analytics.pack.pack_tables import page_spans
from accounting_analytics.statements import balance_sheet, cash_flow_statement, income_statement
from accounting_analytics.statements.line_sums import LineSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.pack.loaded_books import LoadedBooks
    from accounting_analytics.pack.pack_columns import PackPeriods
    from accounting_analytics.statements import Statement
    from accounting_analytics.statements.statement_figures import StatementFigures

_DAY = dt.timedelta(days=1)


class PackStatements(NamedTuple):
    """The statements of a pack; `compared` is a cash flow statement with the columns of the key figures."""

    income: Statement
    cash_flow: Statement
    balance: Statement
    compared: Statement


def make_statements(
    books: LoadedBooks, periods: PackPeriods, currency: str | None, company: str | None
) -> PackStatements:
    """Make the statements, each of whose columns is known as far as the lines reach."""
    given: dict[str, Any] = {
        "ledgers": books.ledgers,
        "start_date": books.days.start_date,
        "end_date": books.days.end_date,
        "time_zone": books.days.time_zone,
        "fiscal_year_start_month": periods.first_month,
        "currency": currency,
        "company": company,
    }
    history: dict[str, Any] = {**given, "books_start": books.books_start}
    cash_flow = partial(cash_flow_statement, books.lines, **history, starting_balances=books.starting_balances)
    return PackStatements(
        income_statement(books.lines, **given, columns=periods.income_columns()),
        cash_flow(columns=periods.month_columns()),
        balance_sheet(books.lines, **history, columns=periods.balance_columns()),
        cash_flow(columns=periods.key_columns()),
    )


def collect_entries(statements: PackStatements, last: dt.date) -> PackLines:
    """Collect the lines from the first day that a figure begins or ends with, to the last."""
    balance, cash = statements.balance.figures, statements.compared.figures
    source = _line_source(balance)
    edges = [day for statement in statements for day in _first_days(statement.figures)]
    days = max(min(edges), min(source.loaded.start_date, last)), last
    return PackLines(source, _line_source(cash).cash, balance.ledgers, days, cash.starting)


def _first_days(figures: StatementFigures) -> Iterator[dt.date]:
    """First day of each span of days, and the day after one that is a balance."""
    measures = {row.measure for row in figures.layout.by_key.values() if not row.terms}
    for column in figures.columns.by_key.values():
        for measure in measures:
            spans = zip(figures.spans(measure, column), page_spans(figures, measure, column), strict=True)
            for (_, span), (_, first, _) in spans:
                if span not in figures.unknown and not span.is_empty:
                    yield span.first if first and span.first is not None else span.last + _DAY


def _line_source(figures: StatementFigures) -> LineSource:
    if not isinstance(figures.source, LineSource):
        raise InputError("a pack is made from line entries, not from a report")
    return figures.source
