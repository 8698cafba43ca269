"""Labels of figures: what the row and the column of their table call them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.pack_verification.page import PageElement

_CELLS = frozenset({"td", "th"})


class FigureLabels:
    """The heads of the tables of a page."""

    def __init__(self, elements: Iterable[PageElement]) -> None:
        self._texts: defaultdict[int, list[str]] = defaultdict(list)
        self._cells: defaultdict[int, list[PageElement]] = defaultdict(list)
        self._heads: dict[int, Sequence[PageElement]] = {}
        for element in elements:
            parents = list(element.with_parents())
            for cell in parents:
                if cell.name in _CELLS:
                    self._texts[id(cell)] += element.pieces
            if element.name in _CELLS:
                self._cells[id(element.parent)].append(element)
            if element.name == "tr" and parents[1].name == "thead":
                self._heads.setdefault(id(parents[2]), self._cells[id(element)])

    def label(self, figure: PageElement) -> str:
        """Row and column of a figure in a table, as people read them; empty elsewhere."""
        around: Mapping[str, PageElement] = {one.name: one for one in reversed(list(figure.with_parents()))}
        if not around.keys() >= {"td", "tr", "table"}:
            return ""
        row = self._cells[id(around["tr"])]
        position = next(number for number, cell in enumerate(row) if cell is around["td"])
        heads = self._heads.get(id(around["table"]), ())
        cells = [*[cell for cell in row if cell.name == "th"][:1], *heads[position : position + 1]]
        return ", ".join(filter(None, (" ".join("".join(self._texts[id(cell)]).split()) for cell in cells)))
