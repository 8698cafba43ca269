"""The figures of a pack, calculated from its entries in exact integers by what its record states about each."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.pack_verification.pack_data import read_units
from accounting_analytics.pack_verification.shown_text import FigureValue, divide

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accounting_analytics.pack_verification.pack_data import (
        PackEntries,
        PackRecord,
        RecordedDays,
        RecordedLines,
        RecordedTable,
        RecordedTerm,
    )

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
