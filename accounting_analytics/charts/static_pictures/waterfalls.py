"""Waterfalls: rows of bars, each of which begins where the one before ends."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from accounting_analytics.charts.colours import INK, MUTED, RULE
from accounting_analytics.charts.static_pictures.canvas import SMALL, Canvas, fitted, text_width
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

_WIDE = 560
"""From this width on, names and amounts are beside their bars instead of above."""
_WIDE_ROW, _NARROW_ROW = 27, 38
_BAR = 14


def draw_waterfall(canvas: Canvas, figure: go.Figure, top: float) -> float:
    """Draw a waterfall; return where it ends."""
    (trace,) = figure.data
    amounts = [value or 0.0 for value in sizes(trace.x)]
    labels, texts = labels_of(trace), [plain(text) for text in trace.text]
    sums = [0.0, *itertools.accumulate(amounts[:-1])]
    is_wide = canvas.width >= _WIDE
    left, right = 0.0, float(canvas.width)
    if is_wide:
        left = min(max(text_width(label) for label in labels), canvas.width * 0.36) + 14
        right = canvas.width - max(text_width(text, bold=True) for text in texts) - 14
    row_height = _WIDE_ROW if is_wide else _NARROW_ROW
    height = row_height * len(amounts)
    scale = amount_scale(sums, left, right, room=0.0)
    bar_tops = [top + row_height * (number + 1) - _BAR - (6 if is_wide else 3) for number in range(len(amounts))]
    for tick in scale.ticks if is_wide else []:
        across = scale.at(tick)
        canvas.line([(across, top), (across, top + height)], RULE if tick else MUTED)
    previous = 0.0
    for number, (amount, label, text) in enumerate(zip(amounts, labels, texts, strict=True)):
        bar_top = bar_tops[number]
        baseline = bar_top + 11 if is_wide else bar_top - 5
        is_total = number in {0, len(amounts) - 1}
        start, end = (0.0, amount) if is_total else (previous, previous + amount)
        change = trace.increasing if amount >= 0 else trace.decreasing
        colour = (trace.totals if is_total else change).marker.color
        across, to = sorted((scale.at(start), scale.at(end)))
        if not is_wide:  # a rule of the whole height would cross the names
            canvas.line([(scale.at(0), bar_top), (scale.at(0), bar_top + _BAR)], MUTED)
        canvas.rectangle((across, max(to, across + 1)), (bar_top, bar_top + _BAR), colour)
        if number and is_wide:
            between = scale.at(previous)
            canvas.line([(between, bar_tops[number - 1] + _BAR), (between, bar_top)], MUTED, 1, (2, 2))
        amount_width = text_width(text, bold=True)
        room = left - 14 if is_wide else canvas.width - amount_width - 12
        canvas.text(0, baseline, fitted(label, room), INK, bold=is_total)
        canvas.text(canvas.width, baseline, text, INK, anchor="end", bold=True)
        previous = end
    bottom = top + height
    _draw_ticks(canvas, figure, scale_texts=[(scale.at(one), tick_text(one)) for one in scale.ticks], bottom=bottom)
    return bottom + 38


def _draw_ticks(canvas: Canvas, figure: go.Figure, scale_texts: list[tuple[float, str]], bottom: float) -> None:
    """Write the amounts of the rules below them where they have room, and the unit."""
    taken = float("-inf")
    for across, text in scale_texts:
        half = text_width(text) / 2
        middle = min(max(across, half), canvas.width - half)
        if middle - half > taken:
            canvas.text(middle, bottom + 15, text, MUTED, anchor="middle", size=SMALL)
            taken = middle + half + 8
    canvas.text(0, bottom + 32, unit_of(figure), MUTED)
