"""Step lines of days."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from accounting_analytics.charts.labels import GROUND, INK, MUTED
from accounting_analytics.charts.static_pictures.canvas import SMALL, Canvas, text_width
from accounting_analytics.charts.static_pictures.sheet import (
    DASHES,
    AmountScale,
    LegendEntry,
    amount_scale,
    draw_amount_axis,
    draw_legend,
    plot_height,
    sizes,
    tick_width,
    unit_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import plotly.graph_objects as go

_LABEL_ROOM = 0.16
_LABEL_BESIDE = 0.26
"""Part of a sheet up to which the label of the end is beside it."""
_MAX_DAYS_OF_DAYS = 62
_STEPS = (1, 2, 3, 4, 6, 12, 24, 60, 120)
"""Months between labelled ones."""


def draw_lines(canvas: Canvas, figure: go.Figure, top: float) -> float:
    """Draw step lines and their labelled marks; return where they end."""
    lines = [one for one in figure.data if one.showlegend is not False]
    marks = [one for one in figure.data if one.showlegend is False]
    if len(lines) > 1:
        legend = [LegendEntry(one.name, one.line.color, "line", dash=DASHES[one.line.dash]) for one in lines]
        top = draw_legend(canvas, legend, top)
    top += 22
    values = [value for one in lines for value in sizes(one.y) if value is not None]
    height = plot_height(canvas)
    scale = amount_scale(values, top + height, top, room=_LABEL_ROOM, below=bool(marks))
    left = tick_width(scale) + 8
    days = [_day(one) for one in lines[0].x]
    end_label = max((text_width(one.text[-1], bold=True) + 12 for one in marks), default=0.0)
    is_beside = end_label < canvas.width * _LABEL_BESIDE
    right = canvas.width - (end_label if is_beside else 6)
    width = (right - left) / len(days)
    draw_amount_axis(canvas, scale, (left, right), unit_of(figure))
    bottom = _draw_days(canvas, days, left, width, top + height)
    for trace in lines:
        for run in _runs(sizes(trace.y)):
            points = _steps(run, scale, left, width)
            canvas.line(points, trace.line.color, trace.line.width, DASHES[trace.line.dash])
    for trace in marks:
        middles = [left + width * (days.index(_day(one)) + 0.5) for one in trace.x]
        _draw_marks(canvas, trace, scale, middles, width / 2 + 9 if is_beside else 0)
    return bottom


def _runs(values: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    """Days that follow each other and have an amount."""
    run: list[tuple[int, float]] = []
    for at, value in enumerate(values):
        if value is not None:
            run.append((at, value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _steps(
    run: Sequence[tuple[int, float]], scale: AmountScale, left: float, width: float
) -> list[tuple[float, float]]:
    """Corners of a step line; of several days in one pixel the first, lowest, highest and last."""
    columns: dict[int, list[float]] = {}
    for at, value in run:
        columns.setdefault(int(at * width), []).append(scale.at(value))
    points: list[tuple[float, float]] = []
    if width >= 1:
        for at, value in run:
            down = scale.at(value)
            if points and points[-1][1] == down:
                points[-1] = (left + width * (at + 1), down)
            else:
                points += [(left + width * at, down), (left + width * (at + 1), down)]
        return points
    for column, downs in columns.items():
        across = left + column
        points += [(across, down) for down in (downs[0], min(downs), max(downs), downs[-1])]
    return list(dict.fromkeys(points)) if len(points) > 1 else [points[0], (points[0][0] + 1, points[0][1])]


def _draw_days(canvas: Canvas, days: Sequence[dt.date], left: float, width: float, bottom: float) -> float:
    """Write days or months below the lines, as many as have room, and the year where it changes."""
    shown_year = ""
    for day, text in _labelled(days, len(days) * width / 52):
        across = left + width * ((day - days[0]).days + (0.5 if len(days) <= _MAX_DAYS_OF_DAYS else 0))
        half = max(text_width(text), text_width(str(day.year))) / 2
        middle = min(max(across, half), canvas.width - half)
        canvas.line([(across, bottom), (across, bottom + 4)], MUTED)
        canvas.text(middle, bottom + 18, text, MUTED, anchor="middle")
        if str(day.year) != shown_year:
            canvas.text(middle, bottom + 33, str(day.year), MUTED, anchor="middle")
        shown_year = str(day.year)
    return bottom + 41


def _labelled(days: Sequence[dt.date], most: float) -> Iterator[tuple[dt.date, str]]:
    """Days that are labelled, and their texts."""
    if len(days) <= _MAX_DAYS_OF_DAYS:
        every = max(1, math.ceil(len(days) / max(most, 1)))
        every = 7 if 3 < every < 7 else every  # noqa: PLR2004 (weeks are easier to count)
        yield from ((day, f"{day.day} {day:%b}") for day in days[::every])
        return
    months = [day for day in days if day.day == 1]
    step = next((one for one in _STEPS if len(months) / one <= most), _STEPS[-1])
    for day in months:
        if (day.year * 12 + day.month - 1) % step == 0:
            yield day, f"{day:%b}" if step < 12 else "Jan"  # noqa: PLR2004 (a year)


def _draw_marks(
    canvas: Canvas,
    trace: Any,  # noqa: ANN401 (a trace of Plotly)
    scale: AmountScale,
    middles: Sequence[float],
    beside: float,
) -> None:
    """Draw the days that have a label: below the lowest; of the end so far right of it, or above it without room."""
    for text, across, value, shape in zip(trace.text, middles, sizes(trace.y), trace.marker.symbol, strict=True):
        down = scale.at(value or 0)
        is_low = shape == "triangle-down"
        points = [(across - 5, down - 4), (across + 5, down - 4), (across, down + 5)]
        if not is_low:
            points = [(across - 4, down), (across, down - 4), (across + 4, down), (across, down + 4)]
        canvas.polygon(points, trace.marker.color)
        half = text_width(text, SMALL, bold=True) / 2
        if not is_low and beside:
            canvas.text(middles[-1] + beside, down + 4, text, INK, bold=True)
            continue
        middle = max(min(max(across, half), canvas.width - half), half)
        baseline = down + 19 if is_low else down - 10
        canvas.rectangle((middle - half, middle + half), (baseline - 10, baseline + 3), GROUND)
        canvas.text(middle, baseline, text, INK, anchor="middle", bold=True)


def _day(value: Any) -> dt.date:  # noqa: ANN401 (a day, as Plotly keeps it)
    return dt.date.fromisoformat(str(value)[:10])
