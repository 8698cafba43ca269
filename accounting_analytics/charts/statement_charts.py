"""Charts of statements over time: revenues, net income and cash, and the margins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from accounting_analytics.charts.labels import BALANCE_COLOUR, INFLOW_COLOUR, INK
from accounting_analytics.charts.marks import (
    MARK_CALL,
    ChartMarks,
    Series,
    day_remarks,
    find_figure,
    period_place,
    unit_text,
)
from accounting_analytics.charts.plotly_charts import Picture
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import InputError
from accounting_analytics.reports.figures.figure_table import table_of_figures
from accounting_analytics.reports.statements.statement import Statement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.figures.figure_table import FigureTable
    from accounting_analytics.reports.statements.columns import StatementColumn

_WIDE = 2
_COLOURS = (INFLOW_COLOUR, INK, BALANCE_COLOUR)


def trend(income: Statement, cash_flow: Statement | None = None) -> Picture:
    """Lines of operating revenues, net income, and cash at the end of each column, such as the last twelve months.

    Parameters
    ----------
    income : Statement
        As :func:`~accounting_analytics.income_statement` returns it. Its periods are the points.
    cash_flow : Statement, optional
        As :func:`~accounting_analytics.cash_flow_statement` returns it for the same days, of books whose opening is
        known: adds cash at the end.

    Raises
    ------
    InputError
        A statement is of another kind, or the days of the two are not the same.
    """
    columns = _columns_of(income, "net_income", "income_statement")
    rows = {"Operating revenues": income.figures.layout.share_of, "Net income": "net_income"}
    lines = {name: [income.figures.figure(key, one.key) for one in columns] for name, key in rows.items()}
    if cash_flow is not None:
        of_cash = {one.periods: one for one in _columns_of(cash_flow, "net_cash_flow", "cash_flow_statement")}
        if [one.periods for one in columns] != list(of_cash):
            raise InputError("income and cash_flow are of other days: make both with the same days and columns")
        if "ending_cash_balance" not in cash_flow.figures.layout.by_key:
            raise InputError("cash_flow has no balances: load the books since their first entry, or give their opening")
        figures = [cash_flow.figures.figure("ending_cash_balance", one.key) for one in of_cash.values()]
        lines["Cash at the end"] = figures
    unit = unit_text(income.currency)
    return _picture("Revenues, net income and cash" if cash_flow else "Revenues and net income", income, lines, unit)


def margins(income: Statement) -> Picture:
    """Lines of gross margin and net margin, in percent of operating revenues, by column of an income statement.

    Parameters
    ----------
    income : Statement
        As :func:`~accounting_analytics.income_statement` returns it. A period without operating revenues has no point.

    Raises
    ------
    InputError
        `income` is not an income statement.
    """
    columns = _columns_of(income, "net_income", "income_statement")
    rows = {"Gross margin": "gross_margin", "Net margin": "net_margin"}
    lines = {name: [income.figures.figure(key, one.key) for one in columns] for name, key in rows.items()}
    return _picture("Gross and net margin", income, lines, "% of operating revenues", suffix="%")


def _columns_of(statement: Statement, row: str, maker: str) -> list[StatementColumn]:
    """Periods of a statement; one of another kind is refused."""
    hint = f"pass what {maker}(...) returns"
    require_type(statement, Statement, "statement", hint)
    if row not in statement.figures.layout.by_key or statement.figures.rules.of_balances:
        raise InputError(f"this chart does not draw a {statement.title.lower()}; {hint}")
    return [one for one in statement.columns if one.kind == "period"]


def _picture(
    title: str, statement: Statement, lines: Mapping[str, Sequence[Figure]], unit: str, *, suffix: str = ""
) -> Picture:
    """Draw a line for each name, over the periods of a statement."""
    columns = [one for one in statement.columns if one.kind == "period"]
    series = [
        Series(
            name=name,
            keys=[one.key for one in figures],
            amounts=[one.exact() for one in figures],
            colour=_COLOURS[number],
            is_line=True,
            number=number,
            width=_WIDE,
            suffix=suffix,
        )
        for number, (name, figures) in enumerate(lines.items())
    ]
    every = [one for figures in lines.values() for one in figures]
    periods = [period for one in columns for _, period in one.periods]
    remarks = day_remarks(
        min(one.start_date for one in periods), max(one.end_date for one in periods), statement.time_zone
    )

    return Picture.of(
        ChartMarks(
            title=title,
            remarks=remarks,
            unit=unit,
            kind="columns",
            places=[period_place(one) for one in columns],
            series=series,
            message="" if any(one.units is not None for one in every) else "Nothing is known of this period",
            find=partial(find_figure, every),
            table=partial(_table, title, [*remarks, unit], columns, lines, statement.scale),
        )
    )


def _table(
    title: str,
    subtitle: Sequence[str],
    columns: Sequence[StatementColumn],
    lines: Mapping[str, Sequence[Figure]],
    scale: int,
) -> FigureTable:
    """Make the table of the figures: a row for each period."""
    rows = [(column.label, [of_line[at] for of_line in lines.values()]) for at, column in enumerate(columns)]
    return table_of_figures(title, subtitle, list(lines), rows, None, scale=scale, call=MARK_CALL)
