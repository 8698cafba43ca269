"""Where elements may stand in the page of a pack, so that every parser builds the same document, and loads nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
RAW = frozenset({"script", "style"})
"""Elements whose text is not escaped."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IN_HEAD = _names("link meta script style title")
_ONLY_IN_HEAD = _names("link meta title")
_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_BLOCKS = _HEADINGS | _names(
    "address article aside blockquote details dialog div dl dd dt figcaption figure footer header hgroup hr li main "
    "nav ol p pre section summary table ul"
)
_INLINE = _names(
    "a abbr b bdi bdo br button cite code data del em i img input ins kbd label mark meter output progress q s samp "
    "small span strong sub sup svg time u var wbr"
)
_PARENTS = {
    "html": {""},
    "head": {"html"},
    "body": {"html"},
    "caption": {"table"},
    "colgroup": {"table"},
    "col": {"colgroup"},
    "thead": {"table"},
    "tbody": {"table"},
    "tfoot": {"table"},
    "tr": {"thead", "tbody", "tfoot"},
    "th": {"tr"},
    "td": {"tr"},
    "li": {"ul", "ol"},
    "dt": {"dl"},
    "dd": {"dl"},
    "summary": {"details"},
} | {name: {"head"} for name in _ONLY_IN_HEAD}
"""Elements that have one place, with their possible parents."""

_HTML = _BLOCKS | _INLINE | _IN_HEAD | frozenset(_PARENTS)
_SVG = _names(
    "circle clippath defs desc ellipse g image line lineargradient marker mask path pattern polygon polyline "
    "radialgradient rect stop style svg symbol text textpath title tspan use"
)
_CHILDREN = {
    "": {"html"},
    "html": {"head", "body"},
    "head": _IN_HEAD,
    "table": {"caption", "colgroup", "thead", "tbody", "tfoot"},
    "colgroup": {"col"},
    "thead": {"tr"},
    "tbody": {"tr"},
    "tfoot": {"tr"},
    "tr": {"th", "td"},
}
"""Elements that contain nothing but these, and no text but white space."""

_ATTRIBUTE_NAME = re.compile(r"[a-z][a-z0-9_:.-]*")
_ADDRESSES = _names("action background data formaction href poster src srcset xlink:href")
_STYLE_PARTS = re.compile(
    r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|url\(\s*[\"']?(?:data:|#)[^)]*\)"
    r"|(?P<loads>url\(|@import|image-set\(|\\)",
    re.IGNORECASE | re.DOTALL,
)
"""Parts of a style that load nothing (comments, texts, data), and those that may; escapes outside of texts may."""

_ONLY_TEXT = _names("desc title")
_PARAGRAPH_ENDS = frozenset({"button", "caption", "td", "th"})


def refuse_element(name: str, ancestors: Sequence[str]) -> str:
    """Why a browser would put an element elsewhere than where it is written, or "" where it is in its place."""
    parent = ancestors[-1] if ancestors else ""
    if parent in _ONLY_TEXT:
        return f"<{name}> cannot be in <{parent}>"
    if "svg" in ancestors:
        return "" if name in _SVG else f"<{name}> is not an element of pictures in packs"
    if name not in _HTML:
        return f"<{name}> is not an element of packs"
    is_misplaced = name not in _CHILDREN.get(parent, {name}) or parent not in _PARENTS.get(name, {parent})
    if is_misplaced or (name in _HEADINGS and parent in _HEADINGS):
        return f"<{name}> cannot be in {_tag(parent)}"
    if name in {"a", "button"} and name in ancestors:
        return f"<{name}> cannot be in <{name}>"
    return f"<{name}> cannot be in <p>" if name in _BLOCKS and _has_open_paragraph(ancestors) else ""


def refuse_text(ancestors: Sequence[str]) -> str:
    """Why a browser would put text elsewhere than where it is written, or "" where it is in its place."""
    parent = ancestors[-1] if ancestors else ""
    return f"text cannot be in {_tag(parent)}" if parent in _CHILDREN else ""


def refuse_attribute(name: str, key: str, value: str) -> str:
    """Why an attribute cannot be in a pack, or "": it runs code, or loads what is not in the file."""
    if not _ATTRIBUTE_NAME.fullmatch(key) or key.startswith("on"):
        return f"<{name}> has an attribute {key[:20]!r}, which packs do not have"
    if key in _ADDRESSES and name != "a" and not value.startswith(("data:", "#")):
        return f"<{name}> loads something: its {key} is neither data: nor #"
    return refuse_style(value) if key == "style" else ""


def refuse_style(text: str) -> str:
    """Why a style cannot be in a pack, or "": it loads what is not in the file."""
    loads = any(part["loads"] for part in _STYLE_PARTS.finditer(text))
    return "a style loads something: packs have no @import and only url(data:...) or url(#...)" if loads else ""


def _has_open_paragraph(ancestors: Sequence[str]) -> bool:
    """Whether a paragraph is open that the beginning of a block would end."""
    for name in reversed(ancestors):
        if name == "p":
            return True
        if name in _PARAGRAPH_ENDS:
            return False
    return False


def _tag(name: str) -> str:
    return f"<{name}>" if name else "the document"
