"""Heat map of what was paid by category and period."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from accounting_analytics.charts.category_flows import CategoryFlows
from accounting_analytics.charts.colours import INK, OUTFLOW_COLOUR, cell_opacity
from accounting_analytics.charts.column_axis import draw_column_axis
from accounting_analytics.charts.figure import add_message, mark_sizes, table_subtitle, titled_figure, unit_text
from accounting_analytics.charts.labels import compact_amount, escaped
from accounting_analytics.charts.outflows_by_category import TITLE, categories_table, remarks
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.money import format_amount

if TYPE_CHECKING:
    from accounting_analytics.charts.picture import Picture
    from accounting_analytics.statements import Statement

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
