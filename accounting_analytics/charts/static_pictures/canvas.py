"""The canvas of static pictures: text and shapes on matplotlib, written as PNG or SVG."""

from __future__ import annotations

import io
import re
import unicodedata
import warnings
from functools import cache, partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from accounting_analytics.charts.labels import CLASSES, GROUND, ON_DARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.artist import Artist


_SPACE = "{http://www.w3.org/2000/svg}"
_SVG_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif"
_NUMBER = re.compile(r"-?\d+\.\d+")
_NOT_DRAWN = ("defs", "metadata", "style")
_COLOUR_CLASSES = {shown: name for colour, name in CLASSES.items() for shown in (colour, ON_DARK[colour])}


def page_element(drawn: bytes, label: str, width: int, height: float) -> str:
    """Write what matplotlib drew as one SVG element, which a parser of HTML leaves as it is.

    `label` is what is read aloud. An element in a colour that dark pages have another for has a class of its name, such
    as ``fill-ink``, and the colour in an attribute, which a style of the page replaces.
    """
    root = ET.fromstring(drawn)  # noqa: S314 (what matplotlib wrote)
    patterns = "".join(_pattern(one) for one in root.iter(f"{_SPACE}pattern"))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}" '
        f'height="{height:g}" role="img" aria-label="{escape(label)}" class="accounting-analytics-picture" '
        f'font-family="{_SVG_FONTS}" style="max-width:100%;height:auto">'
    )
    return f"{head}{f'<defs>{patterns}</defs>' if patterns else ''}{''.join(_elements(root))}</svg>"


def _elements(parent: ET.Element) -> Iterator[str]:
    """Paths and texts in their order, without the groups around them."""
    for child in parent:
        name = child.tag.removeprefix(_SPACE)
        if name == "path":
            yield _path(child)
        elif name == "text":
            yield _text(child)
        elif name not in _NOT_DRAWN:
            yield from _elements(child)


def _path(path: ET.Element) -> str:
    styles = _styles(path)
    attributes = {"d": _steps(path.get("d", "")), "fill": styles.get("fill", "#000000")}
    if styles.get("opacity", "1") != "1":
        attributes["fill-opacity"] = styles["opacity"]
    if "stroke" in styles:
        attributes["stroke"] = styles["stroke"]
        for name in ("stroke-width", "stroke-dasharray"):
            if styles.get(name, "1") != "1":
                attributes[name] = styles[name]
    return _element("path", attributes)


def _text(text: ET.Element) -> str:
    styles = _styles(text)
    attributes = {
        "x": _rounded(f"{float(text.get('x', '0')):.2f}"),
        "y": _rounded(f"{float(text.get('y', '0')):.2f}"),
        "fill": styles.get("fill", "#000000"),
        "font-size": styles["font-size"].removesuffix("px"),
    }
    if "text-anchor" in styles:
        attributes["text-anchor"] = styles["text-anchor"]
    if styles.get("font-weight") == "700":
        attributes["font-weight"] = "600"
    return _element("text", attributes, escape("".join(text.itertext()).strip(), quote=False))


def _pattern(pattern: ET.Element) -> str:
    """Lines over a colour, of a hatched mark."""
    ground, lines = pattern
    attributes = {name: pattern.get(name, "") for name in ("id", "patternUnits", "width", "height")}
    colour = {name: ground.get(name, "") for name in ("width", "height", "fill")}
    return _element("pattern", attributes, _element("rect", colour) + _path(lines))


def _steps(path: str) -> str:
    """Path whose level and upright lines name one coordinate, as most lines of charts are."""
    parts = _rounded(path).split()
    written, across, down = [], "", ""
    for place, command in enumerate(parts):
        if command in {"M", "L"}:
            to = parts[place + 1], parts[place + 2]
            if command == "L" and to[1] == down:
                written.append(f"H{to[0]}")
            elif command == "L" and to[0] == across:
                written.append(f"V{to[1]}")
            else:
                written.append(f"{command}{to[0]} {to[1]}")
            across, down = to
        elif command == "z":
            written.append("z")
    return "".join(written)


def _styles(element: ET.Element) -> dict[str, str]:
    pairs = (one.partition(":") for one in element.get("style", "").split(";") if one.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _rounded(text: str) -> str:
    """Coordinates with one digit behind the point, on one line."""
    short = _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), text)
    return " ".join(short.split())


def _element(name: str, attributes: dict[str, str], content: str = "") -> str:
    """Write an element with its end tag, and the classes of its colours."""
    classes = [
        f"{part}-{_COLOUR_CLASSES[attributes[part]]}"
        for part in ("fill", "stroke")
        if attributes.get(part) in _COLOUR_CLASSES
    ]
    texts = [f'{key}="{escape(value)}"' for key, value in attributes.items()]
    texts += [f'class="{" ".join(classes)}"'] if classes else []
    return f"<{name} {' '.join(texts)}>{content}</{name}>"


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
