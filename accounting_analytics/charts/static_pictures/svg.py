"""SVG of matplotlib as a small element of a page: no head, groups or font metrics; text as text."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from accounting_analytics.charts.colours import CLASSES, ON_DARK

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE = "{http://www.w3.org/2000/svg}"
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif"
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
        f'font-family="{_FONTS}" style="max-width:100%;height:auto">'
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
