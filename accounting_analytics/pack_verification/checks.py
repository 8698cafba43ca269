"""The checks of a pack: every figure is calculated from its entries, and each finds what is not as it has to be."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.pack_verification.page_data import (
    FigureValue,
    agrees,
    divide,
    is_day,
    read_shown,
    read_units,
    value_text,
)
from accounting_analytics.pack_verification.result import PackFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.pack_verification.page_data import (
        PackEntries,
        PackRecord,
        PageElement,
        RecordedDays,
        RecordedLines,
        RecordedTable,
        RecordedTerm,
    )


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


_PERCENT_UNITS = 1000  # tenths of a percent


class Recomputation:
    """The figures of a record and its entries; each is calculated once."""

    def __init__(self, record: PackRecord, entries: PackEntries) -> None:
        self._record = record
        self._entries = entries
        self._known: dict[tuple[str, str], FigureValue | None] = {}
        self._open: set[tuple[str, str]] = set()
        self._sums: dict[tuple[bool, str, str], Mapping[int, int]] = {}
        self._by_day = {of_flows: _sum_days(entries, of_flows=of_flows) for of_flows in (False, True)}

    def value(self, table: str, key: str) -> FigureValue | None:
        """Return the value of a figure, None where it is not known; an undescribed one is refused."""
        place = (table, key)
        if place not in self._known:
            if place in self._open:
                raise InputError(f"{quote(key)} of {quote(table)} is made of itself")
            self._open.add(place)
            try:
                self._known[place] = self._calculate(table, key)
            except RecursionError:
                raise InputError("it is made of too many others") from None
            finally:
                self._open.remove(place)
        return self._known[place]

    def is_stated(self, table: str, key: str) -> bool:
        """Whether a figure is one of elsewhere, which the record only states."""
        return table in self._record.tables and key in self._record.tables[table].stated

    def _calculate(self, name: str, key: str) -> FigureValue | None:
        table = self._record.tables.get(name)
        if table is None:
            raise InputError(f"the record has no table {quote(name)}")
        if key in table.unknown:
            return None
        if key in table.stated:
            return FigureValue(read_units(table.stated[key]), self._record.scale)
        if key in table.lines:
            return FigureValue(self._sum_lines(table.lines[key]), self._record.scale)
        if key in table.terms:
            return self._combine(name, table.terms[key])
        return self._sum_row(table, key)

    def _sum_lines(self, parts: Sequence[RecordedLines]) -> int:
        lines = self._entries.lines
        for part in parts:
            if any(not 0 <= number < len(lines) for number in part.lines):
                raise InputError("the record refers to a line that does not exist")
        return sum(part.factor * int(lines[number].units) for part in parts for number in part.lines)

    def _combine(self, name: str, terms: Sequence[RecordedTerm]) -> FigureValue | None:
        """Add and subtract the terms of a figure, and divide by the last if it is a divisor."""
        units, is_percent = 0, False
        digits: set[int] = set()
        for number, term in enumerate(terms):
            if term.sign == "/count":
                if not isinstance(term.key, int) or number != len(terms) - 1:
                    raise InputError("the record divides by something else than a number at the end")
                return FigureValue(divide(units, term.key), digits.pop(), is_percent) if term.key and digits else None
            value = self.value(name, str(term.key))
            if value is None:
                return None
            digits.add(value.digits)
            is_percent |= value.is_percent
            if term.sign in {"/", "/abs"}:
                if number != len(terms) - 1 or len(digits) != 1:
                    raise InputError("the record divides figures of different kinds, or not at the end")
                size = abs(value.units) if term.sign == "/abs" else value.units
                return FigureValue(divide(_PERCENT_UNITS * units, size), 1, is_percent=True) if size else None
            units += -value.units if term.sign == "-" else value.units
        if len(digits) != 1:
            raise InputError("the record adds figures of different kinds, or none")
        return FigureValue(units, digits.pop(), is_percent)

    def _sum_row(self, table: RecordedTable, key: str) -> FigureValue:
        """Sum the lines of a row in the days of a column."""
        row_key, _, column_key = key.rpartition("|")
        row = table.rows.get(row_key)
        spans = table.days.get(row.measure, {}).get(column_key) if row else None
        if row is None or spans is None:
            raise InputError("the record does not describe how it is calculated")
        if any(not 0 <= ledger < len(self._entries.ledgers) for ledger in row.ledgers):
            raise InputError("the record refers to a ledger that does not exist")
        total = 0
        for span in spans:
            sums = self._sums_by_ledger(span, of_flows=row.measure.startswith("flow"))
            total += row.factor * span.factor * sum(sums.get(ledger, 0) for ledger in set(row.ledgers))
        return FigureValue(total, self._record.scale)

    def _sums_by_ledger(self, span: RecordedDays, *, of_flows: bool) -> Mapping[int, int]:
        """Sum of all lines of some days by ledger."""
        place = (of_flows, span.first, span.last)
        if place not in self._sums:
            sums: defaultdict[int, int] = defaultdict(int)
            for day, ledgers in self._by_day[of_flows].items():
                if span.first <= day <= span.last:
                    for ledger, units in ledgers.items():
                        sums[ledger] += units
            self._sums[place] = sums
        return self._sums[place]


def _sum_days(entries: PackEntries, *, of_flows: bool) -> dict[str, defaultdict[int, int]]:
    """Sum of the lines by day and ledger."""
    days: dict[str, defaultdict[int, int]] = {}
    for line in entries.lines:
        if line.is_flow or not of_flows:
            days.setdefault(entries.dates[line.date], defaultdict(int))[line.ledger] += int(line.units)
    return days


_OPENING = "Balance before "
_FACTS = ("company", "currency", "start_date", "end_date", "time_zone", "created_at", "verdict")
_ALWAYS_SHOWN = ("company", "currency", "start_date", "end_date", "verdict")
_NOT_READ = {"script", "style", "svg"}


def check_figures(elements: Sequence[PageElement], figures: Recomputation, labels: FigureLabels) -> Iterator[PackFault]:
    """Recompute every figure on the page, and compare."""
    if not elements:
        yield PackFault("figures", "the page", "none", "figures")
    for element in elements:
        table, key = element.nearest("data-table"), element.attributes["data-key"]
        label = labels.label(element)
        where = f"{label} ({table}: {key}), line {element.line}" if label else f"{table}: {key}, line {element.line}"
        form = element.attributes.get("data-form", "")
        if form not in {"", "magnitude"}:
            yield PackFault("figure", where, element.own_text, f"not possible: shown as {form}")
            continue
        try:
            value = figures.value(table, key)
        except InputError as error:
            yield PackFault("figure", where, element.own_text, f"not possible: {error}")
            continue
        expected = value_text(value, form=form)
        if not agrees(read_shown(element.own_text), expected):
            yield PackFault("figure", where, element.own_text, expected)


def check_rows(elements: Sequence[PageElement], record: PackRecord) -> Iterator[PackFault]:
    """Look for the figures that the record says are shown."""
    keys = defaultdict(set)
    for element in elements:
        keys[element.nearest("data-table")].add(element.attributes["data-key"])
    for name, table in record.tables.items():
        if table.shown is None:
            continue
        expected = {f"{row}|{column}" for row in table.shown.rows for column in table.shown.columns}
        for key in sorted(expected - keys[name] - set(table.shown.empty)):
            yield PackFault("figure of the record", f"{name}: {key}", "not on the page", "shown")
        for key in sorted(keys[name] - expected):
            yield PackFault("figure on the page", f"{name}: {key}", "shown", "not among those that the record shows")
        for key in sorted(keys[name] & set(table.shown.empty)):
            yield PackFault("figure on the page", f"{name}: {key}", "shown", "empty")


def check_facts(elements: Iterable[PageElement], record: PackRecord) -> Iterator[PackFault]:
    """Compare the facts on the page with the record: company, currency, days, verdict."""
    facts = {name: getattr(record, name) for name in _FACTS}
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


def check_days(record: PackRecord, entries: PackEntries) -> Iterator[PackFault]:
    """Check that the days of the period, the columns and the entries go together."""
    first, last = record.start_date, record.end_date
    if not is_day(first) or not is_day(last) or first > last:
        yield PackFault("period", "record", f"{first} to {last}", "a first and a last day")
    for name, table in record.tables.items():
        for measure, columns in table.days.items():
            for column, spans in columns.items():
                for span in spans:
                    if not is_day(span.last) or (span.first and not is_day(span.first)) or span.last > last:
                        yield PackFault(
                            "days of a column",
                            f"{name}: {measure} {column}",
                            f"to {span.last}",
                            f"to {last} at the most",
                        )
    days = Counter(entries.dates[line.date] for line in entries.lines)
    for day in sorted(day for day in days if day > last):
        yield PackFault("day of an entry", f"{days[day]:,} line(s)", day, f"{last} at the latest")
    start = min((day for day in days if day), default=last)
    openings = {entries.texts[line.text] for line in entries.lines if not entries.dates[line.date]}
    for text in sorted(openings):
        day = text.removeprefix(_OPENING)
        if day == text or not is_day(day) or day > start:
            yield PackFault("opening balances", "entries", text, f"{_OPENING}{start}, or of a day before")


def check_journal_entries(entries: PackEntries) -> Iterator[PackFault]:
    """Check that each journal entry that the pack has all lines of is of one day, with debits equal to credits."""
    sums: defaultdict[int, int] = defaultdict(int)
    days: dict[int, str] = {}
    for line in entries.lines:
        if line.entry < 0:
            continue
        sums[line.entry] += int(line.units)
        day = entries.dates[line.date]
        if days.setdefault(line.entry, day) != day:
            yield PackFault("journal entry", f"entry {line.entry}", f"of {days[line.entry]} and {day}", "of one day")
    for entry in sorted(sums):
        if sums[entry]:
            yield PackFault("journal entry", f"entry {entry} of {days[entry]}", f"sum {sums[entry]}", "sum 0")


def unchecked_amounts(elements: Iterable[PageElement], scale: int) -> tuple[str, ...]:
    """Amounts in the text of the page that are not figures; none where amounts have no fraction digits."""
    if not scale:
        return ()
    amount = re.compile(rf"(?<![0-9.,])[0-9]{{1,3}}(?:,?[0-9]{{3}})*\.[0-9]{{{scale}}}(?![0-9.%])")
    found: list[str] = []
    for element in elements:
        if not {"data-key", "data-field"} & element.attributes.keys() and not _is_exempt(element):
            found += amount.findall("".join(element.pieces))
    return tuple(found)


def _is_exempt(element: PageElement) -> bool:
    """Whether the text of an element is code, part of a picture, or something that people typed."""
    return any(one.name in _NOT_READ or "data-text" in one.attributes for one in element.with_parents())
