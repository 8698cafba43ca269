"""The line entries that a pack carries: those from the first day that a figure counts, and the balances before."""

from __future__ import annotations

import datetime as dt
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.column_conversion import exact_amounts, in_floats, negated
from accounting_analytics.exact_sums import collect, is_within
from accounting_analytics.messages import printable
from accounting_analytics.periods import local_date, zone
from accounting_analytics.selections import Selection, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from accounting_analytics.ledger_names import LedgerNames
    from accounting_analytics.pack.table_record import Spans
    from accounting_analytics.statements.line_sums import LineSource

_DAY = dt.timedelta(days=1)
_BEFORE = -1
"""Instead of the number of a journal entry: the line is a balance."""


class EntryLine(NamedTuple):
    """A line as the page has it: ledger by its number, day, whether it is cash flow, texts, units, journal entry."""

    ledger: int
    day: str
    is_flow: int
    text: str
    opposing: str
    units: int
    entry: int


class PackRow(NamedTuple):
    """What a figure sums: lines of some ledgers, by their factor and measure."""

    factor: int
    measure: str
    ledger_ids: tuple[str, ...]


class BalanceBefore(NamedTuple):
    """A balance before the first day of a pack: the units of loaded lines, and those that were stated."""

    ledger_id: str
    summed: int
    stated: int


