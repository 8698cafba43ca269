"""Charts of statements over time: revenues, net income and cash, and the margins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.charts.marks import (
    MARK_CALL,
    ChartMarks,
    Series,
    day_remarks,
    find_figure,
    period_places,
    unit_text,
)
from accounting_analytics.charts.picture import Picture
from accounting_analytics.charts.style import BALANCE_COLOUR, INFLOW_COLOUR, INK, THICK_LINE, THIN_LINE
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.periods import Period
from accounting_analytics.reports.figures.figure_table import table_of_figures
from accounting_analytics.reports.statements.statement import Statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.figures.figure_table import FigureTable
    from accounting_analytics.reports.statements.columns import StatementColumn

_COMPARED = {"prior": ("period before", 1), "prior_year": ("year before", 1), "budget": ("budget", 2)}
"""Comparisons that are drawn beside the chart line that they are compared with: name, and number of the dashes."""
_BESIDE_BUDGETS = ("difference", "difference_pct")


def trend(income: Statement, cash_flow: Statement | None = None) -> Picture:
    """Lines of operating revenues, net income, and cash at the end of each column, such as the last twelve months.

    Columns of a period or year before are dashed lines, and those of a budget dotted ones, without a point where the
    budget has no amounts; other comparisons are not drawn, and the chart says so.

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
    lines = [
        *_lines_of(income, "Operating revenues", income.figures.layout.share_of, INFLOW_COLOUR),
        *_lines_of(income, "Net income", "net_income", INK),
    ]
    if cash_flow is not None:
        of_cash = _columns_of(cash_flow, "net_cash_flow", "cash_flow_statement")
        if [column.periods for column in columns] != [column.periods for column in of_cash]:
            raise InputError("income and cash_flow are of other days: make both with the same days and columns")
        if "ending_cash_balance" not in cash_flow.figures.layout.by_key:
            raise InputError("cash_flow has no balances: load the books since their first entry, or give their opening")
        lines += _lines_of(cash_flow, "Cash at the end", "ending_cash_balance", BALANCE_COLOUR)
    unit = unit_text(income.currency)
    return _picture("Revenues, net income and cash" if cash_flow else "Revenues and net income", income, lines, unit)


def margins(income: Statement) -> Picture:
    """Lines of gross margin and net margin, in percent of operating revenues, by column of an income statement.

    Columns of a period or year before are dashed lines, and those of a budget dotted ones; other comparisons are not
    drawn, and the chart says so.

    Parameters
    ----------
    income : Statement
        As :func:`~accounting_analytics.income_statement` returns it. A period without operating revenues has no point.

    Raises
    ------
    InputError
        `income` is not an income statement.
    """
    _columns_of(income, "net_income", "income_statement")
    lines = [
        *_lines_of(income, "Gross margin", "gross_margin", INFLOW_COLOUR),
        *_lines_of(income, "Net margin", "net_margin", INK),
    ]
    return _picture("Gross and net margin", income, lines, "% of operating revenues", suffix="%")


def _columns_of(statement: Statement, row: str, maker: str) -> list[StatementColumn]:
    """Return the period columns of a statement. Refuse a statement of another kind."""
    hint = f"pass what {maker}(...) returns"
    require_type(statement, Statement, "statement", hint)
    if row not in statement.figures.layout.by_key or statement.figures.rules.of_balances:
        raise InputError(f"this chart does not draw a {statement.title.lower()}; {hint}")
    return [column for column in statement.columns if column.kind == "period"]


class _Line(NamedTuple):
    """A chart line. `number` is the number of its dashes, or 0 if it is not a comparison."""

    name: str
    figures: Sequence[Figure]
    colour: str
    number: int = 0


def _lines_of(statement: Statement, name: str, row: str, colour: str) -> list[_Line]:
    """Make the chart line of a row, and of each comparison."""
    lines = []
    for kind in ("period", *_COMPARED):
        columns = [column for column in statement.columns if column.kind == kind and column.of != "total"]
        figures = [statement.figures.figure(row, column.key) for column in columns]
        if any(figure.kind != "none" for figure in figures):
            compared, number = _COMPARED.get(kind, ("", 0))
            lines.append(_Line(", ".join(filter(None, [name, compared])), figures, colour, number))
    return lines


def _picture(title: str, statement: Statement, lines: Sequence[_Line], unit: str, *, suffix: str = "") -> Picture:
    """Draw chart lines over the periods of a statement."""
    columns = [column for column in statement.columns if column.kind == "period"]
    series = [
        Series(
            name=line.name,
            keys=[figure.key for figure in line.figures],
            amounts=[figure.exact() for figure in line.figures],
            colour=line.colour,
            is_line=True,
            number=line.number,
            width=THIN_LINE if line.number else THICK_LINE,
            suffix=suffix,
        )
        for line in lines
    ]
    every = [figure for line in lines for figure in line.figures]
    periods = [period for column in columns for _, period in column.periods]
    first, last = min(period.start_date for period in periods), max(period.end_date for period in periods)
    drawn = {"period", *_COMPARED, *_BESIDE_BUDGETS}
    others = dict.fromkeys(column.kind for column in statement.columns if column.kind not in drawn)
    not_drawn = [f"not drawn: {', '.join(kind.replace('_', ' ') for kind in others)}"] if others else []
    remarks = [*day_remarks(Period(first, last, statement.time_zone)), *not_drawn]
    return Picture.of(
        ChartMarks(
            title=title,
            remarks=remarks,
            unit=unit,
            kind="columns",
            places=period_places(columns),
            series=series,
            amounts_in=statement.amounts_in,
            message="" if any(figure.units is not None for figure in every) else "Nothing is known of this period",
            find=partial(find_figure, every),
            table=partial(_table, title, [*remarks, unit], columns, lines, statement.scale),
        )
    )


def _table(
    title: str, subtitle: Sequence[str], columns: Sequence[StatementColumn], lines: Sequence[_Line], scale: int
) -> FigureTable:
    """Make the table of the figures, with a row for each period."""
    rows = [(column.label, [line.figures[at] for line in lines]) for at, column in enumerate(columns)]
    heads = [line.name for line in lines]
    return table_of_figures(title, subtitle, heads, rows, None, scale=scale, call=MARK_CALL)
