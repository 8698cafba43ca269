"""Waterfall from a total before, over the steps of a bridge, to the total after."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from accounting_analytics.bridges import Bridge
from accounting_analytics.charts.figure import titled_figure, unit_text
from accounting_analytics.charts.labels import escaped
from accounting_analytics.charts.steps import StepMark, draw_waterfall
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    import plotly.graph_objects as go


def bridge(bridge: Bridge, *, currency: str | None = None) -> go.Figure:
    """Waterfall of a bridge: its total before, its steps in their order, its total after.

    Parameters
    ----------
    bridge : Bridge
        As :func:`~accounting_analytics.bridge` returns it; its `largest` decides how many steps there are.
    currency : str, optional
        Written at the axis.

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
        mark("before", bridge.before),
        *(mark(step.key, step.label) for step in bridge.steps),
        mark("after", bridge.after),
    ]
    days = f"{escaped(bridge.before)} to {escaped(bridge.after)}"
    figure = titled_figure(bridge.title, days, f"days in {bridge.time_zone}")
    draw_waterfall(figure, marks, unit=unit_text(currency))
    return figure
