"""A sheet in CSS pixels, from the top left, on which matplotlib draws."""

from __future__ import annotations

import io
import unicodedata
import warnings
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from accounting_analytics.charts.colours import GROUND, ON_DARK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.artist import Artist

Anchor = Literal["start", "middle", "end"]
_ALIGNMENT: dict[str, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
_POINTS_PER_INCH = 72  # a CSS pixel of the sheet is a point of matplotlib
_PNG_DOTS, _PNG_MARGIN = 2, 14
"""Dots of a PNG file per CSS pixel, so that it is sharp on telephones, and pixels around the drawing."""
_FONTS = (
    *("Segoe UI", "Helvetica Neue", "Roboto", "Noto Sans", "Liberation Sans", "Arial", "DejaVu Sans"),
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei", "Noto Sans Arabic"),
)
"""Fonts of PNG files in their order, of which those that are installed are used; SVG text has those of its reader."""
_NARROW, _WIDE = 0.32, 1.0
_UPPER, _OTHER = 0.7, 0.57
SMALL, NORMAL = 11.5, 12.5
"""Font sizes."""


class Canvas:
    """What is drawn, in its order; the height of the sheet is known at the end."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._drawn: list[Callable[[Callable[[str], str]], Artist]] = []

    def rectangle(
        self,
        across: tuple[float, float],
        down: tuple[float, float],
        colour: str,
        hatch: str = "",
        *,
        opacity: float = 1,
    ) -> None:
        """Draw a filled rectangle between two sides, with lines of the ground over it where there is a hatch."""
        corner = (min(across), min(down))
        size = (max(across) - min(across), max(down) - min(down))

        def make(shown: Callable[[str], str]) -> Artist:
            edge = shown(GROUND) if hatch else "none"
            return Rectangle(
                corner,
                *size,
                facecolor=shown(colour),
                edgecolor=edge,
                hatch=hatch or None,
                linewidth=0,
                alpha=None if opacity == 1 else opacity,
            )

        self._drawn.append(make)

    def line(
        self, points: Sequence[tuple[float, float]], colour: str, width: float = 1, dash: Sequence[float] = ()
    ) -> None:
        """Draw a line through points."""

        def make(shown: Callable[[str], str]) -> Artist:
            across, down = zip(*points, strict=True)
            style: Any = (0, tuple(dash)) if dash else "solid"
            return Line2D(across, down, color=shown(colour), linewidth=width, linestyle=style, solid_joinstyle="miter")

        self._drawn.append(make)

    def polygon(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Draw a filled shape."""

        def make(shown: Callable[[str], str]) -> Artist:
            return Polygon(list(points), closed=True, facecolor=shown(colour), edgecolor="none")

        self._drawn.append(make)

    def text(
        self,
        across: float,
        baseline: float,
        text: str,
        colour: str,
        *,
        anchor: Anchor = "start",
        size: float = SMALL,
        bold: bool = False,
    ) -> None:
        """Write a text on one line."""

        def make(shown: Callable[[str], str]) -> Artist:
            return Text(
                across,
                baseline,
                text,
                color=shown(colour),
                fontsize=size,
                fontweight="bold" if bold else "normal",
                horizontalalignment=_ALIGNMENT[anchor],
                verticalalignment="baseline",
                parse_math=False,
            )

        self._drawn.append(make)

    def render(self, kind: Literal["svg", "png"], height: float, *, salt: str, dark: bool) -> bytes:
        """Write the sheet as matplotlib does: the same bytes for the same drawing."""
        settings: Any = {
            "svg.fonttype": "none",
            "svg.hashsalt": salt,
            "font.family": _installed_fonts(),
            "hatch.linewidth": 1.2,
            "path.simplify": False,
        }
        written = io.BytesIO()
        with mpl.rc_context(settings), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # SVG text has its reader's fonts
            figure = self._draw(height, partial(_shown, dark=dark), 0 if kind == "svg" else _PNG_MARGIN)
            if kind == "svg":
                figure.patch.set_visible(False)
                FigureCanvasSVG(figure).print_svg(written, metadata={"Date": None})
            else:
                figure.set_dpi(_POINTS_PER_INCH * _PNG_DOTS)
                FigureCanvasAgg(figure).print_png(written, metadata={"Software": None})
        return written.getvalue()

    def _draw(self, height: float, shown: Callable[[str], str], margin: int) -> Figure:
        across, down = self.width + 2 * margin, height + 2 * margin
        size = (across / _POINTS_PER_INCH, down / _POINTS_PER_INCH)
        figure = Figure(figsize=size, dpi=_POINTS_PER_INCH, facecolor=shown(GROUND))
        pixels = Affine2D().translate(margin, margin - down).scale(1 / _POINTS_PER_INCH, -1 / _POINTS_PER_INCH)
        for place, make in enumerate(self._drawn):
            artist = make(shown)
            artist.set_transform(pixels + figure.dpi_scale_trans)
            artist.set_zorder(place)
            figure.add_artist(artist)
        return figure


def _shown(colour: str, *, dark: bool) -> str:
    return ON_DARK.get(colour, colour) if dark else colour


@cache
def _installed_fonts() -> list[str]:
    installed = set(fontManager.get_font_names())
    return [one for one in _FONTS if one in installed]


def text_width(text: str, size: float = SMALL, *, bold: bool = False) -> float:
    """Width that a text takes at most, whatever sans-serif font its reader has."""
    ems = sum(_em(character) for character in text)
    return ems * size * (1.06 if bold else 1)


def _em(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return _WIDE
    if character in "iljtfrI.,:;'|!()[] ·-":
        return _NARROW
    return _UPPER if character.isupper() or character in "mwMW%@…" else _OTHER


def fitted(text: str, width: float, size: float = SMALL, *, bold: bool = False) -> str:
    """Text without its middle where it is wider than there is room."""
    if text_width(text, size, bold=bold) <= width:
        return text
    kept = len(text) - 1
    while kept > 1:
        end = (kept - 1) // 2
        cut = f"{text[: kept - end].rstrip()}…{text[len(text) - end :].lstrip()}"
        if text_width(cut, size, bold=bold) <= width:
            return cut
        kept -= 1
    return "…"
