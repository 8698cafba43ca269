"""A statement as sheets of a workbook, with its entries, and as CSV."""

from __future__ import annotations

import csv
import datetime as dt
import io
from typing import TYPE_CHECKING

from accounting_analytics.core.edited_files import BYTE_ORDER_MARK, guard
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import printable
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.workbook import (
    MAX_ROWS,
    ColumnSheet,
    accounting_format,
    grouped_format,
    new_workbook,
    require_workbook_name,
    write_file,
)
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, Figure
from accounting_analytics.reports.figures.figure_sheet import FigureSheet, Terms
from accounting_analytics.reports.statements.rows import CASH_PARTS
from accounting_analytics.reports.statements.table import figure_table, lines_behind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from accounting_analytics.reports.figures.numbered_lines import ShownLine
    from accounting_analytics.reports.statements.columns import StatementColumn
    from accounting_analytics.reports.statements.rows import Row
    from accounting_analytics.reports.statements.statement_figures import StatementFigures

_NO_LINES = "The entries are not in this file: the report was recomputed without its lines (lines=False)."


def write_workbook(
    figures: StatementFigures, title: str, lines: Sequence[str], notes: Sequence[str], path: Path
) -> None:
    """Write a statement and its entries to a workbook.

    The file is replaced completely or left unchanged.
    """
    require_workbook_name(path)
    statement, entries = statement_sheets(figures, title, lines, notes)
    with new_workbook(path, accounting_format(grouped_format(figures.source.scale))) as workbook:
        statement.add_to(workbook)
        if entries.row_count:
            workbook.add_columns(entries)


def statement_sheets(
    figures: StatementFigures, title: str, lines: Sequence[str], notes: Sequence[str], entries_name: str = "Entries"
) -> tuple[FigureSheet, ColumnSheet]:
    """Describe the sheets of a statement and of its entries.

    The sheet of entries has the entries of rows that are not sums of other rows. It is refused if entries exceed the
    rows of a sheet.
    """
    leaves = [
        figures.figure(row.key, column.key)
        for row in figures.layout.shown
        if row.kind != "heading" and not row.children and not row.terms
        if row.key not in {*CASH_PARTS, figures.layout.outside}
        for column in figures.columns.shown
        if len(column.periods) == 1 and len(column.tags) < 2  # noqa: PLR2004 (a total of tags has the lines of others)
    ]
    leaves = [figure for figure in leaves if not figure.terms]
    listed: list[ShownLine] = []
    ranges: dict[str, tuple[int, int]] = {}
    for sign in (1, -1):
        summed = [figure for figure in leaves if any(part.factor == sign for part in figure.selections)]
        table = lines_behind(figures, summed, MAX_ROWS - 1 - len(listed))
        if table is None and figures.source.is_report:
            notes = [*notes, _NO_LINES]
            break
        if table is None:
            raise InputError(
                f"the sheet {entries_name} would have more rows than a sheet of Excel, which has {MAX_ROWS:,}; "
                "make the statement of fewer days, or use to_csv; nothing was written"
            )
        for figure in summed:
            for _, first, last in table.ranges(figure):
                ranges[figure.key] = (len(listed) + first, len(listed) + last)
        listed.extend(line._replace(units=sign * line.units) for line in table.lines)
    shown = figure_table(figures, title, "", notes, with_entries=False)
    sheet = FigureSheet(title, lines, shown, _FormulaTerms(figures).of, entries_name, ranges)
    return sheet, ColumnSheet(entries_name, _columns(figures, listed))


def _columns(figures: StatementFigures, lines: Sequence[ShownLine]) -> dict[str, list[object]]:
    """Tabulate the entries, with the signs with which figures sum them."""
    name, scale = figures.ledgers.name, figures.source.scale
    return {
        "date": [dt.date.fromisoformat(line.day) for line in lines],
        "description": [printable(line.description, " ") for line in lines],
        "ledger": [printable(name(line.ledger_id), " ") for line in lines],
        "opposing ledgers": [printable(line.opposing, " ") for line in lines],
        "amount": [from_minor_units(line.units, scale) for line in lines],
        "id": [line.id for line in lines],
    }


class _FormulaTerms:
    """Ways to sum a figure of a statement from rows or columns."""

    def __init__(self, figures: StatementFigures) -> None:
        self._figures = figures

    def of(self, figure: Figure) -> Iterable[Terms]:
        """Yield each way to calculate a figure from other cells."""
        row_key, _, column_key = figure.key.rpartition(KEY_SEPARATOR)
        row, column = self._figures.layout.by_key[row_key], self._figures.columns.by_key[column_key]
        if column.is_percent or column.kind == "average":
            return
        if column.kind == "difference":
            actual, budget = (f"{row.key}{KEY_SEPARATOR}{key}" for key in column.terms)
            yield [(1, actual), (-1, budget)]
            return
        terms = row.terms or [(1, key) for key in row.children]
        down = [(factor, f"{key}{KEY_SEPARATOR}{column.key}") for factor, key in terms]
        across = self._across(row, column)
        yield from (across, down) if column.kind == "change" else (down, across)

    def _across(self, row: Row, column: StatementColumn) -> Terms:
        """Find the cells of the row that sum to `column`.

        Find none if a needed cell is hidden.
        """
        if column.kind not in {"total", "change"} or (column.kind == "total" and row.measure in {"opening", "balance"}):
            return []
        if column.tags:
            of_tags = [tag_column.key for tag_column in self._figures.columns.shown if len(tag_column.tags) == 1]
            return [(1, f"{row.key}{KEY_SEPARATOR}{key}") for key in of_tags]
        keys: dict[object, str] = {}
        for shown in self._figures.columns.shown:
            if shown.is_of_days and shown.side == column.side:
                is_beside = column.of is not None and column.of in {shown.key, shown.of}
                keys |= {shown.periods: shown.key} if is_beside or shown.periods not in keys else {}
        found = [(factor, keys.get(((1, period),))) for factor, period in column.periods]
        return (
            [(factor, f"{row.key}{KEY_SEPARATOR}{key}") for factor, key in found]
            if all(key for _, key in found)
            else []
        )


def write_csv(figures: StatementFigures, path: Path) -> None:
    """Write the rows as CSV, with all digits. Amounts that are not known are empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    heads = [head for column in figures.columns.shown for head in _csv_heads(column)]
    writer.writerow(["label", "key", "level", "kind", *heads])
    for row in figures.layout.shown:
        cells = [text for column in figures.columns.shown for text in _csv_cells(figures, row, column)]
        writer.writerow([guard(row.label), guard(row.key), row.level, row.kind, *cells])
    write_file(path, f"{BYTE_ORDER_MARK}{text.getvalue()}".encode())


def _csv_heads(column: StatementColumn) -> list[str]:
    """Return the heads of a column. A difference has two heads."""
    return [column.key, *([f"{column.of} favourable"] if column.kind == "difference" else [])]


def _csv_cells(figures: StatementFigures, row: Row, column: StatementColumn) -> list[str]:
    """Write the cells of a row under the heads of a column."""
    if row.kind == "heading":
        return [""] * len(_csv_heads(column))
    value = figures.figure(row.key, column.key).exact()
    text = "" if value is None else f"{value:f}"
    return [text, *([figures.mark(row, column)] if column.kind == "difference" else [])]
