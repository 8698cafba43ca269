"""Draw charts with matplotlib, as pictures without a browser or script.

Texts are measured in the font that matplotlib brings, which is wider than the fonts of most readers. SVG texts state
this width, so that a picture is the same on every machine, and nothing is cut in any font.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import itertools
import warnings
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.dates import AutoDateLocator, date2num, num2date
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.textpath import TextToPath
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from accounting_analytics.charts.labels import shortened, tick_text, word_lines
from accounting_analytics.charts.marks import labelled_places
from accounting_analytics.charts.style import (
    BALANCE_COLOUR,
    BAND_ALPHA,
    COLOUR_NAMES,
    DASHES,
    GROUND,
    INFLOW_COLOUR,
    INK,
    MUTED,
    ON_DARK,
    OUTFLOW_COLOUR,
    PATTERNS,
    RULE,
    WIDE_FROM,
    cell_opacity,
)
from accounting_analytics.core.messages import printable
from accounting_analytics.core.periods import DAY, month_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from accounting_analytics.charts.marks import ChartMarks, Series

_PIXELS_PER_INCH = 72  # with this resolution, a point of matplotlib is a pixel
_PNG_DOTS, _PNG_MARGIN, _MARGIN = 2, 14, 1
"""Dots per pixel of a PNG file, which is then sharp on telephones, and pixels around the drawing, as browsers round."""
_TITLE, _TEXT, _SMALL, _SMALLEST = 15, 11.5, 10.5, 9.5
"""Font sizes."""
_TITLE_LINE, _LINE, _PERIODS = 21, 17, 38
"""Heights of text lines, and of the labels of periods."""
_FONT = "DejaVu Sans"
_OTHER_SCRIPTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei", "Noto Sans Arabic")
"""Fonts for letters that matplotlib's font lacks. A PNG file uses installed fonts, and SVG text the reader's fonts."""
_SVG_STYLE = "max-width:100%;height:auto;text-rendering:geometricPrecision"
_SVG_FONTS = "-apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', 'DejaVu Sans', system-ui, sans-serif"
_HATCHES = dict(zip(range(len(PATTERNS)), ("", "//", "--", "xx", "||", "\\\\"), strict=True))
_DASHES: dict[str, Any] = {
    "solid": "solid",
    "dash": (0, (6, 3)),
    "dot": (0, (2, 2)),
    "dashdot": (0, (6, 2, 2, 2)),
    "longdash": (0, (10, 3)),
    "longdashdot": (0, (10, 3, 2, 3)),
}
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.size": _TEXT,
    "hatch.linewidth": 1.2,
    "text.parse_math": False,
    "path.simplify_threshold": 1.0,
    "timezone": "UTC",
    **{f"figure.subplot.{side}": at for side, at in zip(("left", "bottom", "right", "top"), (0, 0, 1, 1), strict=True)},
}


def draw_picture(chart: ChartMarks, width: int, *, is_png: bool, is_dark: bool, with_title: bool) -> bytes:
    """Draw a chart as an SVG element or a PNG file. The same chart always gives the same bytes."""
    installed = set(fontManager.get_font_names()) if is_png else set()
    drawn_of = (chart.title, chart.remarks, chart.unit, chart.kind, chart.places, chart.series, width, with_title)
    fonts = [_FONT, *(name for name in _OTHER_SCRIPTS if name in installed)]
    salt = hashlib.sha256(repr(drawn_of).encode()).hexdigest()
    paper = Paper(chart, width, _PNG_MARGIN if is_png else _MARGIN, is_dark)
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()  # no setting of a user changes a picture
        settings: Any = _SETTINGS | {"svg.hashsalt": salt, "font.family": fonts}
        mpl.rcParams.update(settings)
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # SVG text uses the reader's fonts
        drawn = _draw(paper, with_title=with_title)
        if not is_png:
            return _page_element(PageCanvas(drawn), chart.words)
        written = io.BytesIO()
        drawn.set_dpi(_PNG_DOTS * _PIXELS_PER_INCH)
        FigureCanvasAgg(drawn).print_png(written, metadata={"Software": None})
        return written.getvalue()


class Paper(NamedTuple):
    """The chart to draw, its width and margin in pixels, and whether its ground is dark."""

    chart: ChartMarks
    width: int
    margin: int
    is_dark: bool

    @property
    def is_wide(self) -> bool:
        """True if names have room beside their bars."""
        return self.width >= WIDE_FROM

    @property
    def outer_width(self) -> int:
        """Width including margins."""
        return self.width if self.margin == _MARGIN else self.width + 2 * self.margin

    @property
    def edge(self) -> float:
        """Left edge of texts, as a share of the picture's width."""
        return self.margin / self.outer_width

    def colour(self, colour: str) -> str:
        """Return a colour as it is drawn on this ground."""
        return ON_DARK.get(colour, colour) if self.is_dark else colour


