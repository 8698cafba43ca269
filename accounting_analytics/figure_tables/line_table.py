"""`LineTable`: the lines that a page or a workbook shows, numbered so that a figure sums a few ranges of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import BooksDoNotTieError
from accounting_analytics.selections import simplified

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accounting_analytics.selections import Selection

Range = tuple[int, int, int]
"""Sign, first and last number of lines, counted from 0."""


class ShownLine(NamedTuple):
    """A line as people read it.

    `day` is its local day; `is_flow` whether its entry touches cash, and its ledger is not cash; `units` are signed,
    debits positive; `opposing` names the other ledgers of its entry.
    """

    ledger_id: str
    day: str
    is_flow: bool
    description: str
    opposing: str
    units: int
    id: str


class LineTable:
    """Lines by what is summed together: by the ledgers that only occur together, cash flow or not, then by day.

    Parameters
    ----------
    lines : iterable of ShownLine
        Lines in the order of time; those that no selection has are left out.
    selections : iterable of Selection
        What will be summed.
    """

    def __init__(self, lines: Iterable[ShownLine], selections: Iterable[Selection]) -> None:
        uses = list(dict.fromkeys((part.span.is_flow, tuple(part.ledger_ids)) for part in selections))
        uses_of: dict[str, tuple[int, ...]] = {}
        for number, (_, ledger_ids) in enumerate(uses):
            for one in ledger_ids:
                uses_of[one] = (*uses_of.get(one, ()), number)
        self._groups: dict[str, int] = {}
        numbers: dict[tuple[int, ...], int] = {}
        sides: dict[int, set[bool]] = {}
        for ledger_id, of_ledger in uses_of.items():
            group = self._groups[ledger_id] = numbers.setdefault(of_ledger, len(numbers))
            sides[group] = {uses[number][0] for number in of_ledger}

        def place(line: ShownLine) -> tuple[int, bool]:
            group = self._groups[line.ledger_id]
            return group, line.is_flow and True in sides[group]

        kept = [
            line
            for line in lines
            if line.ledger_id in self._groups and (line.is_flow or False in sides[self._groups[line.ledger_id]])
        ]
        self.lines = sorted(kept, key=lambda line: (*place(line), line.day))
        self._sums = [0, *accumulate(line.units for line in self.lines)]
        self._runs: dict[tuple[int, bool], tuple[int, list[str]]] = {}
        start = 0
        for run, of_run in groupby(self.lines, key=place):
            days = [line.day for line in of_run]
            self._runs[run] = (start, days)
            start += len(days)

    def ranges(self, selections: Sequence[Selection], units: int) -> list[Range]:
        """Find the lines of selections, which sum to `units`."""
        found = [one for part in simplified(selections) for one in self._ranges(part)] if selections else []
        total = sum(sign * (self._sums[last + 1] - self._sums[first]) for sign, first, last in found)
        if total != units:
            raise BooksDoNotTieError(
                f"the line entries sum to {total} minor units, but their figure is {units}: the lines have changed "
                "since it was calculated; make it again"
            )
        return found

    def _ranges(self, part: Selection) -> Iterable[Range]:
        first = part.span.first.isoformat() if part.span.first else ""
        last = part.span.last.isoformat()
        for group in dict.fromkeys(self._groups[one] for one in part.ledger_ids):
            for is_flow in (True,) if part.span.is_flow else (False, True):
                start, days = self._runs.get((group, is_flow), (0, []))
                begin, end = bisect_left(days, first), bisect_right(days, last)
                if begin < end:
                    yield part.factor, start + begin, start + end - 1
