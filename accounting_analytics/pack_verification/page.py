"""The page of a pack as it is parsed: its data, and the elements that show figures and facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WITHOUT_END = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
_SPACE = " \t\n"


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


def read_page(text: str) -> list[PageElement]:
    """All elements of a page in their order."""
    reader = _PageReader()
    reader.feed(text)
    reader.close()
    return reader.elements


class _PageReader(HTMLParser):
    """Collects elements with their texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[PageElement] = []
        self._open: list[PageElement] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        attributes = {name: value or "" for name, value in attrs}
        element = PageElement(tag, attributes, self.getpos()[0], self._open[-1] if self._open else None)
        self.elements.append(element)
        if tag not in _WITHOUT_END:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """End the element that began last with this name, and all in it."""
        if any(element.name == tag for element in self._open):
            while self._open.pop().name != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Add text to the element that is open."""
        if self._open:
            self._open[-1].pieces.append(data)
