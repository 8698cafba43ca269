"""Charts of payments: by category and by counterparty."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import pandas as pd

from accounting_analytics.charts.labels import short_labels
from accounting_analytics.charts.marks import (
    MARK_CALL,
    ChartMarks,
    Place,
    Series,
    check_largest,
    day_remarks,
    find_figure,
    period_places,
    unit_text,
)
from accounting_analytics.charts.picture import Picture
from accounting_analytics.charts.style import ACCOUNT_COLOURS, OTHERS_COLOUR, OUTFLOW_COLOUR
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.periods import Period
from accounting_analytics.reports.books.book_lines import LineSource
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, Figure, figure_of_entries
from accounting_analytics.reports.figures.figure_table import MAX_LINES, entries_behind, sums_of, table_of_figures
from accounting_analytics.reports.payees.customers_and_payees import (
    NO_PARTY,
    PARTY,
    TRANSFERRED,
    largest_parties,
    rows_of_parties,
)
from accounting_analytics.reports.statements.statement import ChosenColumn, Statement
from accounting_analytics.reports.statements.table import lines_behind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.reports.figures.figure_table import FigureTable, Rows
    from accounting_analytics.reports.statements.columns import StatementColumn
    from accounting_analytics.reports.statements.statement_figures import StatementFigures

_OTHERS = "others"
_NOTHING_PAID = "Nothing was paid in this period"
_WITHOUT_TRANSFERS = "without transfers between own accounts"
_TITLE = "Paid by category"
_OF_FLOWS = "line entries of entries that touch cash, credits less debits"


def outflows_by_category(statement: Statement, *, largest: int = 6) -> Picture:
    """Stacked bars of the categories with the largest outflows, by column of a cash flow statement.

    Parameters
    ----------
    statement : Statement
        As :func:`~accounting_analytics.cash_flow_statement` returns it. Its periods are the bars.
    largest : int
        How many categories have a colour of their own, at most 6; the others share one.

    Returns
    -------
    Picture
        A category is counted with what came back from it, and drawn if it is an outflow over all columns. A bar is as
        long as its figure, which is negative. Transfers between own accounts are left out.

    Raises
    ------
    InputError
        `statement` is not a cash flow statement, or `largest` is not from 1 to 6.
    """
    flows = _CategoryFlows.of_statement(statement)
    check_largest(largest, len(ACCOUNT_COLOURS))
    categories = flows.largest_outflows(largest)
    series = [
        Series(
            name=label,
            keys=[figure.key for figure in category.figures],
            amounts=[figure.exact() for figure in category.figures],
            colour=OTHERS_COLOUR if place >= largest else ACCOUNT_COLOURS[place],
            number=0 if place >= largest else place,
            factor=-1,
        )
        for place, (category, label) in enumerate(_labelled(categories))
    ]
    return flows.picture("columns", categories, series)


def outflow_heat_map(statement: Statement, *, largest: int = 12) -> Picture:
    """Heat map of the categories with the largest outflows: a row for each, by column of the statement.

    The deeper the colour, the more was paid; the amounts are written in the cells where they have room.

    Parameters
    ----------
    statement : Statement
        As :func:`~accounting_analytics.cash_flow_statement` returns it.
    largest : int
        How many categories have a row of their own; the others share one.

    Returns
    -------
    Picture
        The same categories as in :func:`outflows_by_category`. What came back over a column is a cell without colour.

    Raises
    ------
    InputError
        `statement` is not a cash flow statement, or `largest` is not a positive whole number.
    """
    flows = _CategoryFlows.of_statement(statement)
    check_largest(largest)
    categories = flows.largest_outflows(largest)
    series = []
    for category, label in _labelled(categories):
        amounts = [figure.exact() for figure in category.figures]
        keys = [figure.key for figure in category.figures]
        series.append(Series(name=label, keys=keys, amounts=amounts, colour=OUTFLOW_COLOUR, factor=-1))
    own = [-amount for row in series[:largest] for amount in row.amounts if amount]  # all others would make them pale
    return flows.picture("cells", categories, series, full=max([*own, Decimal(0)]) or Decimal(1))


def top_payees(column: ChosenColumn, *, largest: int = 10) -> Picture:
    """Bars of the payees with the largest payments in a column of a cash flow statement.

    Parameters
    ----------
    column : ChosenColumn
        As ``cash_flow_statement(books).column("2026-05")`` returns it.
    largest : int
        How many payees have a bar of their own; the others share one.

    Returns
    -------
    Picture
        Payees are the counterparties of journal entries, as in :func:`~accounting_analytics.bridge`. Entries that bring
        cash in, such as refunds, and transfers between own accounts are left out. A bar is as long as its figure, which
        is negative.

    Raises
    ------
    InputError
        `column` is not a period of a cash flow statement made from line entries, or `largest` is not a positive whole
        number.
    """
    check_largest(largest)
    payees = _largest_payees(column, largest)
    statement = column.statement
    unit = unit_text(statement.currency)
    ((_, period),) = column.column.periods
    remarks = [*day_remarks(period), "entries that take cash out", _WITHOUT_TRANSFERS]
    amounts = [figure.exact() or Decimal(0) for _, figure in payees]
    series = Series(
        name="Paid",
        keys=[figure.key for _, figure in payees],
        amounts=amounts,
        colour=OUTFLOW_COLOUR,
        factor=-1,
    )
    return Picture.of(
        ChartMarks(
            title="Top payees",
            remarks=remarks,
            unit=unit,
            kind="rows",
            places=[Place(label) for label in short_labels([name for name, _ in payees])],
            series=[series],
            message="" if payees else _NOTHING_PAID,
            amounts_in=statement.amounts_in,
            find=partial(find_figure, [figure for _, figure in payees]),
            table=partial(_payees_table, column, [(name, [figure]) for name, figure in payees], [*remarks, unit]),
        )
    )


def flows_of(statement: Statement) -> StatementFigures:
    """Return the figures of a cash flow statement. Refuse anything else."""
    hint = "pass what cash_flow_statement(...) returns"
    require_type(statement, Statement, "statement", hint)
    figures = statement.figures
    if not any(row.measure == "flow" for row in figures.layout.by_key.values()):
        raise InputError(f"a chart of categories needs a cash flow statement, not {quote(statement.title)}; {hint}")
    return figures


def _days_of_columns(statement: Statement, columns: Sequence[StatementColumn]) -> list[str]:
    """Write the first and last day of columns, and their time zone."""
    ((_, first),), ((_, last),) = columns[0].periods, columns[-1].periods
    return day_remarks(Period(first.start_date, last.end_date, statement.time_zone))


class _Category(NamedTuple):
    """A category: its name, and its flow in each column."""

    name: str
    figures: Sequence[Figure]

    @property
    def units(self) -> int:
        """Sum of the columns whose amounts are known."""
        return sum(int(figure.units or 0) for figure in self.figures)


def _labelled(categories: Sequence[_Category]) -> list[tuple[_Category, str]]:
    return list(zip(categories, short_labels([category.name for category in categories]), strict=True))


@dataclass(frozen=True, eq=False)
class _CategoryFlows:
    """The categories of a statement and its periods."""

    statement: Statement
    columns: Sequence[StatementColumn]
    categories: Sequence[_Category]

    @classmethod
    def of_statement(cls, statement: Statement) -> _CategoryFlows:
        """Read the flows of every ledger except those of transfers."""
        figures = flows_of(statement)
        columns = [column for column in figures.columns.shown if column.kind == "period"]
        made = [
            _Category(row.label.removesuffix(" (own)"), [figures.figure(row.key, column.key) for column in columns])
            for row in figures.flow_rows()
        ]
        return cls(statement, columns, made)

    def largest_outflows(self, largest: int) -> list[_Category]:
        """List the categories with the largest outflows, and all others as one category."""
        paid = sorted(
            (category for category in self.categories if category.units < 0),
            key=lambda category: (category.units, category.figures[0].key),
        )
        own, rest = paid[:largest], paid[largest:]
        if len(rest) <= 1:
            return paid
        by_column = zip(self.columns, zip(*(category.figures for category in rest), strict=True), strict=True)
        others = [self._sum(of_column, column) for column, of_column in by_column]
        return [*own, _Category(f"{len(rest)} other categories", others)]

    def _sum(self, figures: Sequence[Figure], column: StatementColumn) -> Figure:
        """Sum the flows of categories in a column."""
        key, label = f"{_OTHERS}{KEY_SEPARATOR}{column.key}", f"{len(figures)} other categories, {column.label}"
        if unknown := [figure for figure in figures if figure.units is None]:
            return Figure(key, label, None, unknown[0].calculation)
        source = self.statement.figures.source
        units = sum(int(figure.units or 0) for figure in figures)
        selections = [part for figure in figures for part in figure.selections]
        return Figure(
            key,
            label,
            units,
            f"the sum of {_OF_FLOWS}",
            scale=source.scale,
            selections=selections,
            _load_entries=partial(source.entries, selections, units),
        )

    def picture(
        self,
        kind: Literal["columns", "cells"],
        categories: Sequence[_Category],
        series: Sequence[Series],
        full: Decimal = Decimal(1),
    ) -> Picture:
        """Draw the flow of each category in each column."""
        received = sum(category.units > 0 for category in self.categories)
        count = count_of(received, "category")
        unit = unit_text(self.statement.currency)
        remarks = [
            *_days_of_columns(self.statement, self.columns),
            "less what came back",
            _WITHOUT_TRANSFERS,
            *([f"{count} with net inflow not drawn"] if received else []),
        ]
        of_unit = [unit] if kind == "cells" else []  # a heat map has no axis of amounts
        return Picture.of(
            ChartMarks(
                title=_TITLE,
                remarks=[*remarks, *of_unit],
                unit=unit,
                kind=kind,
                places=period_places(self.columns),
                series=series,
                message="" if categories else _NOTHING_PAID,
                full=full,
                amounts_in=self.statement.amounts_in,
                find=partial(self.figure, categories),
                table=partial(self.table, categories, [*remarks, unit]),
            )
        )

    def figure(self, categories: Sequence[_Category], key: str) -> Figure:
        """Find the figure of a category in a column."""
        return find_figure((figure for category in categories for figure in category.figures), key)

    def table(self, categories: Sequence[_Category], subtitle: Sequence[str]) -> FigureTable:
        """Make a table of the drawn categories by column."""
        figures = self.statement.figures
        rows = [
            (column.label, [category.figures[place] for category in categories])
            for place, column in enumerate(self.columns)
        ]
        return _statement_table(figures, _TITLE, subtitle, [category.name for category in categories], rows)


def _statement_table(
    figures: StatementFigures, title: str, subtitle: Sequence[str], heads: Sequence[str], rows: Rows
) -> FigureTable:
    """Make a table of figures that are sums of statement lines."""
    lines = lines_behind(figures, sums_of(rows), MAX_LINES)
    return table_of_figures(
        title, subtitle, heads, rows, lines, scale=figures.source.scale, call=MARK_CALL, name=figures.ledgers.name
    )


_WITHOUT_TEXT = "Without text"


def _largest_payees(column: ChosenColumn, largest: int) -> list[tuple[str, Figure]]:
    """List the payees with the largest payments.

    All others are one payee.
    """
    hint = "pass statement.column(...) of a cash_flow_statement made from line entries"
    require_type(column, ChosenColumn, "column", hint)
    figures = column.statement.figures
    source = figures.source
    if column.column.kind != "period" or not figures.flow_rows() or not isinstance(source, LineSource):
        raise InputError(f"column is not a period of a cash flow statement made from line entries; {hint}")
    lines = figures.cash_side(column.column, -1)
    if lines is None:
        raise InputError(f"the lines of {column.column.label} were not loaded")
    rows = rows_of_parties(lines, source, figures.transfers)
    by_row = {str(row): of_row for row, of_row in lines.groupby(rows) if row != TRANSFERRED}

    def make(key: str, name: str, chosen: pd.DataFrame) -> tuple[str, Figure]:
        label = f"{name}, {column.column.label}"
        return name, figure_of_entries(key, label, chosen, scale=source.scale, calculation=_OF_FLOWS)

    paid = largest_parties(by_row, -1, source.scale)
    own = paid if len(by_row) == len(paid) <= largest + 1 else paid[:largest]
    made = [make(row, row.removeprefix(PARTY), by_row[row]) for row in own]
    if rest := [row for row in by_row if row not in own]:
        name = _WITHOUT_TEXT if rest == [NO_PARTY] else f"{len(rest):,} others"
        others = make(_OTHERS, name, pd.concat([by_row[row] for row in rest]).sort_index())
        made += [others] if (others[1].units or 0) < 0 else []
    return made


def _payees_table(column: ChosenColumn, rows: Rows, subtitle: Sequence[str]) -> FigureTable:
    """Make a table of the drawn payees."""
    figures, lines = column.statement.figures, entries_behind(rows)
    scale, name = figures.source.scale, figures.ledgers.name
    return table_of_figures("Top payees", subtitle, ["Paid"], rows, lines, scale=scale, call=MARK_CALL, name=name)