def _draw(paper: Paper, *, with_title: bool) -> Figure:
    """Draw title and remarks, and below them the chart on ordinary axes."""
    chart = paper.chart
    title = _text_lines(chart.title, paper.width - 2, _TITLE, bold=True) if with_title else []
    remarks = _text_lines(" · ".join(chart.remarks), paper.width - 2) if with_title else []
    head = _TITLE_LINE * len(title) + _LINE * len(remarks) + (8 if with_title else 0)
    height, draw = _BODIES[chart.kind](paper) if not chart.message else (64.0, _draw_message)
    outer_height = head + height + 2 * paper.margin
    figure = Figure(
        (paper.outer_width / _PIXELS_PER_INCH, outer_height / _PIXELS_PER_INCH),
        _PIXELS_PER_INCH,
        facecolor=paper.colour(GROUND),
    )
    body = (paper.edge, paper.margin / outer_height, 1 - 2 * paper.edge, height / outer_height)
    figure.set_layout_engine("constrained", rect=body, w_pad=0, h_pad=0, wspace=0, hspace=0)
    lines = [
        *((line, _TITLE_LINE, _TITLE, "bold", INK) for line in title),
        *((line, _LINE, _TEXT, "normal", MUTED) for line in remarks),
    ]
    ends = itertools.accumulate(height for _, height, *_ in lines)
    for end, (line, _, size, weight, colour) in zip(ends, lines, strict=True):
        at = paper.edge, 1 - (paper.margin + end - 4) / outer_height
        figure.text(*at, line, fontsize=size, fontweight=weight, color=paper.colour(colour)).set_in_layout(False)
    axes = figure.add_subplot(facecolor="none")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelcolor=paper.colour(MUTED), labelsize=_TEXT, pad=5)
    draw(paper, axes)
    return figure


Body = tuple[float, "Callable[[Paper, Axes], None]"]
"""Height of a chart's body, and the function that draws it on axes."""


def _draw_message(paper: Paper, axes: Axes) -> None:
    """Write a sentence instead of marks."""
    axes.axis("off")
    text = "\n".join(_text_lines(paper.chart.message, paper.width - 4, _TEXT + 1))
    axes.text(0.5, 0.5, text, ha="center", va="center", color=paper.colour(INK), fontsize=_TEXT + 1)


def _plot_body(paper: Paper, draw: Callable[[Paper, Axes], None]) -> Body:
    """Return the height and the drawing function of a chart over time.

    The height includes the legend.
    """
    plot = min(max(190.0, paper.width * 0.34), 320.0)
    return plot + 30 + _LINE * _legend_grid(paper)[1] + _PERIODS, draw


def _amount_axis(paper: Paper, axes: Axes, low: float, high: float) -> None:
    """Draw the axis of amounts with its rules, unit and legend."""
    suffix = paper.chart.series[0].suffix
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda amount, _: tick_text(float(amount), suffix)))
    axes.grid(axis="y", color=paper.colour(RULE), linewidth=1)
    axes.set_axisbelow(True)
    axes.axhline(0, color=paper.colour(MUTED), linewidth=1)
    above: dict[str, Any] = {"xycoords": ("figure fraction", "axes fraction"), "textcoords": "offset points"}
    unit = _fitted(paper.chart.unit, paper.width)
    axes.annotate(unit, (paper.edge, 1), xytext=(0, 8), color=paper.colour(MUTED), **above)
    columns, rows = _legend_grid(paper)
    if not rows:
        return
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    names = [series.name for series in paper.chart.series]
    from_edge = blended_transform_factory(axes.figure.transFigure, axes.transAxes)
    axes.legend(
        [handles[name] for name in names],
        [_fitted(name, paper.width - _SWATCH) for name in names],
        loc="lower left",
        bbox_to_anchor=(paper.edge, 1),
        bbox_transform=from_edge + ScaledTranslation(0, 22 / _PIXELS_PER_INCH, axes.figure.dpi_scale_trans),
        ncols=columns,
        frameon=False,
        borderpad=0,
        borderaxespad=0,
        handlelength=1.2,
        handletextpad=0.5,
        columnspacing=1.2,
        labelspacing=0.4,
        labelcolor=paper.colour(INK),
    )


