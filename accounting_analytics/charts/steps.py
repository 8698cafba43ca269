"""Rows of a waterfall: the bars from a first amount, over steps, to the last one."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.charts.figure import mark_data, mark_sizes
from accounting_analytics.charts.labels import (
    BALANCE_COLOUR,
    GROUND,
    INFLOW_COLOUR,
    INK,
    MUTED,
    OUTFLOW_COLOUR,
    RULE,
    amount_label,
    escaped,
    short_labels,
)
from accounting_analytics.money import EXACT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

_ROW_HEIGHT = 42
_STEP_MARGIN = 0.02


class StepMark(NamedTuple):
    """A bar of a waterfall: the key of its figure, its label, and its amount."""

    key: str
    label: str
    amount: Decimal


def draw_waterfall(figure: go.Figure, marks: Sequence[StepMark], *, unit: str) -> None:
    """Draw bars from the first mark, over those between, to the last one, which they sum to.

    Name and amount of a bar are above it, where they have room on a narrow page and cover neither bar nor each other.
    """
    amounts = [mark.amount for mark in marks]
    labels = [escaped(label) for label in short_labels([mark.label for mark in marks])]
    texts = [
        amount_label(amounts[0]),
        *(amount_label(amount, sign=True) for amount in amounts[1:-1]),
        amount_label(amounts[-1]),
    ]
    positions = list(range(len(marks)))
    figure.add_waterfall(
        orientation="h",
        y=positions,
        x=mark_sizes(amounts),
        measure=["absolute", *["relative"] * (len(marks) - 2), "total"],
        text=texts,
        textposition="none",
        increasing={"marker": {"color": INFLOW_COLOUR}},
        decreasing={"marker": {"color": OUTFLOW_COLOUR}},
        totals={"marker": {"color": BALANCE_COLOUR}},
        connector={"line": {"color": MUTED, "width": 1, "dash": "dot"}},
        **mark_data([mark.key for mark in marks], labels, amounts),
    )
    for position, label, text in zip(positions, labels, texts, strict=True):
        figure.add_annotation(
            x=0,
            xref="paper",
            xanchor="left",
            y=position - 0.5,
            yanchor="middle",
            text=f"{label}  <b>{text}</b>",
            showarrow=False,
            font={"size": 12, "color": INK},
            bgcolor=GROUND,
            borderpad=0,
        )
    top = figure.layout.margin.t
    figure.update_layout(
        showlegend=False, waterfallgap=0.55, height=top + 60 + _ROW_HEIGHT * len(marks), margin={"b": 60}
    )
    bottom = len(marks) - 0.5
    figure.update_yaxes(visible=False, range=[bottom, -0.85], showgrid=False, zeroline=False, fixedrange=True)
    figure.update_xaxes(
        showgrid=True, gridcolor=RULE, zeroline=True, range=step_range(amounts[:-1]), nticks=5, title={"text": unit}
    )


def step_range(changes: Sequence[Decimal]) -> list[float]:
    """Range of all sums along the steps."""
    with localcontext(EXACT):
        sums = [float(one) for one in [Decimal(0), *itertools.accumulate(changes)]]
    margin = (max(sums) - min(sums)) * _STEP_MARGIN or 1.0
    return [min(sums) - margin, max(sums) + margin]
