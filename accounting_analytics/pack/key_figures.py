"""Key figures: at most eight rows, of the period, the one before, that of a year before, and the year to date."""

from __future__ import annotations

import datetime as dt
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.figure_tables import TableHead
from accounting_analytics.pack.pack_tables import PackRow, TableBuilder, page_spans
from accounting_analytics.periods import day_label
from accounting_analytics.statements.rows import NOT_CATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.figure_tables import FigureCell
    from accounting_analytics.pack.pack_tables import PackLines, PackTable
    from accounting_analytics.periods import Period
    from accounting_analytics.statements import Statement
    from accounting_analytics.statements.rows import Row
    from accounting_analytics.statements.statement_figures import StatementFigures

_DAY = dt.timedelta(days=1)
NAME = "key_figures"
WITHHELD = (
    "Cash in and out are sums of the lines of categories: what is withheld from a payment, such as taxes from wages, "
    "is counted in both."
)


class KeyStatements(NamedTuple):
    """Statements with the columns of the key figures."""

    cash_flow: Statement
    income: Statement


def key_figures_table(statements: KeyStatements, entries: PackLines) -> PackTable:
    """Make the table of key figures."""
    columns = statements.cash_flow.columns
    table = TableBuilder(NAME, entries, {one.key: TableHead(one.label, is_comparison=False) for one in columns})
    cash, income = statements.cash_flow.figures, statements.income.figures

    def add(key: str, label: str, statement: Statement, row_key: str) -> None:
        figures = statement.figures
        row = figures.layout.by_key.get(row_key)
        found = None if row is None else summed_row(figures, row)
        if row is None or found is None:
            return
        made: list[FigureCell] = []
        for column in columns:
            if statement.value(row_key, column.key) is None:
                made.append(table.unknown(key, column.key))
                continue
            spans = page_spans(
                figures, row.measure if not row.terms else "movement", figures.columns.by_key[column.key]
            )
            made.append(table.sum_of_days(key, column.key, found, spans, statement[row_key, column.key]))
        table.row(key, label, made)

    add("cash_at_end", "Cash at the end", statements.cash_flow, "ending_cash_balance")
    add("net_cash_flow", "Net change in cash", statements.cash_flow, "net_cash_flow")
    flows = flows_without_transfers(cash)
    for key, label, measure in (("cash_in", "Cash in", "inflow"), ("cash_out", "Cash out", "outflow")):
        made = [
            table.sum_of_lines(
                key, one.key, entries.matching(PackRow(-1, measure, flows), page_spans(cash, "flow", one))
            )
            if statements.cash_flow.value("net_cash_flow", one.key) is not None
            else table.unknown(key, one.key)
            for one in columns
        ]
        table.row(key, label, made)
    _add_lowest(table, statements.cash_flow, entries)
    add("revenues", "Operating revenues", statements.income, income.layout.share_of)
    add("net_income", "Net income", statements.income, "net_income")
    add("not_categorized", NOT_CATEGORIZED, statements.income, "not_categorized")
    return table.build("Key figures", [WITHHELD])


def summed_row(figures: StatementFigures, row: Row) -> PackRow | None:
    """Ledgers that a row sums, through the rows that it is made of; None if they are not summed alike."""
    rows = _parts(figures, row, 1)
    kinds = {(factor, one.measure) for factor, one in rows}
    if len(kinds) != 1:
        return None
    ((factor, measure),) = kinds
    return PackRow(factor, measure, tuple(dict.fromkeys(one for _, part in rows for one in part.ledger_ids)))


def _parts(figures: StatementFigures, row: Row, sign: int) -> list[tuple[int, Row]]:
    if not row.terms:
        return [(sign * row.factor, row)] if row.ledger_ids else []
    return [part for factor, key in row.terms for part in _parts(figures, figures.layout.by_key[key], sign * factor)]


def flows_without_transfers(figures: StatementFigures) -> tuple[str, ...]:
    """Ledgers of the cash flow statement without those of transfers between own accounts."""
    net = next(row for key, row in figures.layout.by_key.items() if key.rstrip("_") == "net_cash_flow")
    transfers = {one for row in figures.layout.by_key.values() if row.section == "transfers" for one in row.ledger_ids}
    return tuple(one for one in net.ledger_ids if one not in transfers)


class LowestDay(NamedTuple):
    """Day of a period at whose end cash is lowest."""

    day: dt.date
    units: int


def lowest_day(entries: PackLines, spans: Sequence[tuple[int, str, str]], period: Period) -> LowestDay:
    """Find the first day with the lowest balance; spans are those of the balance at the end of the period."""
    ((_, since, _),) = spans
    row = PackRow(1, "balance", tuple(sorted(entries.cash)))
    before = (period.start_date - _DAY).isoformat()
    balance = entries.units(entries.matching(row, [(1, since, before)]))
    by_day = entries.units_by_day(row, period.start_date, period.end_date)
    days = [period.start_date + offset * _DAY for offset in range(period.days)]
    balances = accumulate((by_day.get(day.isoformat(), 0) for day in days), initial=balance)
    return min(map(LowestDay, days, islice(balances, 1, None)), key=lambda one: one.units)


def _add_lowest(table: TableBuilder, statement: Statement, entries: PackLines) -> None:
    """Add the lowest balance of each period, at the end of a day."""
    figures = statement.figures
    if "ending_cash_balance" not in figures.layout.by_key:
        return
    made: list[FigureCell] = []
    row = PackRow(1, "balance", tuple(sorted(entries.cash)))
    for column in statement.columns:
        if statement.value("ending_cash_balance", column.key) is None or statement.since:
            made.append(table.unknown("lowest_cash", column.key))
            continue
        spans = page_spans(figures, "balance", column)
        ((_, period),) = column.periods
        found = lowest_day(entries, spans, period)
        key = f"{column.key} lowest"
        table.head(key, day_label(found.day))
        made.append(table.sum_of_days("lowest_cash", key, row, [(1, spans[0][1], found.day.isoformat())]))
    table.row("lowest_cash", "Lowest cash at the end of a day", made)


def lowest_in(statement: Statement, entries: PackLines, column_key: str) -> LowestDay | None:
    """Lowest balance of a column; None where balances are not known."""
    figures = statement.figures
    if statement.since or "ending_cash_balance" not in figures.layout.by_key:
        return None
    column = figures.columns.by_key[column_key]
    ((_, period),) = column.periods
    return lowest_day(entries, page_spans(figures, "balance", column), period)
