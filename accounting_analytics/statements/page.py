"""A statement as a table of figures for notebooks and pages, with the lines behind its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.figure_tables import EntriesData, FigureCell, FigureRow, FigureTable, TableHead
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.statements.cells import NOT_KNOWN, ZERO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.statements.cells import Cells
    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.rows import Measure, Row

_CHANGES = ("change", "change_pct")


def figure_table(
    cells: Cells, title: str, subtitle: str, notes: Sequence[str], *, with_entries: bool = True
) -> FigureTable:
    """Describe a statement for :func:`~accounting_analytics.figure_tables.figure_table_html`."""
    heads = [TableHead(column.label, column.kind != "period") for column in cells.columns.shown]
    rows = [
        FigureRow(
            row.label,
            row.level,
            row.kind,
            [] if row.kind == "heading" else [_cell(cells, row, column) for column in cells.columns.shown],
            row.path or "",
        )
        for row in cells.layout.shown
    ]
    return FigureTable(title, subtitle, heads, rows, notes, _entries(cells) if with_entries else None)


def _cell(cells: Cells, row: Row, column: StatementColumn) -> FigureCell:
    text = cells.text(row.key, column.key)
    if not text:
        return FigureCell("")
    if text == NOT_KNOWN:
        return FigureCell(text, mark="unknown")
    key = f"{row.key}{KEY_SEPARATOR}{column.key}"
    if text == ZERO:
        return FigureCell(text, key if cells.has_lines(row, column) else "", "zero")
    mark = ""
    if column.kind in _CHANGES and row.favourable:
        is_more = (cells.value(row.key, column.key) or 0) > 0
        mark = "favourable" if is_more == (row.favourable > 0) else "unfavourable"
    return FigureCell(text, key, mark)


def _entries(cells: Cells) -> EntriesData:
    """Collect the lines of the additive figures, where a page can carry them, and the terms of the others."""
    shown = [row for row in cells.layout.shown if row.kind != "heading"]
    measured: dict[Measure, list[Row]] = {}
    for row in shown:
        if any(cells.is_additive(row.key, column.key) for column in cells.columns.shown):
            measured.setdefault(row.measure, []).append(row)
    numbers: dict[str, int] = {}
    rows: dict[str, tuple[int, str, list[int]]] = {}
    days: dict[str, dict[str, list[tuple[int, str, str]]]] = {}
    lines = cells.page_lines(measured)
    for measure, of_measure in measured.items():
        if lines is None or measure not in lines.measures:
            continue
        days[measure] = {
            column.key: [
                (factor, span.first.isoformat() if span.first else "", span.last.isoformat())
                for factor, span in cells.spans(measure, column)
            ]
            for column in cells.columns.shown
            if column.periods
        }
        for row in of_measure:
            if len(row.ledger_ids) == 1 or not any(column.side for column in cells.columns.shown):
                factor = 1 if any(column.side for column in cells.columns.shown) else row.factor
                rows[row.key] = (factor, measure, [numbers.setdefault(one, len(numbers)) for one in row.ledger_ids])
    return EntriesData(
        cells.source.scale,
        [cells.ledgers.name(one) for one in numbers],
        [] if lines is None else [(numbers[line[0]], *line[1:]) for line in lines.lines if line[0] in numbers],
        rows,
        days,
        cells.page_terms(),
        "statement[{row!r}, {column!r}].entries",
    )
