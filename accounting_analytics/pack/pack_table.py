"""Tables of a pack: rows of figures from statements, bridges and balances."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.reports.figures.figure import ZERO, Figure, renamed
from accounting_analytics.reports.figures.figure_table import FigureCell, FigureRow, FigureTable, TableHead, cell_of
from accounting_analytics.reports.statements.table import figure_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.statements.rows import Row
    from accounting_analytics.reports.statements.statement import Statement


class PackTable(NamedTuple):
    """A table of a pack.

    Attributes
    ----------
    name : str
        What finds it in the page.
    table : FigureTable
        What is shown; each figure has its key, also where there is nothing to unfold.
    figures : mapping
        Its figures by key, and those that only sentences name.
    is_stated : bool
        True if the amounts come from outside, and the page lacks their lines.
    """

    name: str
    table: FigureTable
    figures: Mapping[str, Figure]
    is_stated: bool = False

    def shown(self) -> Iterable[tuple[str, FigureCell]]:
        """Yield the key and the cell of each shown figure."""
        return ((cell.key, cell) for row in self.table.rows for cell in row.cells if cell.key)

    def shown_in(self, amounts_in: AmountsIn | None) -> PackTable:
        """Return the table with amounts in thousands or millions. The figures stay the same."""
        return self._replace(table=self.table.shown_in(amounts_in))

    def figure(self, key: str) -> Figure:
        """Return the figure with a key."""
        if key not in self.figures:
            raise InputError(f"{self.name} has no figure {quote(key)}")
        return self.figures[key]


class PackRow(NamedTuple):
    """A row: label, figures and texts, kind, level, and a title."""

    label: str
    cells: Sequence[Figure | str] = ()
    kind: str = "ledger"
    level: int = 0
    title: str = ""


def make_table(
    name: str,
    title: str,
    heads: Sequence[TableHead],
    rows: Sequence[PackRow],
    notes: Sequence[str] = (),
    *,
    is_stated: bool = False,
) -> PackTable:
    """Make a table of rows."""
    figures = {cell.key: cell for row in rows for cell in row.cells if isinstance(cell, Figure)}
    shown = [
        FigureRow(
            row.label,
            row.level,
            row.kind,
            [FigureCell(cell) if isinstance(cell, str) else _cell(cell) for cell in row.cells],
            row.title,
        )
        for row in rows
    ]
    return PackTable(name, FigureTable(title, "", heads, shown, notes, None), figures, is_stated)


def _cell(figure: Figure) -> FigureCell:
    """Make the cell of a figure. A zero that is made of terms or lines can be pressed."""
    is_listed = figure.is_additive and not figure.selections
    has_lines = bool(figure.terms) or (is_listed and len(figure.exact_entries()) > 0)
    return _with_key(cell_of(figure, has_lines=has_lines), figure)


def _with_key(cell: FigureCell, figure: Figure) -> FigureCell:
    """Give a cell the key of its figure.

    Cells of figures that do not unfold also get a key.
    """
    if not cell.text:
        return cell
    if not cell.key:
        return cell._replace(key=figure.key, mark=cell.mark or "zero")
    mark = "" if cell.text == ZERO and cell.mark != "unknown" else cell.mark
    return cell._replace(key=figure.key, mark=mark)


def statement_table(name: str, statement: Statement) -> PackTable:
    """Make the table of a statement, without rows of zeros and unknown columns."""
    figures = statement.figures
    table = figure_table(figures, statement.title, "", (), with_entries=False)
    rows: list[FigureRow] = []
    found: dict[str, Figure] = {}
    for row, shown in _without_zeros(list(zip(figures.layout.shown, table.rows, strict=True))):
        of_row = [figures.figure(row.key, column.key) for column in figures.columns.shown] if shown.cells else []
        found |= {figure.key: figure for figure in of_row if figure.text}
        cells = [_with_key(cell, figure) for cell, figure in zip(shown.cells, of_row, strict=True)]
        rows.append(shown._replace(cells=cells))
    left_out = len(table.rows) - len(rows)
    notes = [f"{count_of(left_out, 'row')} of zeros left out."] if left_out else []
    known = [place for place, _ in enumerate(table.heads) if any(map(_is_known, (row.cells[place:] for row in rows)))]
    unknown = len(table.heads) - len(known)
    if known and unknown:
        notes.append(f"{count_of(unknown, 'column')} of days that are not known left out.")
        notes += figures.rules.opening.notes_on(_periods(statement))
        rows = [row._replace(cells=[row.cells[place] for place in known] if row.cells else row.cells) for row in rows]
        table = table._replace(heads=[table.heads[place] for place in known])
    return PackTable(name, table._replace(rows=rows, notes=notes), found)


def _is_known(cells: Sequence[FigureCell]) -> bool:
    """Return whether the first cell has a known amount."""
    return bool(cells) and bool(cells[0].text) and cells[0].mark != "unknown"


def _periods(statement: Statement) -> Iterable[Period]:
    return (period for column in statement.columns for _, period in column.periods)


def _without_zeros(rows: Sequence[tuple[Row, FigureRow]]) -> list[tuple[Row, FigureRow]]:
    """Leave out rows whose figures are all zero, and headings without rows."""
    kept: list[tuple[Row, FigureRow]] = []
    for row, shown in reversed(rows):
        if row.kind == "heading":
            is_kept = bool(kept) and (kept[-1][0].kind != "heading" or kept[-1][0].level > row.level)
        else:
            is_kept = row.kind in {"total", "balance"} or any(cell.text not in {ZERO, ""} for cell in shown.cells)
        if is_kept:
            kept.append((row, shown))
    return kept[::-1]


def figure_of_lines(figure: Figure, key: str, label: str) -> Figure:
    """Give a figure another key and label. If it has lines, it sums lines and has no terms."""
    named = renamed(figure, key, label)
    return replace(named, terms=(), signs=()) if figure.is_additive else named


def amount_head(text: str, *, is_comparison: bool = False) -> TableHead:
    """Make the head of a column of amounts."""
    return TableHead(text, is_comparison=is_comparison)


def text_head(text: str) -> TableHead:
    """Make the head of a column of texts."""
    return TableHead(text, is_comparison=False, is_text=True)
