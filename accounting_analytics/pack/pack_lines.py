"""The line entries in the page of a pack, and the parts of each figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accounting_analytics.core.column_conversion import exact_amounts
from accounting_analytics.core.errors import BooksDoNotTieError
from accounting_analytics.core.messages import printable
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.core.periods import DAY
from accounting_analytics.reports.figures.figure import PERCENT
from accounting_analytics.reports.figures.numbered_lines import PageLines, ShownLine, runs_of
from accounting_analytics.reports.figures.selections import Span, simplified

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable

    from accounting_analytics.pack.pack_table import PackTable
    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.statements.statement_figures import StatementFigures

_MOST = 10**9
_OPENING = ""
"""Id of a line that is a balance and no line entry."""


class PackLines:
    """The numbered line entries of a pack since a day, after a balance of each ledger at the start of that day.

    Parameters
    ----------
    figures : StatementFigures
        A statement of the pack with its lines and supplied balances.
    source : LineSource
        Its lines.
    first, last : date
        First and last day of the lines; those before are one balance for each ledger.
    """

    def __init__(self, figures: StatementFigures, source: LineSource, first: dt.date, last: dt.date) -> None:
        self._source, self._names, self.scale = source, figures.ledgers, source.scale
        self._loaded, self._starting = source.loaded.start_date, figures.starting or {}
        self.first = min(max(first, self._loaded), last)
        ledgers = set(figures.ledgers.ids)
        lines = source.shown_lines([Span(self.first, last)], ledgers, figures.ledgers, _MOST) or []
        self._lines = [*self._balances(), *lines]
        self._numbers = {line.id: number for number, line in enumerate(self._lines) if line.id != _OPENING}
        self._ledgers = {
            ledger_id: number for number, ledger_id in enumerate(dict.fromkeys(line.ledger_id for line in self._lines))
        }

    @property
    def line_count(self) -> int:
        """Number of line entries, without balances."""
        return len(self._numbers)

    def _balances(self) -> list[ShownLine]:
        """Sum the balance of each ledger before the first day."""
        before = Span(self._loaded, self.first - DAY)
        sums = {} if before.is_empty else self._source.sums({before})[before]
        units = {
            ledger_id: sums.get(ledger_id, 0) + self._starting.get(ledger_id, 0)
            for ledger_id in {*sums, *self._starting}
        }
        text = f"Balance before {self.first}"
        return [
            ShownLine(ledger_id, "", text, "", units[ledger_id], _OPENING, _OPENING)
            for ledger_id in sorted(units, key=self._names.path)
            if units[ledger_id]
        ]

    def content(self) -> dict[str, Any]:
        """Return the lines of the page, each with its part of cash flow and the number of its entry."""
        found = PageLines.of(self._lines, self._names.name)
        entries: dict[str, int] = {}
        lines = [
            (*line, shown.part, -1 if shown.id == _OPENING else entries.setdefault(shown.entry, len(entries)))
            for line, shown in zip(found.lines, self._lines, strict=True)
        ]
        return {**found._asdict(), "lines": lines}

    def table_content(self, table: PackTable, shown: Collection[str]) -> dict[str, Any]:
        """Write the parts of a table's shown figures, and of all figures that these are made of."""
        found: dict[str, Any] = {}
        waiting = [table.figures[key] for key in sorted(shown)]
        while waiting:
            figure = waiting.pop()
            if figure.key not in found:
                terms = [term for term in figure.terms if term.key != figure.key]
                found[figure.key] = self._stated(figure, table, terms)
                waiting += terms
        return {"figures": found, "hidden": [key for key in found if key not in shown]}

    def _stated(self, figure: Figure, table: PackTable, terms: Iterable[Figure]) -> tuple[Any, ...]:
        """Write a figure as its kind, its label and its parts."""
        label = printable(figure.label)
        if figure.units is None:
            return "unknown", label
        if figure.kind == "quotient":
            form = () if figure.quotient == PERCENT else figure.quotient
            return ("quotient", label, *(term.key for term in figure.terms), *form)
        if terms:
            signs = {id(term): sign for sign, term in zip(figure.signs, figure.terms, strict=True)}
            return "terms", label, [(signs[id(term)], term.key) for term in terms]
        if figure.selections:
            return "sum", label, self._selected(figure)
        if figure.is_additive and not table.is_stated:
            return "lines", label, self._listed(figure)
        return "stated", label, figure.units

    def _selected(self, figure: Figure) -> list[tuple[int, int, str, str, list[int]]]:
        """Write each selection: factor, kind of lines, days and ledgers.

        The first day is "" for all days up to the last.
        """
        has_balances = not self._starting or bool(figure.terms)  # supplied balances are only in figures with terms

        def first(span: Span) -> str:
            is_first = span.first is None or (has_balances and span.first <= self._loaded)
            return "" if is_first or span.first is None else span.first.isoformat()

        return [
            (
                part.factor,
                part.span.part,
                first(part.span),
                part.span.last.isoformat(),
                sorted(self._ledgers[ledger_id] for ledger_id in part.ledger_ids if ledger_id in self._ledgers),
            )
            for part in simplified(figure.selections)
        ]

    def _listed(self, figure: Figure) -> list[tuple[int, int, int]]:
        """Write a figure's lines as runs: sign, first and last number."""
        entries = figure.exact_entries()
        ids = entries["id"].astype(object)
        if not set(ids) <= self._numbers.keys():
            raise BooksDoNotTieError(f"{figure.label} has line entries that are not of the days of the pack")
        amounts = exact_amounts(entries["figure_amount"], self.scale, ids).column
        signed = []
        for line_id, amount in zip(ids, amounts, strict=True):
            number = self._numbers[line_id]
            signed.append((number, 1 if to_minor_units(amount, self.scale) == self._lines[number].units else -1))
        return runs_of(signed)
