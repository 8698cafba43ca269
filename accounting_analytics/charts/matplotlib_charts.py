"""Charts as pictures that need no browser and no script: for pages, PDF files and workbooks, drawn with matplotlib."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import itertools
import re
import textwrap
import warnings
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.dates import AutoDateLocator, date2num, num2date
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import TextToPath
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import ScaledTranslation

from accounting_analytics.charts.labels import (
    BALANCE_COLOUR,
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
    cell_opacity,
    shortened,
    tick_text,
)
from accounting_analytics.charts.marks import labelled_places
from accounting_analytics.charts.plotly_charts import Picture
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import printable, quote
from accounting_analytics.core.periods import month_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from accounting_analytics.charts.marks import ChartMarks, Series

DEFAULT_WIDTH = 720
_LEAST, _MOST = 240, 4000
_WIDE = 560
"""From this width on, names are beside their bars and cells instead of above them."""
_PIXELS_PER_INCH = 72  # so that a point of matplotlib is a pixel
_PNG_DOTS, _PNG_MARGIN = 2, 14
"""Dots of a PNG file per pixel, so that it is sharp on telephones, and pixels around the drawing."""
_TITLE, _TEXT, _SMALL, _SMALLEST = 15, 11.5, 10.5, 9.5
"""Font sizes."""
_TITLE_LINE, _LINE = 21, 17
_FONT = "DejaVu Sans"
"""Font that matplotlib brings, wider than those of most readers: what has room in it is whole in theirs."""
_OTHER_SCRIPTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei", "Noto Sans Arabic")
"""Fonts for what that font lacks, of which a PNG file has those that are installed; SVG text has its reader's fonts."""
_SVG_STYLE = "max-width:100%;height:auto;text-rendering:geometricPrecision"
_SVG_FONTS = "-apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', 'DejaVu Sans', system-ui, sans-serif"
"""Fonts of which none is wider than the one that is measured, before what a machine takes for its own."""
_HATCHES = dict(zip(range(len(PATTERNS)), ("", "//", "--", "xx", "||", "\\\\"), strict=True))
_DASHES: dict[str, Any] = {
    "solid": "solid",
    "dash": (0, (6, 3)),
    "dot": (0, (2, 2)),
    "dashdot": (0, (6, 2, 2, 2)),
    "longdash": (0, (10, 3)),
    "longdashdot": (0, (10, 3, 2, 3)),
}

PICTURE_STYLE = (
    "@media screen and (prefers-color-scheme: dark){.accounting-analytics-picture{"
    + ";".join(f"--{name}:{ON_DARK[colour]}" for colour, name in COLOUR_NAMES.items())
    + "}}"
)
"""Style with which a page shows its SVG pictures in dark colours on a dark screen; paper stays light."""


