"""Line of the share of cash in and out that has no category yet."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from functools import partial
from typing import TYPE_CHECKING

from accounting_analytics.charts.category_charts import column_days, figures_of, flow_lines, flow_rows
from accounting_analytics.charts.figure import add_message, day_remarks, table_subtitle, titled_figure, unit_text
from accounting_analytics.charts.labels import INK, OUTFLOW_COLOUR
from accounting_analytics.charts.mark_table import MAX_LINES, MarkTableBuilder
from accounting_analytics.charts.time_axis import draw_column_axis
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR, Figure
from accounting_analytics.messages import quote
from accounting_analytics.money import EXACT, exact_sum, to_minor_units

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from accounting_analytics.charts.figure import Picture
    from accounting_analytics.charts.mark_table import TableLine
    from accounting_analytics.figure_tables import FigureTable
    from accounting_analytics.statements import Statement
    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.rows import Row
    from accounting_analytics.statements.statement_figures import StatementFigures

_SHARE, _UNCATEGORIZED, _ALL = "uncategorized_share", "uncategorized", "in_and_out"
_NAMES = {_UNCATEGORIZED: "Uncategorized", _ALL: "All categories"}
_TITLE = "Share without a category"
_DIGITS = Decimal("0.1")
_ROOM = 1.18
"""Height of the axis, as a multiple of the largest share."""


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Cash in and out of a column by category, without signs: of the uncategorized ledgers, and of all."""

    figures: StatementFigures
    column: StatementColumn
    rows: Sequence[Row]

    def signed(self, key: str) -> list[tuple[int, Row]]:
        """Rows that a sum counts, each with the factor that makes it positive."""
        rows = [one for one in self.rows if key == _ALL or one.section == _UNCATEGORIZED]
        return [(-1 if self.figures.units(one, self.column) < 0 else 1, one) for one in rows]

    def amount(self, key: str) -> Decimal | None:
        """Sum of the rows without their signs; None where one is not known."""
        values = [self.figures.figure(row.key, self.column.key).exact() for _, row in self.signed(key)]
        return None if None in values else exact_sum(abs(one) for one in values if one is not None)

    def share(self) -> Decimal | None:
        """Percent without a category; None where nothing is known or no cash moved."""
        part, whole = self.amount(_UNCATEGORIZED), self.amount(_ALL)
        if part is None or not whole:
            return None
        with localcontext(EXACT) as context:
            context.clear_traps()
            return (100 * part / whole).quantize(_DIGITS, ROUND_HALF_EVEN)

    def figure(self, key: str) -> Figure:
        """Figure of a sum, whose entries have the sign that it counts them with; or of the share."""
        name = f"{key}{KEY_SEPARATOR}{self.column.key}"
        if key == _SHARE:
            share = self.share()
            terms = (self.figure(_UNCATEGORIZED), self.figure(_ALL))
            made_of = (
                "percent of cash in and out, each category without its sign" if share is not None else "no cash moved"
            )
            return Figure(
                name,
                f"{_TITLE}, {self.column.label}",
                share,
                made_of,
                terms,
                ("+", "/"),
                "share",
                as_decimals=self.figures.source.as_decimals,
            )
        exact = self.amount(key)
        label = f"{_NAMES[key]}, in and out, {self.column.label}"
        if exact is None:
            return Figure(name, label, None, "lines of these days were not loaded")
        parts = [
            part._replace(factor=sign * part.factor)
            for sign, row in self.signed(key)
            for part in self.figures.selections(row, self.column)
        ]
        source = self.figures.source
        units = to_minor_units(exact, source.scale)
        return Figure(
            name,
            label,
            units,
            "the sum of line entries",
            scale=source.scale,
            as_decimals=source.as_decimals,
            _load_entries=partial(source.entries, parts, units) if parts else None,
        )

    def lines(self) -> list[TableLine] | None:
        """Lines of the column, with the sign that they are counted with."""
        signs = {ledger_id: sign for sign, row in self.signed(_ALL) for ledger_id in row.ledger_ids}
        spans = [span for _, span in self.figures.spans("flow", self.column) if span not in self.figures.unknown]
        found = flow_lines(self.figures, self.rows, spans)
        if found is None:
            return None
        days = column_days(self.column)
        return [
            one._replace(series=(one.series[0], self.column.key), units=signs[one.series[0]] * one.units)
            for one in found
            if days[0] <= one.day <= days[1]
        ]


