"""Checks of a pack by its receiver: each figure is calculated again from its entries."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.pack.page_format import (
    UNITS,
    ZERO,
    ListFigure,
    QuotientFigure,
    StatedFigure,
    SumFigure,
    TermsFigure,
    UnknownFigure,
    agrees,
    is_day,
    read_shown,
    read_units,
    value_text,
)
from accounting_analytics.pack.verification_result import PackFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.pack.page_format import PageData, PageElement, PageFigure, SelectedLines


class Recomputation:
    """The figures of a page, each calculated once from its lines."""

    def __init__(self, data: PageData) -> None:
        self._data = data
        self._known: dict[tuple[str, str], int | None] = {}
        self._open: set[tuple[str, str]] = set()
        self._sums: dict[tuple[int, str, str], Mapping[int, int]] = {}
        self._by_day = {part: _sum_days(data, part) for part in (0, 1, 2)}

    def figure(self, table: str, key: str) -> PageFigure:
        """Return the parts that the page states of a figure. Refuse a figure that the page does not state."""
        if table not in self._data.tables:
            raise InputError(f"the page states no table {quote(table)}")
        figures = self._data.tables[table].figures
        if key not in figures:
            raise InputError("the page does not state how it is calculated")
        return figures[key]

    def text(self, table: str, key: str, form: str, *, is_cell: bool) -> str:
        """Write the text that a figure has to have.

        An amount in thousands or millions has the letter of its unit, but not in a cell of a table.
        """
        figure = self.figure(table, key)
        if not isinstance(figure, QuotientFigure):
            units, unit = self.value(table, key), self._data.amounts_in
            letter = UNITS[unit][0] if unit and units is not None and not is_cell else ""
            return f"{value_text(units, self._data.scale, form=form, amounts_in=unit)}{letter}"
        part, whole = self.value(table, figure.part), self.value(table, figure.whole)
        if part is None or not whole:
            raise InputError("it is a quotient by nothing")
        shown = round(Fraction(figure.times * 10**figure.digits * part, whole))
        return f"{value_text(shown, figure.digits, form=form)}{figure.suffix}"

    def is_nothing(self, table: str, key: str) -> bool:
        """Return whether a figure may be shown as a dash: it is exactly zero, or a quotient."""
        return isinstance(self.figure(table, key), QuotientFigure) or self.value(table, key) == 0

    def value(self, table: str, key: str) -> int | None:
        """Return the units of a figure, or None if it is not known."""
        place = (table, key)
        if place not in self._known:
            if place in self._open:
                raise InputError(f"{quote(key)} of {quote(table)} is made of itself")
            self._open.add(place)
            try:
                self._known[place] = self._calculate(table, self.figure(table, key))
            except RecursionError:
                raise InputError("it is made of too many others") from None
            finally:
                self._open.remove(place)
        return self._known[place]

    def _calculate(self, table: str, figure: PageFigure) -> int | None:
        match figure:
            case UnknownFigure():
                return None
            case QuotientFigure():
                raise InputError("it is made of a quotient")
            case StatedFigure():
                return read_units(figure.units)
            case ListFigure():
                return sum(self._sum_run(*run) for run in figure.runs)
            case SumFigure():
                return sum(self._sum_selection(part) for part in figure.parts)
            case TermsFigure():
                terms = [(sign, self.value(table, key)) for sign, key in figure.terms]
                if not terms:
                    raise InputError("it is made of nothing")
                if any(units is None for _, units in terms):
                    return None
                return sum(-(units or 0) if sign == "-" else units or 0 for sign, units in terms)

    def _sum_run(self, sign: int, first: int, last: int) -> int:
        lines = self._data.lines
        if not 0 <= first <= last < len(lines):
            raise InputError("it refers to a line that does not exist")
        return sign * sum(int(line.units) for line in lines[first : last + 1])

    def _sum_selection(self, part: SelectedLines) -> int:
        if any(not 0 <= ledger < len(self._data.ledgers) for ledger in part.ledgers):
            raise InputError("it refers to a ledger that does not exist")
        place = (part.part, part.first, part.last)
        if place not in self._sums:
            sums: defaultdict[int, int] = defaultdict(int)
            for day, ledgers in self._by_day[part.part].items():
                if part.first <= day <= part.last:
                    for ledger, units in ledgers.items():
                        sums[ledger] += units
            self._sums[place] = sums
        return part.factor * sum(self._sums[place].get(ledger, 0) for ledger in set(part.ledgers))


def _sum_days(data: PageData, part: int) -> dict[str, defaultdict[int, int]]:
    """Sum lines by day and ledger: all lines, or those of `part`."""
    days: dict[str, defaultdict[int, int]] = {}
    for line in data.lines:
        if part in {0, line.part}:
            days.setdefault(data.dates[line.date], defaultdict(int))[line.ledger] += int(line.units)
    return days


_OPENING = "Balance before "
_FACTS = ("company", "currency", "amounts_in", "start_date", "end_date", "time_zone", "created_at", "verdict")
_ALWAYS_SHOWN = ("company", "currency", "amounts_in", "start_date", "end_date", "verdict")
_NOT_READ = {"script", "style", "svg"}


def check_figures(elements: Sequence[PageElement], figures: Recomputation) -> Iterator[PackFault]:
    """Recompute every figure on the page, and compare."""
    if not elements:
        yield PackFault("figures", "the page", "none", "figures")
    for element in elements:
        table, key = element.nearest("data-table"), element.attributes["data-key"]
        where = f"{table}: {key}, line {element.line}"
        form = element.attributes.get("data-form", "")
        try:
            figure = figures.figure(table, key)
            where = f"{figure.label} ({table}: {key}), line {element.line}"
            expected = figures.text(table, key, form, is_cell=element.name == "td")
            shown = read_shown(element.own_text)
            is_right = agrees(shown, expected) and (shown != ZERO or figures.is_nothing(table, key))
        except InputError as error:
            yield PackFault("figure", where, element.own_text, f"not possible: {error}")
            continue
        if form not in {"", "magnitude"}:
            yield PackFault("figure", where, element.own_text, f"not possible: shown as {form}")
        elif not is_right:
            yield PackFault("figure", where, element.own_text, expected)


def check_shown(elements: Sequence[PageElement], data: PageData) -> Iterator[PackFault]:
    """Find figures that the page must show and does not, or must hide and shows."""
    keys = defaultdict(set)
    for element in elements:
        keys[element.nearest("data-table")].add(element.attributes["data-key"])
    for name, table in data.tables.items():
        for key in sorted(table.figures.keys() - keys[name] - set(table.hidden)):
            yield PackFault("figure of the page", f"{name}: {key}", "not on the page", "shown")
        for key in sorted(keys[name] & set(table.hidden)):
            yield PackFault("figure of the page", f"{name}: {key}", "shown", "hidden")


def check_facts(elements: Iterable[PageElement], data: PageData) -> Iterator[PackFault]:
    """Compare company, currency, days and verdict on the page with its data."""
    facts = {name: getattr(data, name) for name in _FACTS}
    missing = {name for name in _ALWAYS_SHOWN if facts[name]}
    for element in elements:
        name = element.attributes.get("data-field")
        if name is None:
            continue
        missing.discard(name)
        shown = element.attributes.get("datetime", "") if element.name == "time" else element.own_text
        expected = facts.get(name)
        if expected is None or shown != expected.strip(" \t\n"):
            yield PackFault(name, f"line {element.line}", shown, "no such fact" if expected is None else expected)
    for name in _ALWAYS_SHOWN:
        if name in missing:
            yield PackFault(name, "the page", "not shown", facts[name])


def check_days(data: PageData) -> Iterator[PackFault]:
    """Check that the days of figures and entries are valid and not after the period."""
    first, last = data.start_date, data.end_date
    if not is_day(first) or not is_day(last) or first > last:
        yield PackFault("period", "the page", f"{first} to {last}", "a first and a last day")
    for name, table in data.tables.items():
        for key, figure in table.figures.items():
            for part in figure.parts if isinstance(figure, SumFigure) else ():
                if not is_day(part.last) or (part.first and not is_day(part.first)) or part.last > last:
                    where, shown = f"{name}: {key}", f"to {part.last}"
                    yield PackFault("days of a figure", where, shown, f"to {last} at the most")
    days = Counter(data.dates[line.date] for line in data.lines)
    for day in sorted(day for day in days if day > last):
        yield PackFault("day of an entry", count_of(days[day], "line"), day, f"{last} at the latest")
    start = min((day for day in days if day), default=last)
    openings = {data.texts[line.text] for line in data.lines if not data.dates[line.date]}
    for text in sorted(openings):
        day = text.removeprefix(_OPENING)
        if day == text or not is_day(day) or day > start:
            yield PackFault("opening balances", "entries", text, f"{_OPENING}{start}, or of a day before")


def check_journal_entries(data: PageData) -> Iterator[PackFault]:
    """Check that each whole entry has one day and equal sides."""
    sums: defaultdict[int, int] = defaultdict(int)
    days: dict[int, str] = {}
    for line in data.lines:
        if line.entry < 0:
            continue
        sums[line.entry] += int(line.units)
        day = data.dates[line.date]
        if days.setdefault(line.entry, day) != day:
            yield PackFault("journal entry", f"entry {line.entry}", f"of {days[line.entry]} and {day}", "of one day")
    for entry in sorted(sums):
        if sums[entry]:
            yield PackFault("journal entry", f"entry {entry} of {days[entry]}", f"sum {sums[entry]}", "sum 0")


def unchecked_amounts(elements: Iterable[PageElement], scale: int, amounts_in: str) -> tuple[str, ...]:
    """List amounts in the text of the page that are not figures.

    There are no such amounts if amounts have no fraction digits.
    """
    digits = {scale, UNITS[amounts_in][2]} if amounts_in else {scale}
    fractions = "|".join(f"[0-9]{{{width}}}" for width in sorted(digits) if width)
    if not fractions:
        return ()
    amount = re.compile(rf"(?<![0-9.,])[0-9]{{1,3}}(?:,?[0-9]{{3}})*\.(?:{fractions})(?![0-9.%])")
    found: list[str] = []
    for element in elements:
        if not {"data-key", "data-field"} & element.attributes.keys() and not _is_exempt(element):
            found += amount.findall("".join(element.pieces))
    return tuple(found)


def _is_exempt(element: PageElement) -> bool:
    """Return whether an element is code, a picture part or a note.

    Amounts in such elements are not figures.
    """
    return any(part.name in _NOT_READ or "data-text" in part.attributes for part in element.with_parents())
