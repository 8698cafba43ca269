"""Numbered line entries of a page or workbook, so that each figure sums few ranges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, count, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.column_conversion import exact_amounts
from accounting_analytics.core.errors import BooksDoNotTieError
from accounting_analytics.core.messages import printable
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.reports.figures.selections import simplified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.figures.selections import Selection

_EXACT_IN_JSON = 2**53
Range = tuple[int, int, int]
"""Sign, first and last number of lines, counted from 0."""


class ShownLine(NamedTuple):
    """A line entry as people read it.

    `day` is its local day, `opposing` names the other ledgers of its entry, and `entry` is the id of the entry. `units`
    are signed, debits positive. `tag` is its part of a statement that is split by tags. If the entry touches cash, its
    lines on other ledgers have `is_flow`, or `is_opening` if the entry has opening balances.
    """

    ledger_id: str
    day: str
    description: str
    opposing: str
    units: int
    id: str = ""
    entry: str = ""
    tag: str = ""
    is_flow: bool = False
    is_opening: bool = False

    @property
    def part(self) -> int:
        """Part of cash flow to which the line belongs: 1 flows, 2 opening balances, 0 neither."""
        return 2 if self.is_opening else int(self.is_flow)


class PageLines(NamedTuple):
    """Line entries of a page: numbers of their ledgers, days and texts, and their units."""

    ledgers: list[str]
    texts: list[str]
    dates: list[str]
    lines: list[tuple[int | str, ...]]

    @classmethod
    def of(cls, lines: Iterable[ShownLine], name: Callable[[str], str]) -> PageLines:
        """Refer to the ledgers, days and texts of lines by number."""
        ledgers: dict[str, int] = {}
        texts: dict[str, int] = {}
        dates: dict[str, int] = {}
        numbered = [
            (
                ledgers.setdefault(line.ledger_id, len(ledgers)),
                dates.setdefault(line.day, len(dates)),
                *(texts.setdefault(text, len(texts)) for text in (line.description, line.opposing)),
                line.units if abs(line.units) < _EXACT_IN_JSON else str(line.units),
            )
            for line in lines
        ]
        names = [printable(name(ledger_id)) for ledger_id in ledgers]
        return cls(names, [printable(text) for text in texts], list(dates), numbered)


class LineTable:
    """Line entries, ordered by groups of ledgers that the figures always sum together, then by day.

    Lines of cash flows, and those of opening balances, are ordered apart where they are summed apart.

    Parameters
    ----------
    lines : iterable of ShownLine
        Lines in the order of time; lines without a selection are left out.
    selections : iterable of Selection
        The selections that will be summed.
    """

    def __init__(self, lines: Iterable[ShownLine], selections: Iterable[Selection]) -> None:
        uses = list(dict.fromkeys((part.span.part, part.span.tag, tuple(part.ledger_ids)) for part in selections))
        uses_of: dict[tuple[str, str], tuple[int, ...]] = {}
        for number, (_, tag, ledger_ids) in enumerate(uses):
            for ledger_id in ledger_ids:
                uses_of[tag, ledger_id] = (*uses_of.get((tag, ledger_id), ()), number)
        self._groups: dict[tuple[str, str], int] = {}
        numbers: dict[tuple[int, ...], int] = {}
        sides: dict[int, set[int]] = {}
        for of, of_ledger in uses_of.items():
            group = self._groups[of] = numbers.setdefault(of_ledger, len(numbers))
            sides[group] = {uses[number][0] for number in of_ledger}

        def place(line: ShownLine) -> tuple[int, int]:
            group = self._groups[line.tag, line.ledger_id]
            return group, line.part if line.part in sides[group] else 0

        kept = [
            line
            for line in lines
            if (line.tag, line.ledger_id) in self._groups
            and not sides[self._groups[line.tag, line.ledger_id]].isdisjoint({0, line.part})
        ]
        self.lines = sorted(kept, key=lambda line: (*place(line), line.day))
        self._sums = [0, *accumulate(line.units for line in self.lines)]
        self._runs: dict[tuple[int, int], tuple[int, list[str]]] = {}
        start = 0
        for run, of_run in groupby(self.lines, key=place):
            days = [line.day for line in of_run]
            self._runs[run] = (start, days)
            start += len(days)

    def ranges(self, figure: Figure) -> list[Range]:
        """Find the ranges of lines that sum to a figure."""
        selections, units = figure.selections, figure.units or 0
        found = (
            [line_range for part in simplified(selections) for line_range in self._ranges(part)] if selections else []
        )
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
        for group in dict.fromkeys(self._groups[part.span.tag, ledger_id] for ledger_id in part.ledger_ids):
            for of_entries in (part.span.part,) if part.span.part else (0, 1, 2):
                start, days = self._runs.get((group, of_entries), (0, []))
                begin, end = bisect_left(days, first), bisect_right(days, last)
                if begin < end:
                    yield part.factor, start + begin, start + end - 1


class EntryTable:
    """Line entries of figures without selections, such as the figure of a counterparty.

    Lines are ordered by the figures that have them, then by day.

    Parameters
    ----------
    figures : iterable of Figure
        Sums of line entries, which are read once.
    """

    def __init__(self, figures: Iterable[Figure]) -> None:
        found: dict[tuple[Any, ...], ShownLine] = {}
        users: dict[tuple[Any, ...], list[int]] = {}
        self._signs: dict[str, dict[tuple[Any, ...], int]] = {}
        self.names: dict[str, str] = {}
        for number, figure in enumerate(figures):
            signs = self._signs[figure.key] = {}
            entries = figure.exact_entries()
            self.names |= dict(zip(entries["ledger_id"], texts_of(entries, "ledger_name", "ledger_id"), strict=True))
            for key, line in _keyed_lines(entries, figure.scale):
                first = found.setdefault(key, line)
                signs[key] = 1 if line.units == first.units else -1
                users.setdefault(key, []).append(number)
        order = sorted(found, key=lambda key: (users[key], found[key].day))
        self._numbers = {key: number for number, key in enumerate(order)}
        self.lines = [found[key] for key in order]

    def ranges(self, figure: Figure) -> list[Range]:
        """Find the ranges of the line entries of a figure."""
        return runs_of((self._numbers[key], sign) for key, sign in self._signs[figure.key].items())


def runs_of(signed: Iterable[tuple[int, int]]) -> list[Range]:
    """Join numbers that follow each other and have the same sign."""
    runs: list[Range] = []
    for number, sign in sorted(signed):
        if runs and runs[-1][0] == sign and runs[-1][2] == number - 1:
            runs[-1] = (sign, runs[-1][1], number)
        else:
            runs.append((sign, number, number))
    return runs


def _keyed_lines(entries: pd.DataFrame, scale: int) -> Iterator[tuple[tuple[Any, ...], ShownLine]]:
    """Yield the lines of a figure with keys that identify them.

    A key also counts how often its id came before, because a report may have an id several times.
    """
    ids = entries["id" if "id" in entries else "line_id"].astype(object)
    amounts = exact_amounts(entries["figure_amount"], scale, ids).column
    days = entries["local_date"].dt.strftime("%Y-%m-%d") if "local_date" in entries else [""] * len(entries)
    texts = texts_of(entries, "journal_entry_description", "description")
    others = texts_of(entries, "cash_flow_ledger_name")
    seen: dict[tuple[str, str, int], count[int]] = {}
    columns = (ids, entries["ledger_id"].astype(object), days, texts, others, amounts)
    for line_id, ledger_id, day, text, opposing, amount in zip(*columns, strict=True):
        units = to_minor_units(amount, scale)
        key = (line_id, ledger_id, abs(units))
        line = ShownLine(ledger_id, day, text, opposing, units, line_id)
        yield (*key, next(seen.setdefault(key, count()))), line


def texts_of(frame: pd.DataFrame, *names: str) -> list[str]:
    """Return the first text that some columns have in each row."""
    texts = pd.Series("", index=frame.index, dtype=object)
    for name in reversed(names):
        if name in frame:
            column = frame[name].astype(object)
            texts = column.where(column.notna() & (column != ""), texts)
    return texts.tolist()
