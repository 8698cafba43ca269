"""Waterfalls: rows of bars, each of which begins where the one before ends."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from accounting_analytics.charts.labels import INK, MUTED, RULE
from accounting_analytics.charts.static_pictures.canvas import SMALL, Canvas, fitted, text_width
from accounting_analytics.charts.static_pictures.rows import BAR, row_places
from accounting_analytics.charts.static_pictures.sheet import (
    amount_scale,
    labels_of,
    plain,
    sizes,
    tick_text,
    unit_of,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


def draw_waterfall(canvas: Canvas, figure: go.Figure, top: float) -> float:
    """Draw a waterfall; return where it ends."""
    (trace,) = figure.data
    amounts = [value or 0.0 for value in sizes(trace.x)]
    labels, texts = labels_of(trace), [plain(text) for text in trace.text]
    sums = [0.0, *itertools.accumulate(amounts[:-1])]
    places = row_places(canvas, labels, texts, top)
    scale = amount_scale(sums, places.left, places.right)
    for tick in scale.ticks if places.is_wide else []:
        across = scale.at(tick)
        canvas.line([(across, top), (across, places.bottom)], RULE if tick else MUTED)
    previous = 0.0
    for number, (amount, label, text) in enumerate(zip(amounts, labels, texts, strict=True)):
        bar_top = places.bar_tops[number]
        baseline = places.baseline(bar_top)
        is_total = number in {0, len(amounts) - 1}
        start, end = (0.0, amount) if is_total else (previous, previous + amount)
        change = trace.increasing if amount >= 0 else trace.decreasing
        colour = (trace.totals if is_total else change).marker.color
        across, to = sorted((scale.at(start), scale.at(end)))
        if not places.is_wide:  # a rule of the whole height would cross the names
            canvas.line([(scale.at(0), bar_top), (scale.at(0), bar_top + BAR)], MUTED)
        canvas.rectangle((across, max(to, across + 1)), (bar_top, bar_top + BAR), colour)
        if number and places.is_wide:
            between = scale.at(previous)
            canvas.line([(between, places.bar_tops[number - 1] + BAR), (between, bar_top)], MUTED, 1, (2, 2))
        room = places.label_room - (0 if places.is_wide else text_width(text, bold=True))
        canvas.text(0, baseline, fitted(label, room), INK, bold=is_total)
        canvas.text(canvas.width, baseline, text, INK, anchor="end", bold=True)
        previous = end
    _draw_ticks(canvas, figure, [(scale.at(one), tick_text(one)) for one in scale.ticks], places.bottom)
    return places.bottom + 38


def _draw_ticks(canvas: Canvas, figure: go.Figure, ticks: list[tuple[float, str]], bottom: float) -> None:
    """Write the amounts of the rules below them where they have room, and the unit."""
    taken = float("-inf")
    for across, text in ticks:
        half = text_width(text) / 2
        middle = min(max(across, half), canvas.width - half)
        if middle - half > taken:
            canvas.text(middle, bottom + 15, text, MUTED, anchor="middle", size=SMALL)
            taken = middle + half + 8
    canvas.text(0, bottom + 32, unit_of(figure), MUTED)
