"""Bars of periods, stacked from zero, with lines over them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from accounting_analytics.charts.labels import INK
from accounting_analytics.charts.static_pictures.canvas import text_width
from accounting_analytics.charts.static_pictures.sheet import (
    DASHES,
    HATCHES,
    LegendEntry,
    amount_scale,
    draw_amount_axis,
    draw_labels,
    draw_legend,
    labels_at_end,
    labels_of,
    plot_height,
    sizes,
    tick_width,
    unit_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from accounting_analytics.charts.static_pictures.canvas import Canvas

_WIDEST = 46
_GAP = 0.3
_MARKER = 3.5


def draw_bars(canvas: Canvas, figure: go.Figure, top: float) -> float:
    """Draw bars and lines; return where they end."""
    bars = [trace for trace in figure.data if trace.type == "bar"]
    lines = [trace for trace in figure.data if trace.type == "scatter"]
    legend = [LegendEntry(one.name, one.marker.color, "bar", HATCHES[one.marker.pattern.shape or ""]) for one in bars]
    legend += [LegendEntry(one.name, one.line.color, "line", dash=DASHES[one.line.dash or "solid"]) for one in lines]
    top = (draw_legend(canvas, legend, top) if len(legend) > 1 else top) + 22
    first = (*bars, *lines)[0]
    stacks = _stacks([sizes(one.y) for one in bars])
    others = [value for one in lines for value in sizes(one.y) if value is not None]
    ends = [end for stack in stacks for pair in stack for end in pair]
    height = plot_height(canvas)
    scale = amount_scale([*ends, *others], top + height, top, room=0.03)
    suffix = figure.layout.yaxis.ticksuffix or ""
    left = tick_width(scale, suffix) + 8
    draw_amount_axis(canvas, scale, (left, canvas.width), unit_of(figure), suffix)
    count = len(first.customdata)
    place = (canvas.width - left) / count
    half = min(place * (1 - _GAP), _WIDEST) / 2
    middles = [left + place * (at + 0.5) for at in range(count)]
    for trace, stack in zip(bars, stacks, strict=True):
        hatch = HATCHES[trace.marker.pattern.shape or ""]
        for middle, (start, end) in zip(middles, stack, strict=True):
            if start != end:
                sides = (middle - half, middle + half)
                canvas.rectangle(sides, (scale.at(start), scale.at(end)), trace.marker.color, hatch)
    for trace in lines:
        values = list(zip(middles, sizes(trace.y), strict=True))
        for is_known, run in itertools.groupby(values, key=lambda one: one[1] is not None):
            points = [(across, scale.at(value or 0)) for across, value in run]
            if is_known and len(points) > 1:
                canvas.line(points, trace.line.color, 1.5, DASHES[trace.line.dash or "solid"])
        known = [(across, scale.at(value)) for across, value in values if value is not None]
        if known and not bars:
            across, down = known[-1]
            text = labels_at_end(figure)
            middle = min(across, canvas.width - text_width(text, bold=True) / 2)
            canvas.text(middle, down - 9, text, INK, anchor="middle", bold=True)
        for across, down in known if place > 4 * _MARKER else []:
            shape = [(across, down - _MARKER), (across + _MARKER, down), (across, down + _MARKER)]
            canvas.polygon([*shape, (across - _MARKER, down)], trace.line.color)
    return draw_labels(canvas, labels_of(first), middles, top + height + 18)


def _stacks(amounts: Sequence[Sequence[float | None]]) -> list[list[tuple[float, float]]]:
    """Start and end of each bar: those above and below zero are stacked apart."""
    count = len(amounts[0]) if amounts else 0
    above, below = [0.0] * count, [0.0] * count
    stacks = []
    for series in amounts:
        stack = []
        for at, value in enumerate(series):
            ends = above if (value or 0) >= 0 else below
            stack.append((ends[at], ends[at] + (value or 0)))
            ends[at] += value or 0
        stacks.append(stack)
    return stacks