@overload
def static_picture(
    figure: Picture, *, format: Literal["svg"] = ..., width: int = ..., dark: bool = ..., title: bool = ...
) -> str: ...
@overload
def static_picture(
    figure: Picture, *, format: Literal["png"], width: int = ..., dark: bool = ..., title: bool = ...
) -> bytes: ...
def static_picture(
    figure: Picture,
    *,
    format: Literal["svg", "png"] = "svg",  # noqa: A002 (as in matplotlib and pandas)
    width: int = DEFAULT_WIDTH,
    dark: bool = False,
    title: bool = True,
) -> str | bytes:
    """Draw a chart of this package without a browser: the same data, the same bytes.

    Parameters
    ----------
    figure : Picture
        As one of the functions of ``charts`` returns it; what was changed in it since is not drawn.
    format : {"svg", "png"}
        An SVG element for a page, whose text is text, or the bytes of a PNG file with two dots per pixel.
    width : int
        In CSS pixels, 240 to 4000. Text keeps its size, so 360 is for a telephone and 720 for a page; an SVG element
        becomes narrower with its page, and its text smaller.
    dark : bool
        Colours of a dark page. An SVG element in light colours also becomes dark in a page that sets the colours
        ``--ink``, ``--muted``, ``--rule``, ``--ground``, ``--inflow``, ``--outflow`` and ``--balance``.
    title : bool
        Whether the title and its remarks are above the chart.

    Returns
    -------
    str or bytes
        The SVG element, or the PNG file.

    Raises
    ------
    InputError
        `figure` is not a chart of this package, or an argument is not as described.
    """
    require_type(figure, Picture, "figure", "pass what a function of charts returns")
    if format not in {"svg", "png"}:
        raise InputError(f"format must be svg or png, not {quote(format)}")
    if isinstance(width, bool) or not isinstance(width, int) or not _LEAST <= width <= _MOST:
        raise InputError(f"width must be a whole number of pixels from {_LEAST} to {_MOST}, not {quote(width)}")
    if figure.chart is None:
        raise InputError("figure was not made by a function of charts; pass what one returns")
    margin = _PNG_MARGIN if format == "png" else 0
    installed = set(fontManager.get_font_names()) if format == "png" else set()
    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": hashlib.sha256(f"{figure.to_json()}{width}{title}".encode()).hexdigest(),
        "font.family": [_FONT, *(name for name in _OTHER_SCRIPTS if name in installed)],
        "font.size": _TEXT,
        "hatch.linewidth": 1.2,
        "text.parse_math": False,
        "path.simplify_threshold": 1.0,
        "timezone": "UTC",
    }
    written = io.BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()  # no setting of the reader's own changes a picture
        mpl.rcParams.update(settings)
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # SVG text has its reader's fonts
        paper = Paper(figure.chart, width, margin, is_dark=dark, with_title=title)
        drawn = paper.draw()
        if format == "png":
            FigureCanvasAgg(drawn).print_png(written, metadata={"Software": None})
            return written.getvalue()
        drawn.patch.set_visible(False)
        FigureCanvasSVG(drawn).print_svg(written, metadata={"Date": None})
    return _page_element(written.getvalue().decode(), figure.chart.words, width, paper.height)


class Paper:
    """A picture while it is drawn: title and remarks above, and the chart below on ordinary axes."""

    def __init__(self, chart: ChartMarks, width: int, margin: int, *, is_dark: bool, with_title: bool) -> None:
        self.chart, self.width, self.margin, self.is_dark = chart, width, margin, is_dark
        self.is_wide = width >= _WIDE
        self.title = _wrapped(chart.title, width, _TITLE, bold=True) if with_title else []
        self.remarks = _wrapped(" · ".join(chart.remarks), width, _TEXT) if with_title else []
        self.head = _TITLE_LINE * len(self.title) + _LINE * len(self.remarks) + (8 if with_title else 0)
        self.height: float = self.head

    def colour(self, colour: str) -> str:
        """Colour of the page."""
        return ON_DARK.get(colour, colour) if self.is_dark else colour

    def draw(self) -> Figure:
        """Draw the chart."""
        body, sides, draw = _BODIES[self.chart.kind](self) if not self.chart.message else (64, (0, 0, 0, 0), _message)
        self.height = self.head + body
        across, down = self.width + 2 * self.margin, self.height + 2 * self.margin
        dots = _PIXELS_PER_INCH * (_PNG_DOTS if self.margin else 1)
        figure = Figure(
            figsize=(across / _PIXELS_PER_INCH, down / _PIXELS_PER_INCH), dpi=dots, facecolor=self.colour(GROUND)
        )
        left, right, above, below = sides
        box = (
            (self.margin + left) / across,
            (self.margin + below) / down,
            (self.width - left - right) / across,
            (body - above - below) / down,
        )
        axes = figure.add_axes(box, facecolor="none")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelcolor=self.colour(MUTED), labelsize=_TEXT, pad=5)
        draw(self, axes)
        baseline = float(self.margin)
        for text in self.title:
            baseline += _TITLE_LINE
            at = self.margin / across, 1 - (baseline - 4) / down
            figure.text(*at, text, fontsize=_TITLE, fontweight="bold", color=self.colour(INK))
        for text in self.remarks:
            baseline += _LINE
            figure.text(self.margin / across, 1 - (baseline - 4) / down, text, color=self.colour(MUTED))
        return figure


Sides = tuple[float, float, float, float]
Drawing = tuple[float, Sides, "Callable[[Paper, Axes], None]"]
"""Height of a chart, what is left free at its left, right, top and bottom, and what draws it on its axes."""


