"""`PackTable`: a table of a pack as people read it, its figures, and what the page records of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.figure_tables import FigureCell, FigureRow, FigureTable
from accounting_analytics.figures import KEY_SEPARATOR, NOT_KNOWN, ZERO, Figure, text_of
from accounting_analytics.messages import quote
from accounting_analytics.money import from_minor_units, to_minor_units
from accounting_analytics.pack.table_record import TableRecord
from accounting_analytics.statements.page import figure_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from decimal import Decimal

    from accounting_analytics.figure_tables import TableHead
    from accounting_analytics.pack.pack_lines import PackLines, PackRow
    from accounting_analytics.pack.table_record import Spans
    from accounting_analytics.statements import Statement
    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.rows import Measure, Row
    from accounting_analytics.statements.statement_figures import StatementFigures

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
