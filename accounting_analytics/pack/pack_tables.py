"""Lines and tables of a pack: what it carries, the figures that people read, and what the page records of them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.column_conversion import exact_amounts, in_floats, negated
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.exact_sums import collect, is_within
from accounting_analytics.figure_tables import FigureCell, FigureRow, FigureTable
from accounting_analytics.figures import KEY_SEPARATOR, NOT_KNOWN, ZERO, Figure, text_of
from accounting_analytics.messages import printable, quote
from accounting_analytics.money import from_minor_units, to_minor_units
from accounting_analytics.periods import local_date, zone
from accounting_analytics.selections import Selection, Span
from accounting_analytics.statements.page import figure_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from decimal import Decimal

    from accounting_analytics.figure_tables import TableHead
    from accounting_analytics.ledger_names import LedgerNames
    from accounting_analytics.statements import Statement
    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.line_sums import LineSource
    from accounting_analytics.statements.rows import Measure, Row
    from accounting_analytics.statements.statement_figures import StatementFigures


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


Spans = list[tuple[int, str, str]]
"""Factor, first ISO day (or "" for all days up to the last), last ISO day."""


@dataclass
class TableRecord:
    """What is behind the figures of a table, by key ``row|column``.

    Attributes
    ----------
    rows : dict
        Factor, measure and numbers of ledgers of each row.
    days : dict
        For each measure, the spans of each column.
    lines : dict
        Numbers of the lines that a figure sums, counted from 1; a negative number subtracts its line.
    terms : dict
        Sign and key of the figures of the table that a figure adds or subtracts.
    stated : dict
        Units of amounts that were stated by the service.
    unknown, empty : list
        Keys of figures that are not known, and of cells without a figure.
    labels, heads : dict
        Text of each row and column.
    shown : tuple of list, optional
        Rows and columns that are shown whole.
    """

    rows: dict[str, tuple[int, str, Sequence[int]]] = field(default_factory=dict)
    days: dict[str, dict[str, Spans]] = field(default_factory=dict)
    lines: dict[str, Sequence[int]] = field(default_factory=dict)
    terms: dict[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    stated: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    shown: tuple[list[str], list[str]] | None = None

    def content(self) -> dict[str, Any]:
        """Return what the record of the page has."""
        content: dict[str, Any] = {"rows": self.rows, "days": self.days}
        content["lines"] = {key: _by_factor(numbers) for key, numbers in self.lines.items()}
        content |= {"terms": self.terms, "stated": self.stated, "unknown": self.unknown}
        if self.shown is not None:
            rows, columns = self.shown
            content["shown"] = {"rows": rows, "columns": columns, "empty": self.empty}
        return content

    def texts(self) -> dict[str, dict[str, str]]:
        """Return the texts that name what a figure is made of."""
        return {
            name: {key: printable(text) for key, text in texts.items()}
            for name, texts in (("labels", self.labels), ("heads", self.heads))
        }


def _by_factor(numbers: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Positions of lines by the factor that they are summed with."""
    found = {1: [one - 1 for one in numbers if one > 0], -1: [-one - 1 for one in numbers if one < 0]}
    return [(factor, positions) for factor, positions in found.items() if positions]


_FROM_THE_BEGINNING = ("balance", "opening", "earlier_years")


class PackTable(NamedTuple):
    """A table of a pack.

    Attributes
    ----------
    name : str
        What finds it in the record of the page.
    table : FigureTable
        What is shown.
    record : TableRecord
        What is behind its figures.
    figure : callable
        Makes the figure of a key.
    """

    name: str
    table: FigureTable
    record: TableRecord
    figure: Callable[[str], Figure]

    def shown(self) -> Iterable[tuple[str, FigureCell]]:
        """Key and cell of each figure that is shown."""
        return ((cell.key, cell) for row in self.table.rows for cell in row.cells if cell.key)


def page_spans(figures: StatementFigures, measure: Measure, column: StatementColumn) -> Spans:
    """Days that a column counts for a measure, as pages have them; supplied balances are before the first of them."""
    is_supplied = figures.starting is not None and measure in _FROM_THE_BEGINNING
    return [
        (
            factor,
            "" if span.first is None or (is_supplied and span.first == figures.rules.since) else span.first.isoformat(),
            span.last.isoformat(),
        )
        for factor, span in figures.spans(measure, column)
    ]


def statement_table(name: str, statement: Statement, entries: PackLines, title: str, notes: Sequence[str]) -> PackTable:
    """Make the table of a statement, each of whose rows is recorded, shown or not."""
    figures = statement.figures
    record = TableRecord(heads={one.key: one.label for one in figures.columns.by_key.values()})
    for row in figures.layout.by_key.values():
        record.labels[row.key] = row.label
        _record_row(record, figures, row, entries)
    _drop_unused(record, figures)
    table = figure_table(figures, title, "", notes, with_entries=False)
    columns = [column.key for column in figures.columns.shown]
    shown = _without_zeros(list(zip(figures.layout.shown, table.rows, strict=True)))
    record.shown = ([row.key for row, _ in shown if row.kind != "heading"], columns)
    rows = [_with_keys(record, row.key, columns, text) if text.cells else text for row, text in shown]
    left_out = len(table.rows) - len(rows)
    more = [f"{left_out} row(s) of zeros are left out."] if left_out else []
    return PackTable(name, table._replace(rows=rows, notes=[*notes, *more]), record, statement.__getitem__)


