"""Outflows by category and column: stacked bars, and a heat map."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.arguments import require_type
from accounting_analytics.charts.figure import (
    add_message,
    day_remarks,
    mark_data,
    mark_sizes,
    table_subtitle,
    titled_figure,
    unit_text,
)
from accounting_analytics.charts.labels import (
    ACCOUNT_COLOURS,
    GROUND,
    INK,
    OTHERS_COLOUR,
    OUTFLOW_COLOUR,
    PATTERNS,
    cell_opacity,
    compact_amount,
    escaped,
    pattern,
    short_labels,
)
from accounting_analytics.charts.mark_table import MAX_LINES, MarkTableBuilder, TableLine
from accounting_analytics.charts.time_axis import draw_column_axis
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR, Figure
from accounting_analytics.messages import quote
from accounting_analytics.money import exact_sum, format_amount
from accounting_analytics.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.charts.figure import Picture
    from accounting_analytics.figure_tables import FigureTable
    from accounting_analytics.selections import Span
    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.rows import Row
    from accounting_analytics.statements.statement_figures import StatementFigures


TRANSFERS = "transfers"
"""Section of transfers between own accounts, which are neither in nor out."""
_OTHERS = "others"


class FlowCategory(NamedTuple):
    """A category: its key, its name, the rows of the statement that it sums, and its flow in each column."""

    key: str
    name: str
    rows: Sequence[Row]
    amounts: Sequence[Decimal | None]

    @property
    def total(self) -> Decimal:
        """Sum over the columns whose amounts are known."""
        return exact_sum(one for one in self.amounts if one is not None)


class CategoryFlows(NamedTuple):
    """The categories of a statement and its periods."""

    figures: StatementFigures
    columns: Sequence[StatementColumn]
    categories: Sequence[FlowCategory]

    @classmethod
    def of_statement(cls, statement: Statement, chart: str) -> CategoryFlows:
        """Read the own flows of every ledger, but of transfers between own accounts."""
        figures = figures_of(statement, chart)
        columns = [one for one in statement.columns if one.kind == "period"]
        rows = flow_rows(figures)
        made = [
            FlowCategory(
                row.key,
                row.label.removesuffix(" (own)"),
                [row],
                [figures.figure(row.key, one.key).exact() for one in columns],
            )
            for row in rows
        ]
        return cls(figures, columns, made)

    def largest_outflows(self, largest: int) -> list[FlowCategory]:
        """Categories with a net outflow, the largest first, and one for all others of them."""
        check_largest(largest)
        paid = sorted((one for one in self.categories if one.total < 0), key=lambda one: (one.total, one.key))
        own, rest = paid[:largest], paid[largest:]
        if len(rest) > 1:
            sums = [
                None if None in amounts else exact_sum(one for one in amounts if one is not None)
                for amounts in zip(*(one.amounts for one in rest), strict=True)
            ]
            name = f"{len(rest)} other categories"
            own.append(FlowCategory(_OTHERS, name, [row for one in rest for row in one.rows], sums))
        else:
            own += rest
        return own

    def labels(self, categories: Sequence[FlowCategory]) -> list[str]:
        """Names of categories, short and different."""
        return short_labels([one.name for one in categories])

    def figure(self, categories: Sequence[FlowCategory], key: str) -> Figure:
        """Figure of a category in a column, whose entries are those of its ledgers."""
        name, _, column_key = key.rpartition(KEY_SEPARATOR)
        found = [one for one in categories if one.key == name]
        column = self.figures.columns.by_key.get(column_key)
        if not found or column is None:
            raise InputError(f"no mark of the chart has the key {quote(key)}")
        (category,) = found
        exact = category.amounts[[one.key for one in self.columns].index(column_key)]
        if exact is None:
            return self.figures.figure(category.rows[0].key, column_key)
        parts = [part for row in category.rows for part in self.figures.selections(row, column)]
        units = sum(self.figures.units(row, column) for row in category.rows)
        source = self.figures.source
        return Figure(
            key,
            f"{category.name}, {column.label}",
            units,
            "the sum of line entries of entries that touch cash, credits less debits",
            scale=source.scale,
            as_decimals=source.as_decimals,
            _load_entries=partial(source.entries, parts, units),
        )

    def lines(self, categories: Sequence[FlowCategory]) -> list[TableLine] | None:
        """Lines behind categories, for a table of marks."""
        rows = [row for one in categories for row in one.rows]
        spans = [span for column in self.columns for _, span in self.figures.spans("flow", column)]
        known = [one for one in spans if one not in self.figures.unknown and not one.is_empty]
        return flow_lines(self.figures, rows, known)


def figures_of(statement: Statement, chart: str) -> StatementFigures:
    """Figures of a cash flow statement; any other argument is refused."""
    hint = "pass what cash_flow_statement(...) returns"
    require_type(statement, Statement, "statement", hint)
    figures = statement.figures
    if not any(row.measure == "flow" for row in figures.layout.by_key.values()):
        raise InputError(f"{chart} needs a cash flow statement, not {quote(statement.title)}; {hint}")
    return figures


def check_largest(largest: int) -> None:
    """Refuse a count that is not a positive whole number."""
    if not isinstance(largest, int) or largest < 1:
        raise InputError(f"largest must be a whole number of at least 1, not {quote(largest)}")


def flow_rows(figures: StatementFigures) -> list[Row]:
    """Own flows of ledgers, but of transfers between own accounts."""
    rows = figures.layout.by_key.values()
    return [one for one in rows if one.measure == "flow" and figures.is_own(one) and one.section != TRANSFERS]


def flow_lines(figures: StatementFigures, rows: Sequence[Row], spans: Sequence[Span]) -> list[TableLine] | None:
    """Cash flow lines of rows, positive into cash; None if a page cannot carry them."""
    ledger_ids = {ledger_id for row in rows for ledger_id in row.ledger_ids}
    if not spans or not ledger_ids:
        return []
    found = figures.source.shown_lines(spans, ledger_ids, figures.ledgers, MAX_LINES)
    if found is None:
        return None
    return [
        TableLine(
            (line.ledger_id, "in" if line.units < 0 else "out"),
            figures.ledgers.name(line.ledger_id),
            line.day,
            line.description,
            line.opposing,
            -line.units,
        )
        for line in found
        if line.is_flow
    ]


def column_days(column: StatementColumn) -> tuple[str, str]:
    """First and last day of a column."""
    ((_, period),) = column.periods
    return period.start_date.isoformat(), period.end_date.isoformat()


_GAP, _WIDEST_BAR = 0.25, 0.12
TITLE = "Paid by category"


def outflows_by_category(statement: Statement, *, largest: int = 6) -> Picture:
    """Stacked bars of the categories that most was paid for, by column of a cash flow statement.

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
    flows = CategoryFlows.of_statement(statement, "a chart of categories")
    categories = flows.largest_outflows(largest)
    if largest > len(ACCOUNT_COLOURS):
        raise InputError(f"largest must be at most {len(ACCOUNT_COLOURS)}, as many as there are colours, not {largest}")
    figure = titled_figure(TITLE, *remarks(flows, statement))
    labels = flows.labels(categories)
    for place, (category, label) in enumerate(zip(categories, labels, strict=True)):
        is_rest = place >= largest
        colour = OTHERS_COLOUR if is_rest else ACCOUNT_COLOURS[place]
        shape = "" if is_rest else PATTERNS[place]
        keys = [f"{category.key}{KEY_SEPARATOR}{column.key}" for column in flows.columns]
        paid = [None if one is None else one.copy_negate() + 0 for one in category.amounts]
        data = mark_data(keys, [column.label for column in flows.columns], category.amounts)
        figure.add_bar(
            x=list(range(len(flows.columns))),
            y=mark_sizes(paid),
            name=escaped(label),
            marker={"color": colour, "pattern": pattern(shape), "line": {"color": GROUND, "width": 0.5}},
            **{**data, "hovertemplate": f"{escaped(label)}, %{{customdata[1]}}<br>%{{customdata[2]}}<extra></extra>"},
        )
    draw_column_axis(figure, flows.columns)
    gap = max(_GAP, 1 - len(flows.columns) * _WIDEST_BAR)
    rows_of_legend = len(categories) * 20
    figure.update_layout(
        barmode="relative",
        bargap=gap,
        showlegend=True,
        legend={"orientation": "v", "y": -0.16, "yanchor": "top", "traceorder": "normal"},
        height=440 + rows_of_legend,
        margin={"t": figure.layout.margin.t - 20},
    )
    figure.update_yaxes(title_text=unit_text(statement.currency))
    if not categories:
        add_message(figure, "Nothing was paid in this period")
        figure.update_layout(showlegend=False)
        figure.update_yaxes(range=[0, 1], showticklabels=False)
    table = categories_table(flows, categories, table_subtitle(figure, unit_text(statement.currency)))
    return figure.with_marks(table, partial(flows.figure, categories))


