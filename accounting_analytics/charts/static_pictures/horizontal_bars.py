"""Rows of bars that begin at zero, each with its name and its amount."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.charts.labels import INK
from accounting_analytics.charts.static_pictures.canvas import fitted, text_width
from accounting_analytics.charts.static_pictures.rows import BAR, row_places
from accounting_analytics.charts.static_pictures.sheet import amount_scale, labels_of, plain, sizes

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from accounting_analytics.charts.static_pictures.canvas import Canvas


def draw_horizontal_bars(canvas: Canvas, figure: go.Figure, top: float) -> float:
    """Draw the bars; return where they end. Their amounts are beside them, so there is no axis."""
    (trace,) = figure.data
    labels, texts = labels_of(trace), [plain(text) for text in trace.text]
    places = row_places(canvas, labels, texts, top)
    values = [value or 0.0 for value in sizes(trace.x)]
    scale = amount_scale(values, places.left, places.right)
    for bar_top, value, label, text in zip(places.bar_tops, values, labels, texts, strict=True):
        baseline = places.baseline(bar_top)
        end = max(scale.at(value), scale.at(0) + 1)
        canvas.rectangle((scale.at(0), end), (bar_top, bar_top + BAR), trace.marker.color)
        room = places.label_room - (0 if places.is_wide else text_width(text, bold=True))
        canvas.text(0, baseline, fitted(label, room), INK)
        canvas.text(canvas.width, baseline, text, INK, anchor="end", bold=True)
    return places.bottom + 8