def _without_zeros(rows: Sequence[tuple[Row, FigureRow]]) -> list[tuple[Row, FigureRow]]:
    """Leave out ledgers and sections whose figures are all zero, and headings without rows."""
    kept: list[tuple[Row, FigureRow]] = []
    for row, shown in reversed(rows):
        if row.kind == "heading":
            is_kept = bool(kept) and (kept[-1][0].kind != "heading" or kept[-1][0].level > row.level)
        else:
            is_kept = row.kind in {"total", "balance"} or any(cell.text not in {ZERO, ""} for cell in shown.cells)
        if is_kept:
            kept.append((row, shown))
    return kept[::-1]


def _with_keys(record: TableRecord, row: str, columns: Sequence[str], shown: FigureRow) -> FigureRow:
    cells = zip(shown.cells, columns, strict=True)
    return shown._replace(cells=[_with_key(record, cell, row, column) for cell, column in cells])


def _with_key(record: TableRecord, cell: FigureCell, row: str, column: str) -> FigureCell:
    """Cell with its key, also where there is nothing to unfold; what is not known or has no figure is recorded."""
    key = f"{row}{KEY_SEPARATOR}{column}"
    if not cell.text:
        record.empty.append(key)
        return cell
    if cell.mark == "unknown":
        record.unknown.append(key)
    unfolds = bool(cell.key) and cell.text == ZERO
    return cell._replace(key=key, mark="" if unfolds else cell.mark)


def _record_row(record: TableRecord, figures: StatementFigures, row: Row, entries: PackLines) -> None:
    """Record the ledgers and days of a row, or the rows that it is made of."""
    for column in figures.columns.by_key.values():
        figure = figures.figure(row.key, column.key)
        if figure.units is None:
            continue
        terms = [(sign, one.key) for sign, one in zip(figure.signs, figure.terms, strict=True) if one.key != figure.key]
        if terms:
            record.terms[figure.key] = terms
            continue
        record.rows[row.key] = (row.factor, row.measure, entries.ledgers(row.ledger_ids))
        record.days.setdefault(row.measure, {})[column.key] = page_spans(figures, row.measure, column)


def _drop_unused(record: TableRecord, figures: StatementFigures) -> None:
    """Leave out rows that are neither shown nor part of another."""
    used = {row.key for row in figures.layout.shown}
    used |= {key.rpartition(KEY_SEPARATOR)[0] for terms in record.terms.values() for _, key in terms}
    for texts in (record.rows, record.labels):
        for key in [one for one in texts if one not in used]:
            del texts[key]
    for key in [one for one in record.terms if one.rpartition(KEY_SEPARATOR)[0] not in used]:
        del record.terms[key]


