"""The page of a pack as it is parsed: its one written form, its data, and the elements that show figures and facts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NoReturn

from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.pack_verification.element_rules import (
    RAW,
    VOID,
    refuse_attribute,
    refuse_element,
    refuse_style,
    refuse_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAME = re.compile(r"[a-z][a-z0-9:-]*")
_SPACE = " \t\n"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_DOCTYPE = "<!DOCTYPE html>\n"
_FOLLOWED_BY_NEWLINE = frozenset({"<html>", "</head>", "</body>", "</html>"})
_DATA_TYPES = frozenset({"application/json", "text/plain"})
_FINGERPRINT = "fingerprint"
_CHARSET_WITHIN = 1024  # bytes that browsers search for the encoding


@dataclass(frozen=True)
class PageElement:
    """An element of the page.

    Attributes
    ----------
    name : str
        Its name in lower case.
    attributes : dict
        Its attributes.
    line : int
        Line of the page where it begins.
    parent : PageElement or None
        The element around it.
    pieces : list of str
        Its own text, without that of the elements in it.
    """

    name: str
    attributes: dict[str, str]
    line: int
    parent: PageElement | None
    pieces: list[str] = field(default_factory=list)

    @property
    def own_text(self) -> str:
        """Own text without white space at its ends."""
        return "".join(self.pieces).strip(_SPACE)

    def with_parents(self) -> Iterator[PageElement]:
        """Iterate over the element and those around it."""
        element: PageElement | None = self
        while element is not None:
            yield element
            element = element.parent

    def nearest(self, attribute: str) -> str:
        """Value of an attribute of the nearest element that has it; empty without one."""
        return next((one.attributes[attribute] for one in self.with_parents() if attribute in one.attributes), "")


@dataclass(frozen=True)
class Page:
    """A parsed page.

    Attributes
    ----------
    elements : sequence of PageElement
        All elements in the order of the page.
    pieces : sequence of str
        The page in the form of packs, in pieces; those of `places` are its fingerprint.
    places : sequence of int
        Positions of the fingerprint among the pieces.
    """

    elements: Sequence[PageElement]
    pieces: Sequence[str]
    places: Sequence[int]

    def text(self, fingerprint: str | None = None) -> str:
        """Text of the page in the form of packs, with its own fingerprints or with another."""
        if fingerprint is None:
            return "".join(self.pieces)
        pieces = list(self.pieces)
        for place in self.places:
            pieces[place] = fingerprint
        return "".join(pieces)

    @property
    def fingerprints(self) -> list[str]:
        """The fingerprints as the page shows them."""
        return [self.pieces[place] for place in self.places]


def read_page(text: str) -> Page:
    """Parse a page; what two parsers might take for different documents is refused with its line."""
    reader = _PageReader()
    try:
        reader.feed(text)
        reader.close()
    except AssertionError as error:  # what html.parser raises for some markup that is not HTML
        reader.refuse(str(error))
    return reader.page()


class _PageReader(HTMLParser):
    """Collects elements and writes their form, as they are parsed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._elements: list[PageElement] = []
        self._open: list[PageElement] = []
        self._pieces: list[str] = []
        self._places: list[int] = []
        self._has_doctype = False
        self._has_encoding = False

    def page(self) -> Page:
        """Return what was parsed, if it is a whole page."""
        if self._open:
            self.refuse(f"<{self._open[-1].name}> of line {self._open[-1].line} has no end")
        names = [element.name for element in self._elements if element.parent and element.parent.parent is None]
        if not self._has_doctype or names != ["head", "body"]:
            self.refuse("a page is <!DOCTYPE html> and html with one head and one body")
        if not self._has_encoding:
            self.refuse('<meta charset="utf-8"> is not in the first kilobyte of the page')
        return Page(self._elements, self._pieces, self._places)

    def refuse(self, problem: str) -> NoReturn:
        """Raise the error of a place in the page."""
        raise InputError(f"line {self.getpos()[0]} of the page: {problem}")

    def handle_decl(self, decl: str) -> None:
        """Accept the one document type."""
        if decl.lower() != "doctype html" or self._has_doctype or self._elements:
            self.refuse(f"<!{quote(decl)[1:-1]}> instead of <!DOCTYPE html> at the beginning")
        self._has_doctype = True
        self._pieces.append(_DOCTYPE)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write a start tag, with its attributes in the order of their names."""
        element = self._begin(tag, attrs)
        if tag not in VOID or self._is_in_picture():
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write an element without content, which outside pictures only void elements are."""
        element = self._begin(tag, attrs)
        if self._is_in_picture() or tag == "svg":
            self._open.append(element)
            self.handle_endtag(tag)
        elif tag not in VOID:
            self.refuse(f"<{tag}/> does not end the element: write <{tag}></{tag}>")

    def handle_endtag(self, tag: str) -> None:
        """Write the end tag of the element that is open."""
        if not self._open or self._open[-1].name != tag:
            self.refuse(f"</{tag}> ends no open element")
        element = self._open.pop()
        if tag == "body":
            self._strip_end()
        self._write(f"</{tag}>")
        if tag in RAW:
            self._check_raw_text(element)

    def handle_data(self, data: str) -> None:
        """Write text; white space around head and body is that of the form."""
        if wrong := _CONTROL.search(data):
            self.refuse(f"the control character U+{ord(wrong[0]):04X}")
        if not self._open or self._open[-1].name == "html":
            if data.strip(_SPACE):
                self.refuse("text outside head and body")
            return
        element = self._open[-1]
        if data.strip(_SPACE) and (why := refuse_text([one.name for one in self._open])):
            self.refuse(why)
        if element.name == "pre" and not element.pieces and data.startswith("\n"):
            self.refuse("the first newline of <pre> is not shown")
        element.pieces.append(data)
        text = data if element.name in RAW else _escape(data)
        if element.attributes.get("data-field") == _FINGERPRINT:
            self._pieces[self._places[-1]] += text
        else:
            self._pieces.append(text)

    def handle_pi(self, data: str) -> None:
        """Refuse processing instructions."""
        self.refuse(f"<?{quote(data)[1:-1]}> is not HTML")

    def unknown_decl(self, data: str) -> None:
        """Refuse marked sections."""
        self.refuse(f"<![{quote(data)[1:-1]}]> is not HTML")

    def _begin(self, name: str, attrs: list[tuple[str, str | None]]) -> PageElement:
        """Write a start tag and return its element."""
        ancestors = [one.name for one in self._open]
        if not _NAME.fullmatch(name):
            self.refuse(f"{quote(name)} is not the name of an element")
        if not self._has_doctype:
            self.refuse("<!DOCTYPE html> is not at the beginning")
        if why := refuse_element(name, ancestors):
            self.refuse(why)
        if self._open and self._open[-1].attributes.get("data-field") == _FINGERPRINT:
            self.refuse(f"<{name}> in a fingerprint")
        attributes = {attribute: value or "" for attribute, value in attrs}
        self._check_attributes(name, attributes, count=len(attrs))
        element = PageElement(name, attributes, self.getpos()[0], self._open[-1] if self._open else None)
        self._elements.append(element)
        written = "".join(f' {key}="{_escape(attributes[key], is_value=True)}"' for key in sorted(attributes))
        self._write(f"<{name}{written}>", f"<{name}>")
        if attributes.get("data-field") == _FINGERPRINT:
            if name in VOID | RAW:
                self.refuse(f"<{name}> cannot show the fingerprint")
            self._places.append(len(self._pieces))
            self._pieces.append("")
        return element

    def _write(self, tag: str, name: str = "") -> None:
        """Write a tag, and the newline that the form has after it."""
        self._pieces.append(f"{tag}\n" if (name or tag) in _FOLLOWED_BY_NEWLINE else tag)

    def _check_attributes(self, name: str, attributes: dict[str, str], count: int) -> None:
        if len(attributes) < count:
            self.refuse(f"<{name}> has an attribute twice")
        for key, value in attributes.items():
            if why := refuse_attribute(name, key, value):
                self.refuse(why)
            if _CONTROL.search(value):
                self.refuse(f"the attribute {key} of <{name}> has a control character")
        if name == "script" and attributes.get("type") not in {"module", *_DATA_TYPES}:
            self.refuse('a script that is not data is <script type="module">')
        if name == "meta" and attributes.get("charset", "").lower() == "utf-8":
            self._has_encoding |= len("".join(self._pieces).encode()) < _CHARSET_WITHIN

    def _check_raw_text(self, element: PageElement) -> None:
        """Refuse text of scripts and styles that ends them, or changes how they are parsed."""
        text = "".join(element.pieces).lower()
        if any(one in text for one in ("<!--", "<script", "</script", "</style")):
            self.refuse(f"<{element.name}> contains <!--, <script, </script or </style")
        if element.name == "style" and (why := refuse_style(text)):
            self.refuse(why)
        if self._is_in_picture() and ("<" in text or "&" in text):
            self.refuse("<style> of a picture contains < or &")

    def _is_in_picture(self) -> bool:
        return any(one.name == "svg" for one in self._open)

    def _strip_end(self) -> None:
        """Remove white space at the end of body, to which browsers add what follows it."""
        while self._pieces and self._pieces[-1].strip(_SPACE) == "" and len(self._pieces) - 1 not in self._places:
            self._pieces.pop()
        if len(self._pieces) - 1 not in self._places:
            self._pieces[-1] = self._pieces[-1].rstrip(_SPACE)


def _escape(text: str, *, is_value: bool = False) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;") if is_value else text
