"""Draw a chart with matplotlib, from the data of its figure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, overload

import plotly.graph_objects as go

from accounting_analytics.arguments import require_type
from accounting_analytics.charts.labels import CLASSES, ON_DARK
from accounting_analytics.charts.static_pictures.bars import draw_bars
from accounting_analytics.charts.static_pictures.canvas import Canvas, page_element
from accounting_analytics.charts.static_pictures.heat_maps import draw_heat_map
from accounting_analytics.charts.static_pictures.horizontal_bars import draw_horizontal_bars
from accounting_analytics.charts.static_pictures.lines import draw_lines
from accounting_analytics.charts.static_pictures.sheet import draw_head, draw_message, message_of, plain
from accounting_analytics.charts.static_pictures.waterfalls import draw_waterfall
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_WIDTH = 720
_LEAST, _MOST = 240, 4000

PICTURE_STYLE = (
    "@media screen and (prefers-color-scheme: dark){"
    + "".join(
        f".accounting-analytics-picture .{part}-{name}{{{part}:{ON_DARK[colour]}}}"
        for colour, name in CLASSES.items()
        for part in ("fill", "stroke")
    )
    + "}"
)
"""Style with which a page shows its SVG pictures in dark colours on a dark screen; paper stays light."""


@overload
def static_picture(
    figure: go.Figure, *, format: Literal["svg"] = ..., width: int = ..., dark: bool = ..., title: bool = ...
) -> str: ...
@overload
def static_picture(
    figure: go.Figure, *, format: Literal["png"], width: int = ..., dark: bool = ..., title: bool = ...
) -> bytes: ...
def static_picture(
    figure: go.Figure,
    *,
    format: Literal["svg", "png"] = "svg",  # noqa: A002 (as in matplotlib and pandas)
    width: int = DEFAULT_WIDTH,
    dark: bool = False,
    title: bool = True,
) -> str | bytes:
    """Draw a chart of this package without a browser: the same data, the same bytes.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        As one of the functions of ``charts`` returns it.
    format : {"svg", "png"}
        An SVG element for a page, whose text is text, or the bytes of a PNG file with two dots per pixel.
    width : int
        In CSS pixels, 240 to 4000. Text keeps its size, so 360 is for a telephone and 720 for a page; an SVG element
        becomes narrower with its page, and its text smaller.
    dark : bool
        Colours of a dark page. An SVG element in light colours also becomes dark with
        ``charts.static_pictures.PICTURE_STYLE`` in a page.
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
    require_type(figure, go.Figure, "figure", "pass what a function of charts returns")
    if format not in {"svg", "png"}:
        raise InputError(f"format must be svg or png, not {quote(format)}")
    if isinstance(width, bool) or not isinstance(width, int) or not _LEAST <= width <= _MOST:
        raise InputError(f"width must be a whole number of pixels from {_LEAST} to {_MOST}, not {quote(width)}")
    draw = _drawing(figure)
    canvas = Canvas(width)
    top = draw_head(canvas, figure, with_title=title)
    message = message_of(figure)
    bottom = draw_message(canvas, message, top) if message else draw(canvas, figure, top)
    salt = hashlib.sha256(f"{figure.to_json()}{width}{title}".encode()).hexdigest()
    drawn = canvas.render(format, bottom, salt=salt, dark=dark)
    return drawn if format == "png" else page_element(drawn, _label(figure), width, bottom)


def _drawing(figure: go.Figure) -> Callable[[Canvas, go.Figure, float], float]:
    """Choose how a figure is drawn by the kinds of its marks."""
    kinds = {"two axes" if trace.to_plotly_json().get("yaxis") == "y2" else trace.type for trace in figure.data}
    if kinds == {"waterfall"}:
        return draw_waterfall
    if kinds == {"heatmap"}:
        return draw_heat_map
    if kinds == {"bar"} and figure.data[0].orientation == "h":
        return draw_horizontal_bars
    if "bar" in kinds and kinds <= {"bar", "scatter"}:
        return draw_bars
    if kinds == {"scatter"}:
        return draw_lines if figure.layout.xaxis.type == "date" else draw_bars
    if not kinds and message_of(figure):
        return draw_bars
    raise InputError("figure has other marks than the charts of this package; pass what a function of charts returns")


def _label(figure: go.Figure) -> str:
    """Text for people who hear a page: the title and its remarks."""
    remarks = plain(figure.layout.title.subtitle.text)
    return ", ".join(filter(None, [plain(figure.layout.title.text), *remarks.split(" · ")]))
