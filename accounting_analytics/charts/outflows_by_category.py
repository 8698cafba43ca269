"""Stacked bars of what was paid by category and period."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from accounting_analytics.charts.category_flows import CategoryFlows, column_days
from accounting_analytics.charts.colours import ACCOUNT_COLOURS, GROUND, OTHERS_COLOUR, PATTERNS, pattern
from accounting_analytics.charts.column_axis import draw_column_axis
from accounting_analytics.charts.figure import (
    add_message,
    day_remarks,
    mark_data,
    mark_sizes,
    table_subtitle,
    titled_figure,
    unit_text,
)
from accounting_analytics.charts.labels import escaped
from accounting_analytics.charts.mark_table import MarkTableBuilder
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.charts.category_flows import FlowCategory
    from accounting_analytics.charts.picture import Picture
    from accounting_analytics.figure_tables import FigureTable
    from accounting_analytics.statements import Statement

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
