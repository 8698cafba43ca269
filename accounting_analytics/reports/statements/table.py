"""A statement as a table of figures for notebooks and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.core.amount_units import unit_notes
from accounting_analytics.reports.figures.figure_table import (
    MAX_LINES,
    FigureRow,
    FigureTable,
    TableHead,
    cell_of,
    entries_of,
)
from accounting_analytics.reports.figures.numbered_lines import LineTable
from accounting_analytics.reports.statements.summed_days import FLOWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.figures.figure_table import EntriesData, FigureCell
    from accounting_analytics.reports.statements.columns import StatementColumn
    from accounting_analytics.reports.statements.rows import Row
    from accounting_analytics.reports.statements.statement_figures import StatementFigures


def figure_table(
    figures: StatementFigures, title: str, subtitle: str, notes: Sequence[str], *, with_entries: bool = True
) -> FigureTable:
    """Make the table of figures of a statement."""
    heads = [TableHead(column.label, column.kind != "period") for column in figures.columns.shown]
    rows = [
        FigureRow(
            row.label,
            row.level,
            "parent" if row.kind == "ledger" and row.children else row.kind,
            [] if row.kind == "heading" else [_cell(figures, row, column) for column in figures.columns.shown],
            row.path or "",
        )
        for row in figures.layout.shown
    ]
    notes = [*notes, *unit_notes(figures.amounts_in)]
    table = FigureTable(title, subtitle, heads, rows, notes, _entries(figures) if with_entries else None)
    return table.shown_in(figures.amounts_in)


def _cell(figures: StatementFigures, row: Row, column: StatementColumn) -> FigureCell:
    figure = figures.figure(row.key, column.key)
    return cell_of(figure, figures.mark(row, column), has_lines=figures.has_lines(figure))


def _entries(figures: StatementFigures) -> EntriesData:
    """Collect lines for figures that are sums, and terms for other figures."""
    rows = [row for row in figures.layout.shown if row.kind != "heading"]
    shown = {row.key: [figures.figure(row.key, column.key) for column in figures.columns.shown] for row in rows}
    flows = [row.key for row in rows if row.measure in {*FLOWS, "movement"} and not row.terms]
    sums = [
        figure for key in flows or shown for figure in shown[key] if figure.selections and not figure.terms
    ]  # not for balances beside flows
    return entries_of(
        lines_behind(figures, sums, MAX_LINES),
        sums,
        (figure for of_row in shown.values() for figure in of_row),
        scale=figures.source.scale,
        name=figures.ledgers.name,
        call="statement[{row!r}, {column!r}].entries",
        amounts_in=figures.amounts_in,
    )


def lines_behind(figures: StatementFigures, shown: Sequence[Figure], limit: int) -> LineTable | None:
    """Collect the lines of figures, or return None if they exceed `limit` or are missing."""
    selections = [part for figure in shown for part in figure.selections]
    spans = [part.span for part in selections if not part.span.is_empty]
    if not spans:
        return LineTable((), selections)
    ledger_ids = {ledger_id for part in selections for ledger_id in part.ledger_ids}
    found = figures.source.shown_lines(spans, ledger_ids, figures.ledgers, limit)
    return None if found is None else LineTable(found, selections)