class PackLines:
    """The lines of a pack with their numbers, and sums of them in exact units.

    Parameters
    ----------
    source : LineSource
        The lines of all ledgers.
    cash : collection of str
        The ledgers that report cash flow.
    names : LedgerNames
        Names of all ledgers.
    days : tuple of date
        First and last day of the lines; those before are one balance for each ledger.
    starting : mapping, optional
        Balances at the first day of the source, in units, debits positive.
    """

    def __init__(
        self,
        source: LineSource,
        cash: Collection[str],
        names: LedgerNames,
        days: tuple[dt.date, dt.date],
        starting: Mapping[str, int] | None,
    ) -> None:
        self.source, self.cash, self.names, self.scale = source, set(cash), names, source.scale
        self.first, self.last = days
        self._ledgers: dict[str, int] = {}
        self._lines: list[EntryLine] = []
        self._balances: dict[int, BalanceBefore] = {}
        self._add_balances(starting or {})
        self.numbers: dict[str, int] = {}
        self._add_lines()

    def content(self) -> dict[str, Any]:
        """Return what the page has: lines that refer to their texts and days by position."""
        texts: dict[str, int] = {}
        days: dict[str, int] = {}
        lines = [
            (
                one.ledger,
                days.setdefault(one.day, len(days)),
                one.is_flow,
                *(texts.setdefault(printable(text), len(texts)) for text in (one.text, one.opposing)),
                one.units,
                one.entry,
            )
            for one in self._lines
        ]
        ledgers = [printable(self.names.name(one)) for one in self._ledgers]
        return {"ledgers": ledgers, "texts": list(texts), "dates": list(days), "lines": lines}

    @property
    def line_count(self) -> int:
        """Number of lines, without balances."""
        return len(self.numbers)

    def ledger(self, ledger_id: str) -> int:
        """Return the number of a ledger."""
        return self._ledgers.setdefault(ledger_id, len(self._ledgers))

    def ledgers(self, ledger_ids: Iterable[str]) -> list[int]:
        """Numbers of ledgers."""
        return [self.ledger(one) for one in ledger_ids]

    def matching(self, row: PackRow, spans: Spans) -> list[int]:
        """Numbers of the lines that a row sums in some spans, negative where they are subtracted."""
        chosen = {self._ledgers[one] for one in row.ledger_ids if one in self._ledgers}
        found = []
        for number, line in enumerate(self._lines, start=1):
            if line.ledger in chosen and _is_counted(row.measure, line):
                factor = row.factor * sum(one for one, first, last in spans if first <= line.day <= last)
                found.extend([number if factor > 0 else -number] * abs(factor))
        return found

    def units_by_day(self, row: PackRow, first: dt.date, last: dt.date) -> dict[str, int]:
        """Sum of the lines that a row sums on each day that has some."""
        days = (first.isoformat(), last.isoformat())
        sums: dict[str, int] = {}
        for number in self.matching(row, [(1, *days)]):
            day = self._lines[abs(number) - 1].day
            sums[day] = sums.get(day, 0) + self._units(number)
        return sums

    def day(self, number: int) -> dt.date:
        """Local day of a line by its number."""
        return dt.date.fromisoformat(self._lines[abs(number) - 1].day)

    def ledger_name(self, number: int) -> str:
        """Name of the ledger of a line by its number."""
        ledger = self._lines[abs(number) - 1].ledger
        return self.names.name(list(self._ledgers)[ledger])

    def units(self, numbers: Iterable[int]) -> int:
        """Sum of lines by their numbers."""
        return sum(self._units(number) for number in numbers)

    def _units(self, number: int) -> int:
        units = self._lines[abs(number) - 1].units
        return units if number > 0 else -units

    def numbers_of(self, entries: pd.DataFrame) -> list[int]:
        """Numbers of lines with a ``figure_amount``, negative where it is not their signed amount."""
        signed, summed = (np.sign(entries[name].to_numpy(dtype=float)) for name in ("signed_amount", "figure_amount"))
        signs = np.where(signed * summed < 0, -1, 1).tolist()
        return [sign * self.numbers[one] for sign, one in zip(signs, entries["id"], strict=True)]

    def stated_before(self, numbers: Iterable[int]) -> int:
        """Units of balances before the first loaded line, which were stated and not summed, among numbers."""
        return sum(
            self._balances[abs(one)].stated * (1 if one > 0 else -1) for one in numbers if abs(one) in self._balances
        )

    def frame(self, numbers: Sequence[int]) -> pd.DataFrame:
        """Line entries by their numbers, with ``figure_amount``, and the loaded lines of balances among these."""
        frame: pd.DataFrame = self.source.frame
        known = [one for one in numbers if abs(one) in self._rows]
        entries = frame.iloc[[self._rows[abs(one)] for one in known]].reset_index(drop=True)
        amounts = exact_amounts(entries["signed_amount"], self.scale, entries["id"]).column
        minus = np.array([one < 0 for one in known], dtype=bool)
        amounts = amounts.where(~minus, negated(amounts))
        entries = entries.assign(figure_amount=amounts if self.source.as_decimals else in_floats(amounts))
        before = Span(self.source.loaded.start_date, self.first - _DAY)
        balances = [(1 if one > 0 else -1, self._balances[abs(one)]) for one in numbers if abs(one) in self._balances]
        if not balances or before.is_empty:
            return entries
        earlier = self.source.entries(
            [Selection(sign, before, (one.ledger_id,)) for sign, one in balances],
            sum(sign * one.summed for sign, one in balances),
        )
        return pd.concat([earlier, entries], ignore_index=True)

    @cached_property
    def _rows(self) -> dict[int, int]:
        """Row of the frame of each numbered line."""
        return {self.numbers[one]: row for row, one in enumerate(self.source.frame["id"]) if one in self.numbers}

    def _add_balances(self, starting: Mapping[str, int]) -> None:
        """Add the balance of each ledger before the first day."""
        loaded = self.source.loaded.start_date
        before = Span(loaded, self.first - _DAY)
        sums = self.source.sums({before})[before] if not before.is_empty else {}
        for ledger_id in sorted({*sums, *starting}, key=self.names.path):
            if units := sums.get(ledger_id, 0) + starting.get(ledger_id, 0):
                text = f"Balance before {self.first}"
                self._lines.append(EntryLine(self.ledger(ledger_id), "", 0, text, "", units, _BEFORE))
                stated = starting.get(ledger_id, 0)
                self._balances[len(self._lines)] = BalanceBefore(ledger_id, sums.get(ledger_id, 0), stated)

    def _add_lines(self) -> None:
        """Add the lines in the order of their days."""
        within = is_within(Span(self.first, self.last).intervals(self.source.time_zone))
        lines = collect(self.source.exact.lines.filter(within)).to_pylist()
        of_entry: dict[Any, dict[str, None]] = {}
        for line in lines:
            of_entry.setdefault(line["journal_entry_id"], {})[line["ledger_id"]] = None
        days = zone(self.source.time_zone)

        @cache
        def opposing(ledger_id: str, ledger_ids: tuple[str, ...]) -> tuple[int, str]:
            is_flow = ledger_id not in self.cash and not self.cash.isdisjoint(ledger_ids)
            return int(is_flow), ", ".join(self.names.name(one) for one in ledger_ids if one != ledger_id)

        entry_numbers = {one: number for number, one in enumerate(of_entry)}
        for line in sorted(lines, key=lambda one: (one["datetime"], one["id"])):
            ledger_id = line["ledger_id"]
            is_flow, others = opposing(ledger_id, tuple(of_entry[line["journal_entry_id"]]))
            day, text = local_date(line["datetime"], days).isoformat(), line["journal_entry_description"] or ""
            units = self.source.exact.to_units(line["units"])
            entry = entry_numbers[line["journal_entry_id"]]
            self._lines.append(EntryLine(self.ledger(ledger_id), day, is_flow, text, others, units, entry))
            self.numbers[line["id"]] = len(self._lines)


def _is_counted(measure: str, line: EntryLine) -> bool:
    """Whether a measure counts a line; ``inflow`` and ``outflow`` are cash flow lines of one side."""
    if measure == "inflow":
        return bool(line.is_flow) and line.units < 0
    if measure == "outflow":
        return bool(line.is_flow) and line.units > 0
    return bool(line.is_flow) if measure == "flow" else True