def _message(paper: Paper, axes: Axes) -> None:
    """Write a sentence in the place of marks."""
    axes.axis("off")
    text = "\n".join(_wrapped(paper.chart.message, paper.width, _TEXT + 1))
    axes.text(0.5, 0.4, text, ha="center", va="center", color=paper.colour(INK), fontsize=_TEXT + 1)


def _plot_height(paper: Paper) -> float:
    return min(max(190.0, paper.width * 0.34), 320.0)


def _amount_axis(paper: Paper, axes: Axes, low: float, high: float) -> float:
    """Label amounts, with a rule for each and a darker one for zero, and write the unit above.

    Returns the pixels that the labels take left of the axis, which is moved where they need more.
    """
    suffix = paper.chart.series[0].suffix
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda amount, _: tick_text(float(amount)) + suffix))
    axes.grid(axis="y", color=paper.colour(RULE), linewidth=1)
    axes.set_axisbelow(True)
    axes.axhline(0, color=paper.colour(MUTED), linewidth=1)
    labels = [tick_text(float(amount)) + suffix for amount in axes.get_yticks() if low <= amount <= high]
    left = max(_AMOUNTS, *(text_width(label) + 8 for label in labels))
    box = axes.get_position()
    moved = (left - _AMOUNTS) / (paper.width + 2 * paper.margin)
    axes.set_position((box.x0 + moved, box.y0, box.width - moved, box.height))
    axes.annotate(
        _fitted(paper.chart.unit, paper.width),
        (0, 1),
        xycoords="axes fraction",
        xytext=(-left, 8),
        textcoords="offset points",
        color=paper.colour(MUTED),
        fontsize=_TEXT,
    )
    return left


_AMOUNTS, _PERIODS = 46, 38
"""Pixels left of an axis of amounts, and below an axis of periods."""
_LEGEND_LINE, _SWATCH = 18, 26