class TableBuilder:
    """A table of rows that are not those of a statement.

    Parameters
    ----------
    name : str
        Name of the table.
    entries : PackLines
        The lines.
    heads : mapping of str to TableHead
        Head of each column by its key.
    """

    def __init__(self, name: str, entries: PackLines, heads: Mapping[str, TableHead]) -> None:
        self.name, self._entries, self._heads = name, entries, heads
        self._record = TableRecord(heads={key: head.text for key, head in heads.items() if not head.is_text})
        self._rows: list[FigureRow] = []
        self._figures: dict[str, Callable[[], Figure]] = {}

    def row(
        self,
        key: str,
        label: str,
        cells: Sequence[FigureCell],
        *,
        kind: str = "ledger",
        level: int = 0,
        title: str = "",
    ) -> None:
        """Add a row; its cells are made by the other methods, with the same key."""
        self._record.labels[key] = label
        self._rows.append(FigureRow(label, level, kind, cells, title))

    def heading(self, text: str) -> None:
        """Add a heading of rows."""
        self._rows.append(FigureRow(text, 0, "heading", ()))

    @property
    def has_rows(self) -> bool:
        """Whether there are rows."""
        return bool(self._rows)

    def label(self, key: str, text: str) -> None:
        """Name a row key that several rows have."""
        self._record.labels[key] = text

    def head(self, key: str, text: str) -> None:
        """Name a column key that is not that of a column, such as a day that differs by column."""
        self._record.heads[key] = text

    def sum_of_days(
        self, row_key: str, column: str, row: PackRow, spans: Spans, figure: Figure | None = None
    ) -> FigureCell:
        """Cell that sums lines of ledgers and days."""
        key = f"{row_key}{KEY_SEPARATOR}{column}"
        numbers = self._entries.matching(row, spans)
        self._record.rows[row_key] = (row.factor, row.measure, self._entries.ledgers(row.ledger_ids))
        self._record.days.setdefault(row.measure, {})[column] = spans
        return self._cell(key, row_key, column, numbers, figure)

    def sum_of_lines(
        self, row_key: str, column: str, numbers: Sequence[int], figure: Figure | None = None
    ) -> FigureCell:
        """Cell that sums lines by their numbers."""
        key = f"{row_key}{KEY_SEPARATOR}{column}"
        self._record.lines[key] = numbers
        return self._cell(key, row_key, column, numbers, figure)

    def sum_of_terms(self, row_key: str, column: str, terms: Sequence[tuple[str, str]]) -> FigureCell:
        """Cell that adds and subtracts other cells of the table."""
        key = f"{row_key}{KEY_SEPARATOR}{column}"
        self._record.terms[key] = terms
        made = partial(self._made, key, row_key, column)
        self._figures[key] = made
        text = text_of(made().exact())
        return FigureCell(text, key, "zero" if text == ZERO else "")

    def stated(self, row_key: str, column: str, amount: Decimal, figure: Figure | None = None) -> FigureCell:
        """Cell with an amount of elsewhere, as of the service's report, which the lines of the pack do not show."""
        key = f"{row_key}{KEY_SEPARATOR}{column}"
        units = to_minor_units(amount, self._entries.scale)
        self._record.stated[key] = units
        made = self._figure(key, self._label(row_key, column), units, "as the service stated it")
        made = replace(figure, key=key) if figure else made
        self._figures[key] = lambda: made
        return FigureCell(text_of(amount), key, "zero")

    def unknown(self, row_key: str, column: str) -> FigureCell:
        """Cell of an amount that is not known."""
        key = f"{row_key}{KEY_SEPARATOR}{column}"
        self._record.unknown.append(key)
        return FigureCell(NOT_KNOWN, key, "unknown")

    def build(self, title: str, notes: Sequence[str] = ()) -> PackTable:
        """Return the table."""
        table = FigureTable(title, "", list(self._heads.values()), self._rows, notes, None)
        return PackTable(self.name, table, self._record, self.figure)

    def figure(self, key: str) -> Figure:
        """Figure that was added."""
        if key not in self._figures:
            raise InputError(f"{self.name} has no figure {quote(key)}")
        return self._figures[key]()

    def _cell(self, key: str, row_key: str, column: str, numbers: Sequence[int], figure: Figure | None) -> FigureCell:
        units = self._entries.units(numbers)
        exact = from_minor_units(units, self._entries.scale)
        if figure is not None and figure.exact() != exact:
            raise BooksDoNotTieError(
                f"{figure.label} is {figure.exact()}, but the line entries of the pack sum to {exact}: make it again"
            )
        named = figure and replace(figure, key=key)
        self._figures[key] = (lambda: named) if named else partial(self._summed, key, row_key, column, numbers, units)
        return FigureCell(text_of(exact), key, "" if numbers else "zero")

    def _summed(self, key: str, row_key: str, column: str, numbers: Sequence[int], units: int) -> Figure:
        """Figure of lines by their numbers, or of a balance that was stated and the lines since."""
        lines = self._entries
        stated, label = lines.stated_before(numbers), self._label(row_key, column)
        if not stated:
            return self._figure(key, label, units, "the sum of line entries", numbers)
        first = lines.source.loaded.start_date
        text = "stated by the service's report: no line entries before that day were loaded"
        before = self._figure(key, f"{label}: balance at the start of {first}", stated, text)
        moved = self._figure(
            key, f"{label}: movement since {first}", units - stated, "the sum of line entries", numbers
        )
        calculation = "the balance that the service's report states, and the movement since"
        return replace(self._figure(key, label, units, calculation), terms=(before, moved), signs=("+", "+"))

    def _figure(
        self, key: str, label: str, units: int, calculation: str, numbers: Sequence[int] | None = None
    ) -> Figure:
        """Figure of units, with the entries of lines if these are its sum."""
        load = None if numbers is None else partial(self._entries.frame, numbers)
        as_decimals = self._entries.source.as_decimals
        return Figure(
            key, label, units, calculation, scale=self._entries.scale, as_decimals=as_decimals, _load_entries=load
        )

    def _made(self, key: str, row_key: str, column: str) -> Figure:
        """Figure of other figures of the table."""
        terms = [(sign, self._figures[one]()) for sign, one in self._record.terms[key]]
        units = sum((-1 if sign == "-" else 1) * int(one.units or 0) for sign, one in terms)
        text = " ".join(f"{sign} {one.label}" for sign, one in terms).removeprefix("+ ")
        made = self._figure(key, self._label(row_key, column), units, f"calculated: {text}")
        signs, of = zip(*terms, strict=True)
        return replace(made, terms=of, signs=signs)

    def _label(self, row_key: str, column: str) -> str:
        return f"{self._record.labels.get(row_key, row_key)}, {self._record.heads.get(column, column)}"


def text_cell(text: str) -> FigureCell:
    """Cell with a text."""
    return FigureCell(text)