def remarks(flows: CategoryFlows, statement: Statement) -> list[str]:
    """Days, and what is left out of a chart of outflows."""
    received = sum(one.total > 0 for one in flows.categories)
    first, last = (column_days(flows.columns[at])[at] for at in (0, -1))
    return [
        *day_remarks(first, last, statement.time_zone),
        "less what came back",
        "without transfers between own accounts",
        *([f"{received} categor{'y' if received == 1 else 'ies'} with net inflow not drawn"] if received else []),
    ]


def categories_table(flows: CategoryFlows, categories: Sequence[FlowCategory], subtitle: str) -> FigureTable:
    """Make the table of the categories: a row for each column of the statement, as it is drawn."""
    names = [one.name for one in categories]
    table = MarkTableBuilder(names, flows.lines(categories), flows.figures.source.scale)
    ledgers = [{ledger_id for row in one.rows for ledger_id in row.ledger_ids} for one in categories]
    of_category = [[one for one in table.series if one[0] in ids] for ids in ledgers]
    for place, column in enumerate(flows.columns):
        cells = [
            table.sum(
                f"{category.key}{KEY_SEPARATOR}{column.key}", category.amounts[place], series, column_days(column)
            )
            for category, series in zip(categories, of_category, strict=True)
        ]
        table.row(column.label, cells)
    return table.build(TITLE, subtitle)