def _legend_rows(paper: Paper) -> tuple[int, int]:
    """Columns and rows of the legend."""
    names = [one.name for one in paper.chart.series]
    if len(names) == 1:
        return 1, 0
    widest = min(max(text_width(name) for name in names) + _SWATCH + 14, paper.width)
    columns = min(max(int(paper.width // widest), 1), len(names))
    return columns, -(-len(names) // columns)


def _draw_legend(paper: Paper, axes: Axes, left: float) -> None:
    """Name the series above the axes, from the left edge of the picture, which is `left` pixels beside them."""
    columns, rows = _legend_rows(paper)
    if not rows:
        return
    names = [one.name for one in paper.chart.series]
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    moved = ScaledTranslation(-left / _PIXELS_PER_INCH, 20 / _PIXELS_PER_INCH, axes.figure.dpi_scale_trans)
    axes.legend(
        [handles[name] for name in names],
        [_fitted(name, paper.width - _SWATCH) for name in names],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        bbox_transform=axes.transAxes + moved,
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


def _columns(paper: Paper) -> Drawing:
    """Bars of periods, stacked from zero, with lines over them."""
    above = 26 + _LEGEND_LINE * _legend_rows(paper)[1]
    return _plot_height(paper) + above + _PERIODS, (_AMOUNTS, 4, above, _PERIODS), _draw_columns


def _draw_columns(paper: Paper, axes: Axes) -> None:
    count = len(paper.chart.places)
    places = np.arange(count)
    width = min(0.7, 0.1 * count)
    above, below = np.zeros(count), np.zeros(count)
    for series in paper.chart.series:
        sizes = np.array([np.nan if size is None else size for size in series.sizes])
        colour = paper.colour(series.colour)
        if series.is_line:
            marker: dict[str, Any] = {"marker": "D", "markersize": 4} if count * 14 < paper.width else {}
            axes.plot(places, sizes, color=colour, linewidth=series.width, label=series.name, **marker)
            for place, text in enumerate(series.shown):
                if text:
                    axes.annotate(
                        text,
                        (place, sizes[place]),
                        xytext=(0, 8),
                        textcoords="offset points",
                        ha="right" if place > count / 2 else "left",
                        color=paper.colour(INK),
                        fontweight="bold",
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
    room = (high - low) * (0.12 if paper.chart.series[-1].shown else 0.03) or 1.0
    left = _amount_axis(paper, axes, low - room * (low < 0), high + room * (high > 0 or low == high))
    _period_axis(paper, axes)
    _draw_legend(paper, axes, left)


def _period_axis(paper: Paper, axes: Axes) -> None:
    """Label as many periods as have room."""
    places = paper.chart.places
    widest = max(text_width(one) for place in places for one in (place.name, place.year)) + 12
    labels = labelled_places(places, int((paper.width - _AMOUNTS) // widest))
    axes.set_xlim(-0.5, len(places) - 0.5)
    _write_ticks(paper, axes, labels)


def _write_ticks(paper: Paper, axes: Axes, labels: Sequence[tuple[float, str]]) -> None:
    """Write labels below an axis, within the picture; the year is on a second line."""
    axes.set_xticks([at for at, _ in labels], labels=[""] * len(labels))
    for at, text in labels:
        for line, part in enumerate(text.split("\n")):
            axes.annotate(
                part,
                (at, 0),
                xycoords=("data", "axes fraction"),
                xytext=(_offset_within(paper, axes, at, text_width(part)), -17 - 15 * line),
                textcoords="offset points",
                ha="center",
                color=paper.colour(MUTED),
            )


def _offset_within(paper: Paper, axes: Axes, at: float, width: float, left: float = 0.0) -> float:
    """Return how many pixels a text of a width, centred on a place of an axis, is moved to be within the picture."""
    box, (first, last) = axes.get_position(), axes.get_xlim()
    across = paper.width + 2 * paper.margin
    centre = box.x0 * across - paper.margin + (at - first) / (last - first) * box.width * across
    beside = width / 2 + 1  # browsers round
    return float(max(min(centre, paper.width - beside), left + beside) - centre)


_MOST_BESIDE = 0.3
"""Part of a picture that the label of the last day may take beside it."""


def _days(paper: Paper) -> Drawing:
    """Step lines of days, whose last amount is written beside them."""
    above = 26 + _LEGEND_LINE * _legend_rows(paper)[1]
    return _plot_height(paper) + above + _PERIODS, (_AMOUNTS, _room_beside(paper) or 6, above, _PERIODS), _draw_days


def _room_beside(paper: Paper) -> float:
    """Room for the label of the last day beside it; none where it takes too much of the picture."""
    labels = [text for _, text, is_low in paper.chart.series[-1].labelled_days() if not is_low]
    room = max((text_width(text, bold=True) + 14 for text in labels), default=0.0)
    return room if room < paper.width * _MOST_BESIDE else 0.0


def _draw_days(paper: Paper, axes: Axes) -> None:
    days = [dt.date.fromisoformat(place.label) for place in paper.chart.places]
    edges = [*days, days[-1] + dt.timedelta(days=1)]
    for series in paper.chart.series:
        sizes = [np.nan if size is None else size for size in series.sizes]
        style: dict[str, Any] = {
            "color": paper.colour(series.colour),
            "linewidth": series.width,
            "linestyle": _DASHES[DASHES[series.number]],
        }
        axes.plot(date2num(edges), [*sizes, sizes[-1]], drawstyle="steps-post", label=series.name, **style)
    sizes = [size for series in paper.chart.series for size in series.sizes if size is not None]
    low, high = min([0.0, *sizes]), max([0.0, *sizes])
    room = (high - low) * 0.12 or 1.0
    left = _amount_axis(paper, axes, low - room, high + room)
    axes.set_xlim(date2num(edges[0]), date2num(edges[-1]))
    last = paper.chart.series[-1]
    for at, text, is_low in last.labelled_days():
        point = (float(date2num(days[at])) + (0.5 if is_low else 1), last.sizes[at] or 0.0)
        axes.plot(
            *point,
            marker="v" if is_low else "D",
            markersize=6 if is_low else 4,
            color=paper.colour(last.colour),
            clip_on=False,
        )
        is_beside = not is_low and bool(_room_beside(paper))
        moved = _offset_within(paper, axes, point[0], text_width(text, bold=True), left)
        axes.annotate(
            text,
            point,
            xytext=(7, 0) if is_beside else (moved, -8 if is_low else 8),
            textcoords="offset points",
            ha="left" if is_beside else "center",
            va="center" if is_beside else "top" if is_low else "bottom",
            color=paper.colour(INK),
            fontweight="bold",
            bbox=None if is_beside else {"facecolor": paper.colour(GROUND), "edgecolor": "none", "pad": 1},
        )
    pixels = axes.get_position().width * (paper.width + 2 * paper.margin)
    most = max(int(pixels / 60), 2)
    locator = AutoDateLocator(minticks=min(2, len(days)), maxticks=most, interval_multiples=True)
    ticks = [
        one
        for one in num2date(locator.tick_values(*map(_midnight, (edges[0], edges[-1]))))
        if edges[0] <= one.date() < edges[-1]
    ]
    labels, shown_year = [], 0
    is_monthly = all(tick.day == 1 for tick in ticks) and len(days) > 62  # noqa: PLR2004 (two months)
    for tick in ticks:
        name = month_name(tick) if is_monthly else f"{tick.day} {month_name(tick)}"
        labels.append(name if tick.year == shown_year else f"{name}\n{tick.year}")
        shown_year = tick.year
    places = [float(date2num(one.date())) + (0 if is_monthly else 0.5) for one in ticks]
    _write_ticks(paper, axes, list(zip(places, labels, strict=True)))
    _draw_legend(paper, axes, left)


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)


_NAMES = 0.36
"""Part of a picture that names take at most."""
_NARROW_ROW, _WIDE_ROW, _BAR = 38, 27, 14


def _rows(paper: Paper) -> Drawing:
    """Bars with their names and amounts: beside them, or above them on a narrow picture."""
    (series,) = paper.chart.series
    height = (_WIDE_ROW if paper.is_wide else _NARROW_ROW) * len(paper.chart.places)
    below = 42 if paper.chart.kind == "steps" else 22
    sides: Sides = (2, 2, 0, below)
    if paper.is_wide:
        names = max(text_width(place.label, bold=True) for place in paper.chart.places)
        amounts = max(text_width(text, bold=True) for text in series.shown)
        sides = (min(names + 1, paper.width * _NAMES) + 14, amounts + 14, 0, below)
    return height + below, sides, _draw_rows


def _draw_rows(paper: Paper, axes: Axes) -> None:
    chart, (series,) = paper.chart, paper.chart.series
    bars, last = _bars(chart), len(chart.places) - 1
    row = _WIDE_ROW if paper.is_wide else _NARROW_ROW
    below = 0.0 if paper.is_wide else (_NARROW_ROW - _BAR) / 2 / row - 0.06
    places = np.arange(last + 1) + below
    starts, sizes, colours = zip(*bars, strict=True)
    axes.barh(places, sizes, _BAR / row, starts, color=[paper.colour(one) for one in colours], zorder=2)
    for place, text in enumerate(series.shown):
        is_total = chart.kind == "steps" and place in {0, last}
        _write_row(paper, axes, place, chart.places[place].label, text, is_bold=is_total)
    ends = [0.0, *(start + size for start, size, _ in bars)]
    room = (max(ends) - min(ends)) * 0.01 or 1.0
    axes.set_xlim(min(ends) - room * (min(ends) < 0), max(ends) + room)
    axes.set_ylim(last + 0.5, -0.5)
    axes.set_yticks([])
    axes.set_xticks([])
    muted: dict[str, Any] = {"color": paper.colour(MUTED), "linewidth": 1, "zorder": 1}
    if chart.kind == "steps":
        locator = MaxNLocator(nbins=max(3, int(paper.width / 140)), steps=[1, 2, 2.5, 5, 10])
        first, last_amount = axes.get_xlim()
        ticks = [float(one) for one in locator.tick_values(first, last_amount) if first <= one <= last_amount]
        _write_ticks(paper, axes, [(one, tick_text(one)) for one in ticks])
        levels = ends[1:-1]
        if paper.is_wide:
            axes.grid(axis="x", color=paper.colour(RULE), linewidth=1)
            axes.set_axisbelow(True)
            axes.vlines(levels, np.arange(last), np.arange(last) + 1, linestyles=(0, (2, 2)), **muted)
    if paper.is_wide:
        axes.axvline(0, **muted)
    else:  # a rule of the whole height would cross the names
        axes.vlines([0] * len(bars), places - _BAR / row / 2, places + _BAR / row / 2, **muted)
    _write_below(paper, axes, chart.unit)


def _bars(chart: ChartMarks) -> list[tuple[float, float, str]]:
    """Start, size and colour of each bar; one of a waterfall starts where the one before ends."""
    (series,) = chart.series
    sizes = [size or 0.0 for size in series.sizes]
    if chart.kind == "rows":
        return [(0.0, size, series.colour) for size in sizes]
    sums = list(itertools.accumulate(sizes))
    changes = [
        (start, size, INFLOW_COLOUR if size >= 0 else OUTFLOW_COLOUR)
        for start, size in zip(sums, sizes[1:-1], strict=False)
    ]
    return [(0.0, sizes[0], BALANCE_COLOUR), *changes, (0.0, sizes[-1], BALANCE_COLOUR)]


def _write_below(paper: Paper, axes: Axes, text: str) -> None:
    """Write a text at the lower left of the picture."""
    across, down = paper.width + 2 * paper.margin, paper.height + 2 * paper.margin
    text = _fitted(text, paper.width)
    axes.figure.text(paper.margin / across, (paper.margin + 4) / down, text, color=paper.colour(MUTED))


def _write_row(paper: Paper, axes: Axes, place: float, name: str, text: str, *, is_bold: bool) -> None:
    """Write name and amount of a row: at the edges of the picture, beside its bar or above it."""
    box = axes.get_position()
    across = paper.width + 2 * paper.margin
    edges = [(paper.margin / across - box.x0) / box.width, (1 - paper.margin / across - box.x0) / box.width]
    room = paper.width * _NAMES if paper.is_wide else paper.width - text_width(text, bold=True) - 14
    at: dict[str, Any] = {
        "transform": axes.get_yaxis_transform(),
        "color": paper.colour(INK),
        "va": "center",
        "fontsize": _TEXT,
    }
    down = place if paper.is_wide else place - 0.22
    axes.text(
        edges[0], down, _fitted(name, room, bold=is_bold), ha="left", fontweight="bold" if is_bold else "normal", **at
    )
    axes.text(edges[1], down, text, ha="right", fontweight="bold", **at)


_CELL, _WIDE_CELL_ROW, _NARROW_CELL_ROW, _CELL_NAMES = 22, 26, 42, 0.3


def _cells(paper: Paper) -> Drawing:
    """Rows of cells, the deeper in colour the larger, with their amounts where these have room."""
    row = _WIDE_CELL_ROW if paper.is_wide else _NARROW_CELL_ROW
    names = max(text_width(series.name) for series in paper.chart.series)
    left = min(names + 1, paper.width * _CELL_NAMES) + 12 if paper.is_wide else 0
    below = _PERIODS + (0 if _cells_fit(paper, left) else 18)
    return row * len(paper.chart.series) + below, (left, 0, 0, below), _draw_cells


def _cells_fit(paper: Paper, left: float) -> bool:
    """Whether the amounts have room in their cells."""
    width = (paper.width - left) / len(paper.chart.places)
    return all(
        text_width(text, _cell_size(paper)) <= width - 2 for series in paper.chart.series for text in series.shown
    )


def _cell_colour(paper: Paper, series: Series, size: float | None) -> tuple[str, float] | str:
    """Colour of a cell and its opacity; none where there is nothing, or what came back."""
    if size is None or size <= 0:
        return "none"
    return paper.colour(series.colour), cell_opacity(size / float(paper.chart.full))


def _cell_size(paper: Paper) -> float:
    return _SMALL if paper.is_wide else _SMALLEST


def _draw_cells(paper: Paper, axes: Axes) -> None:
    chart, count = paper.chart, len(paper.chart.places)
    box = axes.get_position()
    across = paper.width + 2 * paper.margin
    left = box.x0 * across - paper.margin
    row = _WIDE_CELL_ROW if paper.is_wide else _NARROW_CELL_ROW
    down = 0.0 if paper.is_wide else 0.22
    fits = _cells_fit(paper, left)
    gap = 0.5 * count / (paper.width - left)
    start, width = np.arange(count) - 0.5 + gap, 1 - 2 * gap
    ink, half = paper.colour(INK), _CELL / row / 2
    for place, series in enumerate(chart.series):
        name = _fitted(series.name, left - 12 if paper.is_wide else paper.width)
        above = place if paper.is_wide else place - 0.25
        axes.text(
            -left / (paper.width - left), above, name, transform=axes.get_yaxis_transform(), va="center", color=ink
        )
        middle = place + down
        colours = [_cell_colour(paper, series, size) for size in series.sizes]
        axes.broken_barh([(one, width) for one in start], (middle - half, 2 * half), facecolors=colours, linewidth=0)
        empty = start[[colour == "none" for colour in colours]]
        if len(empty):
            bottoms = [middle + half] * len(empty)
            axes.hlines(bottoms, empty, empty + width, paper.colour(RULE), linewidth=1)
        for column, text in enumerate(series.shown if fits else ()):
            axes.text(column, middle, text, ha="center", va="center", fontsize=_cell_size(paper), color=ink)
    axes.set_ylim(len(chart.series) - 0.5, -0.5)
    axes.set_yticks([])
    _period_axis(paper, axes)
    if not fits:
        _write_below(paper, axes, f"the deepest colour is {chart.full:,.0f} or more")


_BODIES: dict[str, Callable[[Paper], Drawing]] = {
    "columns": _columns,
    "days": _days,
    "steps": _rows,
    "rows": _rows,
    "cells": _cells,
}


@cache
def text_width(text: str, size: float = _TEXT, *, bold: bool = False) -> float:
    """Width of a text in pixels, in the font that matplotlib brings; letters that it lacks are as wide as high."""
    font = FontProperties(family=[_FONT], size=size, weight="bold" if bold else "normal")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        width, _, _ = TextToPath().get_text_width_height_descent(printable(text, " "), font, ismath=False)
    return float(width)


def _wrapped(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """Text on lines of a width, broken between words."""
    letters = len(text)
    lines = [text]
    while letters > 1 and any(text_width(line, size, bold=bold) > width for line in lines):
        letters -= 1
        lines = textwrap.wrap(text, letters, break_on_hyphens=False)
    return lines


def _fitted(text: str, width: float, *, bold: bool = False) -> str:
    """Text without its middle where it is wider than there is room."""
    letters = 2 * len(text)  # letters of two columns too
    fitted = shortened(text, letters)
    while letters > 2 and text_width(fitted, bold=bold) > width:  # noqa: PLR2004 (a letter and the sign of what is left out)
        letters -= 1
        fitted = shortened(text, letters)
    return fitted


_COLOURS = {shown: name for colour, name in COLOUR_NAMES.items() for shown in (colour, ON_DARK[colour])}
_COLOUR = re.compile("#[0-9a-f]{6}")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?=[ \"])")
_TAG = re.compile("<[^>]+>")
_AROUND = re.compile("<metadata>.*?</metadata>|<style.*?</style>|<clipPath.*?</clipPath>|</?g[^>]*>", re.DOTALL)
"""What matplotlib writes around the elements of a drawing, which a page does not need."""
_NOT_NEEDED = re.compile(r' clip-path="[^"]*"| transform="rotate\(-0 [^"]*"|(?:font-family|stroke-line\w+): [^;"]*;? ?')


def _page_element(drawn: str, words: str, width: int, height: float) -> str:
    """Write what matplotlib drew as one SVG element for a page, which may give its colours other values.

    `words` are what is read aloud. Coordinates have one digit behind the point; texts have the fonts of the page.
    """
    inside = drawn[drawn.index("<metadata>") : drawn.rindex("</svg>")]
    elements = re.sub(r">\s+<", "><", _TAG.sub(_short_tag, _AROUND.sub("", inside))).strip()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {width} {height:g}" width="{width}" height="{height:g}" role="img" aria-label="{escape(words)}" '
        f'class="accounting-analytics-picture" font-family="{_SVG_FONTS}" style="{_SVG_STYLE}">'
        f"{elements}</svg>"
    )


def _short_tag(tag: re.Match[str]) -> str:
    """Write a tag without what is not needed or too small to be seen, and with colours that the page may set."""
    short = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), _NOT_NEEDED.sub("", tag[0]))
    short = " ".join(short.split()).replace(": ", ":").replace("; ", ";").replace(';"', '"')
    return _COLOUR.sub(lambda found: _variable(found[0]), short)


def _variable(colour: str) -> str:
    return f"var(--{_COLOURS[colour]},{colour})" if colour in _COLOURS else colour
