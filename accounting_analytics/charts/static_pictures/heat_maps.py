"""Heat maps: rows of cells, the deeper in colour the larger, with their amounts where they have room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.charts.labels import BALANCE_COLOUR, INK, MUTED, OUTFLOW_COLOUR, RULE, cell_opacity
from accounting_analytics.charts.static_pictures.canvas import SMALL, fitted, text_width
from accounting_analytics.charts.static_pictures.sheet import draw_labels, plain, sizes

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from accounting_analytics.charts.static_pictures.canvas import Canvas

_WIDE_CELL = 560
_WIDE_ROW, _NARROW_ROW, _CELL = 26, 42, 22
_CELL_NAMES = 0.3


def draw_heat_map(canvas: Canvas, figure: go.Figure, top: float) -> float:
    """Draw the cells, of differences in two colours; return where they end."""
    (trace,) = figure.data
    names = [plain(row[0][1]).rpartition(", ")[0] for row in trace.customdata]
    columns = [plain(cell[1]).rpartition(", ")[2].removesuffix(" ties") for cell in trace.customdata[0]]
    amounts = {(one.x, one.y): plain(one.text) for one in figure.layout.annotations if one.name == "amount"}
    ties = [((column, row), text) for row, texts in enumerate(trace.text or []) for column, text in enumerate(texts)]
    amounts = {**dict(one for one in ties if one[1]), **amounts}
    is_wide = canvas.width >= _WIDE_CELL
    left = min(max(map(text_width, names)), canvas.width * _CELL_NAMES) + 12 if is_wide else 0.0
    width, height = (canvas.width - left) / len(columns), _WIDE_ROW if is_wide else _NARROW_ROW
    fits = all(text_width(text, SMALL - 1) <= width - 2 for text in amounts.values())
    for row, (name, values) in enumerate(zip(names, trace.z, strict=True)):
        bottom = top + height * (row + 1) - 2
        cell_top = bottom - _CELL
        canvas.text(
            0, bottom - 7 if is_wide else cell_top - 5, fitted(name, left - 12 if is_wide else canvas.width), INK
        )
        for column, value in enumerate(sizes(values)):
            across = left + width * column
            is_more = trace.zmin < 0 and (value or 0.0) > 0
            size = abs(value or 0.0) if trace.zmin < 0 else max(value or 0.0, 0.0)
            part = min(size / trace.zmax, 1.0)
            cell = (across + 0.5, across + width - 0.5)
            if part:
                canvas.rectangle(
                    cell, (cell_top, bottom), BALANCE_COLOUR if is_more else OUTFLOW_COLOUR, opacity=cell_opacity(part)
                )
            else:
                canvas.line([(cell[0], bottom), (cell[1], bottom)], RULE)
            if fits and (text := amounts.get((column, row))):
                canvas.text(across + width / 2, bottom - 7, text, INK, anchor="middle", size=SMALL - 1)
    middles = [left + width * (column + 0.5) for column in range(len(columns))]
    bottom = top + height * len(names)
    if not fits:
        canvas.text(0, bottom + 50, f"the deepest colour is {trace.zmax:,.0f} or more", MUTED)
    return draw_labels(canvas, columns, middles, bottom + 16) + (18 if not fits else 0)