def uncategorized_share(statement: Statement) -> Picture:
    """Line of the share of cash in and out that has no category, by column of a cash flow statement.

    Parameters
    ----------
    statement : Statement
        As :func:`~accounting_analytics.cash_flow_statement` returns it. Its periods are the points.

    Returns
    -------
    Picture
        The uncategorized inflow and outflow of a period, in percent of the net flows of all categories, each without
        its sign. A period in which no cash moved has no point. Transfers between own accounts are left out.

    Raises
    ------
    InputError
        `statement` is not a cash flow statement.
    """
    figures = figures_of(statement, "a chart of categories")
    columns = [one for one in statement.columns if one.kind == "period"]
    rows = flow_rows(figures)
    sizes = [_Sizes(figures, column, rows) for column in columns]
    shares = [one.share() for one in sizes]
    first, last = (column_days(columns[at])[at] for at in (0, -1))
    remarks = [*day_remarks(first, last, statement.time_zone), "without transfers between own accounts"]
    if not any(one.section == _UNCATEGORIZED for one in rows):
        remarks.append("no uncategorized ledger in the statement")
    figure = titled_figure(_TITLE, *remarks)
    figure.add_scatter(
        x=list(range(len(columns))),
        y=[None if one is None else float(one) for one in shares],
        name="Without a category",
        mode="lines+markers",
        line={"color": OUTFLOW_COLOUR, "width": 2},
        marker={"size": 8, "color": OUTFLOW_COLOUR},
        connectgaps=False,
        customdata=[
            [f"{_SHARE}{KEY_SEPARATOR}{column.key}", column.label, "no cash moved" if share is None else f"{share}%"]
            for column, share in zip(columns, shares, strict=True)
        ],
        hovertemplate="%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
    )
    draw_column_axis(figure, columns)
    known = [(place, share) for place, share in enumerate(shares) if share is not None]
    most = max((float(share) for _, share in known), default=0.0) or 1.0
    figure.update_layout(showlegend=False, margin={"t": figure.layout.margin.t - 10})
    figure.update_yaxes(range=[0, most * _ROOM], ticksuffix="%", title={"text": "% of cash in and out"})
    if known:
        place, share = known[-1]
        anchor = "right" if place > len(columns) / 2 else "left"
        font = {"size": 12, "color": INK}
        figure.add_annotation(
            x=place, y=float(share), text=f"{share}%", xanchor=anchor, yshift=14, showarrow=False, font=font
        )
    else:
        add_message(figure, "No cash moved in this period")
    table = _table(sizes, table_subtitle(figure, unit_text(statement.currency)), figures.source.scale)
    return figure.with_marks(table, partial(_figure, sizes))


def _figure(sizes: Sequence[_Sizes], key: str) -> Figure:
    """Figure of a mark, or of one of its terms."""
    name, _, column = key.rpartition(KEY_SEPARATOR)
    found = [one for one in sizes if one.column.key == column]
    if name not in {_SHARE, *_NAMES} or not found:
        raise InputError(f"no mark of the chart has the key {quote(key)}")
    return found[0].figure(name)


def _table(sizes: Sequence[_Sizes], subtitle: str, scale: int) -> FigureTable:
    """Make the table of the shares, and of what they are shares of."""
    by_column = [one.lines() for one in sizes]
    lines = None if None in by_column else [line for of_column in by_column for line in of_column or []]
    table = MarkTableBuilder([*_NAMES.values(), "Share"], lines if len(lines or []) <= MAX_LINES else None, scale)
    for one in sizes:
        amounts = {key: one.amount(key) for key in _NAMES}

        def series(key: str, one: _Sizes = one) -> Collection[tuple[str, str]]:
            return [(ledger_id, one.column.key) for _, row in one.signed(key) for ledger_id in row.ledger_ids]

        cells = [
            table.sum(f"{key}{KEY_SEPARATOR}{one.column.key}", amounts[key], series(key), column_days(one.column))
            for key in _NAMES
        ]
        share = one.share()
        terms = [(sign, label, cell.text) for sign, label, cell in zip("+/", _NAMES.values(), cells, strict=True)]
        text = "no cash moved" if share is None else f"{share}%"
        key = f"{_SHARE}{KEY_SEPARATOR}{one.column.key}"
        cells.append(table.derived(key, text, terms))
        table.row(one.column.label, cells)
    return table.build(_TITLE, subtitle)
