"""The table of the marks of a chart: every amount as text, and the lines or amounts behind it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.column_conversion import exact_amounts
from accounting_analytics.figure_tables import EntriesData, FigureCell, FigureRow, FigureTable, TableHead
from accounting_analytics.figures import KEY_SEPARATOR, ZERO, text_of
from accounting_analytics.money import from_minor_units, to_minor_units
from accounting_analytics.periods import local_date, zone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.figure_tables import Range

MAX_LINES = 9_000
"""Lines that a page carries; above it, a press on a figure shows the call that gives them."""

_CALL = "figure.mark({row!r}, {column!r}).entries"
Series = tuple[str, str]
"""A ledger, and the part of its lines that marks tell apart, such as the inflows."""


class TableLine(NamedTuple):
    """A line behind marks: its series and the name of its ledger, local day, texts, and units as marks count them."""

    series: Series
    ledger: str
    day: str
    text: str
    opposing: str
    units: int


class MarkTableBuilder:
    """Rows of a table of marks while they are added; the lines behind them are given first.

    Parameters
    ----------
    heads : sequence of str
        Heads of the columns of amounts.
    lines : sequence of TableLine or None
        The lines; None if they are more than a page carries.
    scale : int
        Fraction digits of the amounts.
    """

    def __init__(self, heads: Sequence[str], lines: Sequence[TableLine] | None, scale: int) -> None:
        self._heads, self._scale = heads, scale
        self._numbers = {one: number for number, one in enumerate(dict.fromkeys(line.series for line in lines or []))}
        self._lines = sorted(lines or [], key=lambda line: (self._numbers[line.series], line.day))
        self._runs: dict[Series, tuple[int, list[str]]] = {}
        for place, line in enumerate(self._lines):
            self._runs.setdefault(line.series, (place, []))[1].append(line.day)
        self._has_lines = lines is not None and len(lines) <= MAX_LINES
        self._rows: list[FigureRow] = []
        self._ranges: dict[str, dict[str, list[Range]]] = {}
        self._terms: dict[str, list[tuple[str, str, str]]] = {}

    def total(self, series: Collection[Series], factor: int = 1) -> Decimal:
        """Sum of the lines of some series."""
        wanted = set(series)
        return from_minor_units(factor * sum(one.units for one in self._lines if one.series in wanted), self._scale)

    @property
    def series(self) -> Collection[Series]:
        """All series of the lines."""
        return self._runs.keys()

    def sum(
        self,
        key: str,
        amount: Decimal | None,
        series: Collection[Series],
        days: tuple[str, str] = ("", "9999-12-31"),
        factor: int = 1,
    ) -> FigureCell:
        """Cell of a mark that is the sum of the lines of some series and days."""
        if amount is None:
            return unknown_cell()
        row, column = _split(key)
        ranges = [(factor, *one) for one in self._within(series, days)]
        self._ranges.setdefault(row, {})[column] = ranges
        is_pressed = bool(amount) or bool(ranges)
        return FigureCell(text_of(amount), f"{row}{KEY_SEPARATOR}{column}" if is_pressed else "", _mark(amount))

    def _within(self, series: Collection[Series], days: tuple[str, str]) -> Iterator[tuple[int, int]]:
        """First and last number of the lines of each series in some days."""
        for one in series:
            start, of_series = self._runs.get(one, (0, []))
            begin, end = bisect_left(of_series, days[0]), bisect_right(of_series, days[1])
            if begin < end:
                yield start + begin, start + end - 1

    def derived(self, key: str, text: str, terms: Sequence[tuple[str, str, str]]) -> FigureCell:
        """Cell of a mark that is made of others: sign, label and text of each."""
        row, column = _split(key)
        self._terms[f"{row}{KEY_SEPARATOR}{column}"] = list(terms)
        return FigureCell(text, f"{row}{KEY_SEPARATOR}{column}", "zero" if text == ZERO else "")

    def row(self, label: str, cells: Sequence[FigureCell], kind: str = "ledger") -> None:
        """Add a row."""
        self._rows.append(FigureRow(label, 0, kind, cells))

    def build(self, title: str, subtitle: str, notes: Sequence[str] = ()) -> FigureTable:
        """Return the table."""
        names = {line.series: line.ledger for line in self._lines}
        entries = EntriesData(
            self._scale,
            [names[one] for one in self._runs],
            [(self._numbers[one.series], one.day, one.text, one.opposing, one.units) for one in self._lines],
            self._ranges,
            self._terms,
            _CALL,
        )
        if not self._has_lines:
            entries = entries._replace(ledgers=(), lines=(), figures={})
        heads = [TableHead(head, is_comparison=False) for head in self._heads]
        return FigureTable(title, subtitle, heads, self._rows, notes, entries)


def plain_cell(amount: Decimal | None) -> FigureCell:
    """Cell of an amount without anything behind it."""
    return unknown_cell() if amount is None else FigureCell(text_of(amount), "", _mark(amount))


def unknown_cell() -> FigureCell:
    """Cell of an amount that is not known."""
    return FigureCell(text_of(None), "", "unknown")


def _mark(amount: Decimal) -> str:
    return "" if amount else "zero"


def _split(key: str) -> tuple[str, str]:
    """Row and column of a key, as the script of tables separates them."""
    row, separator, column = key.rpartition(KEY_SEPARATOR)
    return (row, column) if separator else (key, "")


def report_lines(report: CashFlowReport, without: Collection[str] = ()) -> list[TableLine]:
    """Lines of a report but those of some ledgers; inflows and outflows of a ledger are series of their own."""
    names = dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
    scale = report.scale
    exact = exact_amounts(report.lines["amount"], scale, report.lines["line_id"]).column
    days = zone(report.period.time_zone)
    columns = ("ledger_id", "datetime", "journal_entry_description", "cash_flow_ledger_name")
    found = []
    for amount, ledger_id, instant, text, opposing in zip(
        exact, *(report.lines[name].astype(object) for name in columns), strict=True
    ):
        if ledger_id not in without:
            series = (ledger_id, "in" if amount > 0 else "out")
            units = to_minor_units(amount, scale)
            day = local_date(instant, days).isoformat()
            found.append(TableLine(series, names[ledger_id], day, _text(text), _text(opposing), units))
    return found


def entry_lines(entries: pd.DataFrame, scale: int, group: str, sign: int = 1) -> list[TableLine]:
    """Line entries of a figure, as it sums them or negated; the group tells them from others."""
    exact = exact_amounts(entries["figure_amount"], scale, entries["id"]).column
    texts = entries["journal_entry_description"] if "journal_entry_description" in entries else entries["id"]
    names = entries["ledger_name"] if "ledger_name" in entries else entries["ledger_id"]
    columns = (entries["ledger_id"], names, entries["local_date"], texts)
    return [
        TableLine(
            (ledger_id, group), _text(name), f"{day:%Y-%m-%d}", _text(text), "", sign * to_minor_units(amount, scale)
        )
        for amount, ledger_id, name, day, text in zip(exact, *(one.astype(object) for one in columns), strict=True)
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
