"""Waterfall from a total before, over the steps of a bridge, to the total after."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from accounting_analytics.bridges import Bridge
from accounting_analytics.charts.figure import StepMark, draw_waterfall, ledger_label, titled_figure
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from accounting_analytics.bridges.steps import BridgeStep


_ROW_HEIGHT = 46
"""Enough for a bar and its label above it."""


def bridge(bridge: Bridge) -> go.Figure:
    """Waterfall of a bridge: its total before, its steps in their order, its total after.

    Parameters
    ----------
    bridge : Bridge
        As :func:`~accounting_analytics.bridge` returns it; its `largest` decides how many steps there are.

    Raises
    ------
    InputError
        `bridge` is not a bridge.
    """
    if not isinstance(bridge, Bridge):
        raise InputError(f"bridge must be a Bridge, as bridge() returns it, not {type(bridge).__name__}")

    def mark(key: str, label: str) -> StepMark:
        return StepMark(key, label, bridge[key].exact() or Decimal(0))

    marks = [
        mark("before", ledger_label(bridge.before)),
        *(mark(step.key, _label(step)) for step in bridge.steps),
        mark("after", ledger_label(bridge.after)),
    ]
    figure = titled_figure(bridge.title, f"{bridge.before} to {bridge.after}", f"days in {bridge.time_zone}")
    draw_waterfall(figure, marks, row_height=_ROW_HEIGHT)
    figure.update_layout(waterfallgap=0.5, margin={"l": 20, "r": 20})
    figure.update_yaxes(showticklabels=False, autorange=False, range=[len(marks) - 0.5, -0.75])
    for row, one in enumerate(marks):  # above its bar, where a narrow page has room
        figure.add_annotation(
            x=0, xref="paper", xanchor="left", y=row - 0.4, text=one.label, showarrow=False, font={"size": 12}
        )
    return figure


def _label(step: BridgeStep) -> str:
    """Category, and payee or journal entry."""
    rest = step.label.removeprefix(step.category).removeprefix(": ")
    return ": ".join(ledger_label(one) for one in (step.category, rest) if one)