_SWATCH = 26


def _legend_grid(paper: Paper) -> tuple[int, int]:
    """Count the columns and rows of the legend. A single series needs no legend."""
    names = [series.name for series in paper.chart.series]
    if len(names) == 1:
        return 1, 0
    widest = min(max(text_width(name) for name in names) + _SWATCH + 14, paper.width)
    columns = min(max(int(paper.width // widest), 1), len(names))
    return columns, -(-len(names) // columns)


def _draw_columns(paper: Paper, axes: Axes) -> None:
    """Draw bars stacked from zero, and chart lines over the bars."""
    count = len(paper.chart.places)
    places = np.arange(count)
    width = min(0.7, 0.1 * count)
    above, below = np.zeros(count), np.zeros(count)
    before = np.zeros(count)
    for series in paper.chart.series:
        sizes = np.array([np.nan if size is None else size for size in series.sizes])
        colour = paper.colour(series.colour)
        if series.is_band:
            axes.fill_between(places, before, sizes, color=colour, alpha=BAND_ALPHA, linewidth=0)
        before = sizes
        if series.is_line:
            marker: dict[str, Any] = {"marker": "D", "markersize": 4} if count * 14 < paper.width else {}
            dashes = _DASHES[DASHES[series.number]]
            axes.plot(
                places, sizes, color=colour, linewidth=series.width, linestyle=dashes, label=series.name, **marker
            )
            continue
        known = np.nan_to_num(sizes)
        bottoms = np.where(known >= 0, above, below)
        hatch, ground = _HATCHES[series.number], paper.colour(GROUND)
        axes.bar(
            places, known, width, bottoms, label=series.name, color=colour, hatch=hatch, edgecolor=ground, linewidth=0
        )
        above, below = above + np.maximum(known, 0), below + np.minimum(known, 0)
    lines = [size for series in paper.chart.series if series.is_line for size in series.sizes if size is not None]
    low, high = min([0.0, *below, *lines]), max([0.0, *above, *lines])
    room = (high - low) * 0.03 or 1.0
    _amount_axis(paper, axes, low - room * (low < 0), high + room * (high > 0 or low == high))
    _period_axis(paper, axes)


def _period_axis(paper: Paper, axes: Axes) -> None:
    """Label as many periods as there is room for."""
    places = paper.chart.places
    widest = max(text_width(text) for place in places for text in (place.name, place.year)) + 12
    labels = labelled_places(places, int(paper.width * 0.9 // widest))
    axes.set_xlim(-0.5, len(places) - 0.5)
    axes.set_xticks([at for at, _ in labels], [text for _, text in labels])


_MOST_BESIDE = 0.3
"""Share of a picture's width that the label of the last day may use beside the last point."""


def _draw_days(paper: Paper, axes: Axes) -> None:
    """Draw step lines, and label the lowest and the last amount."""
    days = [dt.date.fromisoformat(place.label) for place in paper.chart.places]
    edges = [*days, days[-1] + DAY]
    for series in paper.chart.series:
        sizes = [np.nan if size is None else size for size in series.sizes]
        style: dict[str, Any] = {"color": paper.colour(series.colour), "linewidth": series.width}
        dashes = _DASHES[DASHES[series.number]]
        axes.plot(
            date2num(edges), [*sizes, sizes[-1]], drawstyle="steps-post", label=series.name, linestyle=dashes, **style
        )
    sizes = [size for series in paper.chart.series for size in series.sizes if size is not None]
    low, high = min([0.0, *sizes]), max([0.0, *sizes])
    room = (high - low) * 0.12 or 1.0
    _amount_axis(paper, axes, low - room, high + room)
    axes.set_xlim(date2num(edges[0]), date2num(edges[-1]))
    last = paper.chart.series[-1]
    for at, text, is_low in paper.chart.labelled_days():
        point = (float(date2num(days[at])) + (0.5 if is_low else 1), last.sizes[at] or 0.0)
        style = {"marker": "v" if is_low else "D", "markersize": 6 if is_low else 4}
        axes.plot(*point, color=paper.colour(last.colour), clip_on=False, **style)
        _label_day(paper, axes, text, point, position=(at + 0.5) / len(days), is_low=is_low)
    _day_axis(paper, axes, days, edges)


def _label_day(
    paper: Paper, axes: Axes, text: str, point: tuple[float, float], *, position: float, is_low: bool
) -> None:
    """Write an amount at its day, beside the chart line if possible."""
    is_beside = not is_low and text_width(text, bold=True) + 14 < paper.width * _MOST_BESIDE
    side = "left" if position < 1 / 3 else "right" if position > 2 / 3 else "center"
    axes.annotate(
        text,
        point,
        xytext=(7, 0) if is_beside else (0, -8 if is_low else 8),
        textcoords="offset points",
        ha="left" if is_beside else side,
        va="center" if is_beside else "top" if is_low else "bottom",
        color=paper.colour(INK),
        fontweight="bold",
        bbox=None if is_beside else {"facecolor": paper.colour(GROUND), "edgecolor": "none", "pad": 1},
    )


def _day_axis(paper: Paper, axes: Axes, days: Sequence[dt.date], edges: Sequence[dt.date]) -> None:
    """Label days, or first days of months, and changes of the year."""
    most = max(int(paper.width * 0.8 / 60), 2)
    locator = AutoDateLocator(minticks=min(2, len(days)), maxticks=most, interval_multiples=True)
    ticks = [
        tick
        for tick in num2date(locator.tick_values(*map(_midnight, (edges[0], edges[-1]))))
        if edges[0] <= tick.date() < edges[-1]
    ]
    is_monthly = all(tick.day == 1 for tick in ticks) and len(days) > 62  # noqa: PLR2004 (two months)
    labels, shown_year = [], 0
    for tick in ticks:
        name = month_name(tick) if is_monthly else f"{tick.day} {month_name(tick)}"
        labels.append(name if tick.year == shown_year else f"{name}\n{tick.year}")
        shown_year = tick.year
    axes.set_xticks([float(date2num(tick.date())) + (0 if is_monthly else 0.5) for tick in ticks], labels)


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)


_NAMES = 0.36
"""Largest share of a picture's width that names use."""
_BAR, _NAME_LINE, _GAP = 14, 15, 9
"""Heights in a row: of a bar, of a text line of its name, and of the gap."""


class _NamedRows(NamedTuple):
    """Rows of bars or cells, with names, amounts and heights.

    A name has at most two text lines.
    """

    names: Sequence[Sequence[str]]
    amounts: Sequence[str]
    bold: frozenset[int]
    height: float
    middles: Sequence[float]

    @property
    def names_width(self) -> float:
        """Width of the widest name."""
        return max(
            text_width(line, bold=place in self.bold) for place, lines in enumerate(self.names) for line in lines
        )


def _rows_of(
    paper: Paper, names: Sequence[str], amounts: Sequence[str], mark: float, bold: frozenset[int]
) -> _NamedRows:
    """Lay out rows with names and amounts.

    `mark` is the height of a bar or cell.
    """
    rooms = [paper.width - 16 - text_width(amount, bold=True) for amount in amounts]
    beside = paper.width * _NAMES
    lines = [_name_lines(name, beside if paper.is_wide else room) for name, room in zip(names, rooms, strict=True)]
    most = _NAME_LINE * max(map(len, lines))
    if paper.is_wide:
        return _NamedRows(lines, amounts, bold, max(mark, most) + _GAP, range(len(lines)))
    height = most + mark + _GAP
    above = [(3 + _NAME_LINE * len(of_name) + mark / 2) / height for of_name in lines]
    return _NamedRows(lines, amounts, bold, height, [place - 0.5 + offset for place, offset in enumerate(above)])


def _write_rows(paper: Paper, axes: Axes, rows: _NamedRows) -> None:
    """Write names and amounts beside the marks, or above them."""
    axes.set_ylim(len(rows.names) - 0.5, -0.5)
    axes.set_yticks([])
    amounts = max(text_width(text, bold=True) for text in rows.amounts)
    beside, ends, above, offsets = "axes fraction", (0.0, 1.0), 0.0, (-rows.names_width - 12, amounts + 14)
    if not paper.is_wide:
        beside, ends, above, offsets = "figure fraction", (paper.edge, 1 - paper.edge), -0.5, (0.0, 0.0)
    at: dict[str, Any] = {
        "xycoords": (beside, "data"),
        "textcoords": "offset points",
        "va": "center" if paper.is_wide else "top",
        "color": paper.colour(INK),
    }
    for place, (lines, amount) in enumerate(zip(rows.names, rows.amounts, strict=True)):
        weight = "bold" if place in rows.bold else "normal"
        name = axes.annotate(
            "\n".join(lines), (ends[0], place + above), (offsets[0], 0), fontweight=weight, ha="left", **at
        )
        text = axes.annotate(amount, (ends[1], place + above), (offsets[1], 0), fontweight="bold", ha="right", **at)
        for written in (name, text):
            written.set_in_layout(place == 0)  # all rows have the same room


def _bar_body(paper: Paper) -> Body:
    """Return the height and the drawing function of a bar chart."""
    chart, (series,) = paper.chart, paper.chart.series
    bold = frozenset({0, len(chart.places) - 1} if chart.kind == "steps" else ())
    rows = _rows_of(paper, [place.label for place in chart.places], chart.labels(series), _BAR, bold)
    below = 42 if chart.kind == "steps" else 22
    return rows.height * len(rows.names) + below, partial(_draw_bars, rows=rows)


def _draw_bars(paper: Paper, axes: Axes, *, rows: _NamedRows) -> None:
    """Draw bars below each other. A bar begins at zero, or where the bar before ends."""
    chart, half = paper.chart, _BAR / rows.height / 2
    starts, sizes, colours = zip(*_bars(chart), strict=True)
    places = np.array(rows.middles)
    axes.barh(places, sizes, 2 * half, starts, color=[paper.colour(colour) for colour in colours], zorder=2)
    ends = [0.0, *(start + size for start, size in zip(starts, sizes, strict=True))]
    room = (max(ends) - min(ends)) * 0.01 or 1.0
    axes.set_xlim(min(ends) - room * (min(ends) < 0), max(ends) + room)
    _write_rows(paper, axes, rows)
    muted: dict[str, Any] = {"color": paper.colour(MUTED), "linewidth": 1, "zorder": 1}
    axes.set_xticks([])
    if chart.kind == "steps":
        axes.xaxis.set_major_locator(MaxNLocator(nbins=max(3, int(paper.width / 140)), steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda amount, _: tick_text(float(amount))))
        if paper.is_wide:
            axes.grid(axis="x", color=paper.colour(RULE), linewidth=1)
            axes.set_axisbelow(True)
            axes.vlines(ends[1:-1], places[:-1], places[1:], linestyles=(0, (2, 2)), **muted)
    if paper.is_wide:
        axes.axvline(0, **muted)
    else:  # a rule of the whole height would cross the names
        axes.vlines([0] * len(sizes), places - half, places + half, **muted)
    _write_below(paper, axes, chart.unit)


def _bars(chart: ChartMarks) -> list[tuple[float, float, str]]:
    """Return the start, size and colour of each bar."""
    (series,) = chart.series
    sizes = [size or 0.0 for size in series.sizes]
    if chart.kind == "rows":
        return [(0.0, size, colour) for size, colour in zip(sizes, series.bar_colours, strict=True)]
    sums = list(itertools.accumulate(sizes))
    changes = [
        (start, size, INFLOW_COLOUR if size >= 0 else OUTFLOW_COLOUR)
        for start, size in zip(sums, sizes[1:-1], strict=False)
    ]
    return [(0.0, sizes[0], BALANCE_COLOUR), *changes, (0.0, sizes[-1], BALANCE_COLOUR)]


def _write_below(paper: Paper, axes: Axes, text: str) -> None:
    """Write a text below the axes."""
    axes.set_xlabel(_fitted(text, paper.width), loc="left", color=paper.colour(MUTED))


_CELL = 22


def _cell_body(paper: Paper) -> Body:
    """Return the height and the drawing function of rows of cells.

    Cells show their amounts if there is room.
    """
    chart, count = paper.chart, len(paper.chart.series)
    rows = _rows_of(paper, [series.name for series in chart.series], [""] * count, _CELL, frozenset())
    left = rows.names_width + 12 if paper.is_wide else 0.0
    width = (paper.width - left) / len(chart.places)
    size = _SMALL if paper.is_wide else _SMALLEST
    fits = all(text_width(text, size) <= width - 2 for series in chart.series for text in chart.labels(series))
    rows = rows._replace(height=rows.height - _GAP + 4)
    below = _PERIODS + (0 if fits else 18)
    return rows.height * count + below, partial(_draw_cells, rows=rows, size=size if fits else 0)


def _draw_cells(paper: Paper, axes: Axes, *, rows: _NamedRows, size: float) -> None:
    """Draw the cells, with amounts if a font size is given."""
    chart, count = paper.chart, len(paper.chart.places)
    half, gap = _CELL / rows.height / 2, 0.5 * count / paper.width
    start, width = np.arange(count) - 0.5 + gap, 1 - 2 * gap
    for middle, series in zip(rows.middles, chart.series, strict=True):
        colours = [_cell_colour(paper, series, cell_size) for cell_size in series.sizes]
        axes.broken_barh([(left, width) for left in start], (middle - half, 2 * half), facecolors=colours, linewidth=0)
        empty = start[[colour == "none" for colour in colours]]
        if len(empty):
            axes.hlines([middle + half] * len(empty), empty, empty + width, paper.colour(RULE), linewidth=1)
        for column, text in enumerate(chart.labels(series) if size else ()):
            written = axes.text(column, middle, text, ha="center", va="center", fontsize=size, color=paper.colour(INK))
            written.set_in_layout(False)
    _write_rows(paper, axes, rows)
    _period_axis(paper, axes)
    if not size:
        _write_below(paper, axes, f"the deepest colour is {chart.full:,.0f} or more")


def _cell_colour(paper: Paper, series: Series, size: float | None) -> tuple[str, float] | str:
    """Return the colour and the opacity of a cell.

    A cell without an outflow has the colour "none".
    """
    if size is None or size <= 0:
        return "none"
    return paper.colour(series.colour), cell_opacity(size / float(paper.chart.full))


_BODIES: dict[str, Callable[[Paper], Body]] = {
    "columns": partial(_plot_body, draw=_draw_columns),
    "days": partial(_plot_body, draw=_draw_days),
    "steps": _bar_body,
    "rows": _bar_body,
    "cells": _cell_body,
}


def text_width(text: str, size: float = _TEXT, *, bold: bool = False) -> float:
    """Measure a text in pixels, in the font that matplotlib brings."""
    return _text_box(text, size, bold)[0]


@cache
def _text_box(text: str, size: float, bold: bool) -> tuple[float, float, float]:  # noqa: FBT001 (as it is cached)
    """Measure width, height and descent of a text."""
    font = FontProperties(family=[_FONT], size=size, weight="bold" if bold else "normal")
    known = get_font(findfont(font)).get_charmap()
    there = "".join(letter for letter in printable(text, " ") if ord(letter) in known)
    width, height, descent = TextToPath().get_text_width_height_descent(there, font, ismath=False)
    return float(width) + size * (len(text) - len(there)), float(height), float(descent)


def _text_lines(text: str, width: float, size: float = _TEXT, *, bold: bool = False) -> list[str]:
    """Break a text into text lines of a width."""
    lines = word_lines(text, lambda line: text_width(line, size, bold=bold) <= width)
    return [_fitted(line, width, size, bold=bold) for line in lines]


def _name_lines(name: str, width: float) -> list[str]:
    """Break a name into at most two text lines.

    A name that is too long loses its middle.
    """
    letters, lines = 2 * len(name), _text_lines(name, width, bold=True)  # also for wide letters, which take two columns
    while letters > 1 and len(lines) > 2:  # noqa: PLR2004 (two lines)
        letters -= 1
        lines = _text_lines(shortened(name, letters), width, bold=True)
    return lines


def _fitted(text: str, width: float, size: float = _TEXT, *, bold: bool = False) -> str:
    """Fit a text on one text line, without its middle if needed."""
    fitted = text = " ".join(printable(text, " ").split())
    letters = 2 * len(text)
    while letters > 1 and text_width(fitted, size, bold=bold) > width:
        letters -= 1
        fitted = shortened(text, letters)
    return fitted


class PageRenderer(RendererSVG):
    """Renderer that measures texts in matplotlib's font, on every machine, and remembers the width of each."""

    def __init__(self, width: float, height: float, file: io.StringIO) -> None:
        super().__init__(width, height, file, metadata={"Date": None})  # type: ignore[no-untyped-call]
        self.text_widths: list[float] = []

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: object) -> tuple[float, float, float]:
        """Return the width, height and descent of a text."""
        del ismath  # no text is a formula
        return _text_box(s, prop.get_size_in_points(), prop.get_weight() == "bold")

    def draw_text(self, gc: Any, x: float, y: float, s: str, prop: FontProperties, *more: Any, **options: Any) -> None:  # noqa: ANN401 (as matplotlib has it)
        """Draw a text."""
        self.text_widths.append(text_width(s, prop.get_size_in_points(), bold=prop.get_weight() == "bold"))
        super().draw_text(gc, x, y, s, prop, *more, **options)  # type: ignore[no-untyped-call]


class PageCanvas(FigureCanvasSVG):
    """A canvas whose texts are measured as on a page."""

    def __init__(self, figure: Figure) -> None:
        super().__init__(figure)
        self.file = io.StringIO()
        width, height = (_PIXELS_PER_INCH * inches for inches in figure.get_size_inches())
        self._renderer = PageRenderer(width, height, self.file)

    def get_renderer(self) -> PageRenderer:
        """Return the renderer that measures the texts."""
        return self._renderer


_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_COLOURS = {shown: name for colour, name in COLOUR_NAMES.items() for shown in (colour, ON_DARK[colour])}
_NOT_NEEDED = {"font-family", "stroke-linejoin", "stroke-linecap"}


def _page_element(canvas: PageCanvas, words: str) -> bytes:
    """Draw one SVG element for a page. Screen readers read `words`.

    Coordinates have one digit after the point. Texts have the fonts of the page, and the widths that were measured.
    """
    canvas.figure.patch.set_visible(False)
    renderer = canvas.get_renderer()
    canvas.figure.draw(renderer)
    renderer.finalize()  # type: ignore[no-untyped-call]
    widths = iter(renderer.text_widths)
    drawn = ET.fromstring(canvas.file.getvalue())  # noqa: S314 (written above)
    width, height = (f"{_PIXELS_PER_INCH * inches:g}" for inches in canvas.figure.get_size_inches())
    page = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": width,
            "height": height,
            "role": "img",
            "aria-label": printable(words, " "),
            "class": "accounting-analytics-picture",
            "font-family": _SVG_FONTS,
            "style": _SVG_STYLE,
        },
    )
    _copy_elements(drawn, page)
    for text in page.iter("text"):
        text.attrib |= {"textLength": f"{next(widths):.1f}", "lengthAdjust": "spacingAndGlyphs"}
    return ET.tostring(page, encoding="unicode").encode()


def _copy_elements(drawn: ET.Element, page: ET.Element) -> None:
    """Copy drawn elements without groups, clip paths and matplotlib's style."""
    for element in drawn:
        name = element.tag.removeprefix(_SVG)
        if name == "g":
            _copy_elements(element, page)
        elif name not in {"metadata", "style", "clipPath"}:
            copied = ET.SubElement(
                page, name, {key.removeprefix(_XLINK): value for key, value in _page_attributes(element)}
            )
            copied.text = element.text if name == "text" else None
            _copy_elements(element, copied)


def _page_attributes(element: ET.Element) -> list[tuple[str, str]]:
    """Return the visible attributes, with colours that the page may set."""
    kept = []
    for key, value in element.items():
        if key == "style":
            rules = [rule.strip().split(": ") for rule in value.split(";") if rule.strip()]
            style = [f"{name}:{_page_colour(setting)}" for name, setting in rules if name not in _NOT_NEEDED]
            kept.append((key, ";".join(style)))
        elif key in {"fill", "stroke"}:
            kept.append(("style", f"{key}:{_page_colour(value)}"))
        elif key == "transform" and value.startswith("translate("):
            kept += zip("xy", map(_rounded, value.removeprefix("translate(").removesuffix(")").split()), strict=True)
        elif key not in {"clip-path", "transform"}:
            kept.append((key, " ".join(map(_rounded, value.split()))))
    return kept


def _rounded(word: str) -> str:
    """Round a coordinate to one digit. Any other word is kept."""
    try:
        return f"{float(word):.1f}".removesuffix(".0")
    except ValueError:
        return word


def _page_colour(value: str) -> str:
    """Return a colour as a variable of the page. Other texts are kept."""
    return f"var(--{_COLOURS[value]},{value})" if value in _COLOURS else value