_MAX_LEVEL, _MAX_UPRIGHT = 9, 30
"""Columns up to which amounts are written level, and upright, in their cells."""
_LABEL_HEIGHT, _ROW_HEIGHT, _UPRIGHT_HEIGHT = 22, 24, 42


def outflow_heat_map(statement: Statement, *, largest: int = 12) -> Picture:
    """Heat map of the categories that most was paid for: a row for each, a column for each of the statement.

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
    flows = CategoryFlows.of_statement(statement, "a chart of categories")
    categories = flows.largest_outflows(largest)
    figure = titled_figure(TITLE, *remarks(flows, statement), unit_text(statement.currency))
    labels = flows.labels(categories)
    paid = [[None if one is None else one.copy_negate() + 0 for one in category.amounts] for category in categories]
    own = paid[:largest]  # all others together would make these pale
    most = max((one for row in own for one in row if one is not None), default=Decimal(0)) or Decimal(1)
    count = len(flows.columns)
    if categories:
        figure.add_heatmap(
            x=list(range(count)),
            y=list(range(len(categories))),
            z=[mark_sizes(row) for row in paid],
            zmin=0,
            zmax=float(most),
            colorscale=[[0, _colour(0.0)], [1, _colour(1.0)]],
            showscale=False,
            xgap=1,
            ygap=_LABEL_HEIGHT,
            customdata=[
                [
                    [
                        f"{category.key}{KEY_SEPARATOR}{column.key}",
                        f"{escaped(label)}, {column.label}",
                        "not known" if amount is None else format_amount(amount),
                    ]
                    for column, amount in zip(flows.columns, category.amounts, strict=True)
                ]
                for category, label in zip(categories, labels, strict=True)
            ],
            hovertemplate="%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
        )
    texts: list[dict[str, Any]] = []
    for y, (label, row) in enumerate(zip(labels, paid, strict=True)):
        at = {"x": 0, "xref": "paper", "xanchor": "left", "y": y - 0.5, "yanchor": "middle"}
        texts.append({"text": escaped(label), "showarrow": False, "borderpad": 0, "font": {"color": INK}, **at})
        texts += [
            {
                "x": x,
                "y": y,
                "text": "?" if amount is None else compact_amount(amount) if amount else "",
                "textangle": 0 if count <= _MAX_LEVEL else -90,
                "showarrow": False,
                "name": "amount",
                "font": {"size": 11, "color": INK},
            }
            for x, amount in enumerate(row if count <= _MAX_UPRIGHT else [])
        ]
    figure.update_layout(annotations=texts)  # all together: Plotly copies those that are there for each that is added
    draw_column_axis(figure, flows.columns)
    figure.update_yaxes(visible=False, range=[len(categories) - 0.5, -0.8], fixedrange=True)
    height = _LABEL_HEIGHT + (_ROW_HEIGHT if count <= _MAX_LEVEL or count > _MAX_UPRIGHT else _UPRIGHT_HEIGHT)
    top = figure.layout.margin.t - 20
    figure.update_layout(height=top + 60 + height * max(len(categories), 2), margin={"t": top})
    if not categories:
        add_message(figure, "Nothing was paid in this period")
    table = categories_table(flows, categories, table_subtitle(figure, unit_text(statement.currency)))
    return figure.with_marks(table, partial(flows.figure, categories))


def _colour(part: float) -> str:
    """Colour of a share of the most: nothing of it on the ground, so that it suits light and dark pages."""
    channels = (int(OUTFLOW_COLOUR[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({','.join(map(str, channels))},{cell_opacity(part)})"
