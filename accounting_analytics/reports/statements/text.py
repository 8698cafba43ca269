"""A statement as plain text: its title, its figures, its notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from accounting_analytics.core.amount_units import unit_notes
from accounting_analytics.core.messages import printable
from accounting_analytics.reports.figures.table_text import TextColumn, figure_lines, wrap_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.reports.statements.columns import StatementColumn
    from accounting_analytics.reports.statements.rows import Row


class ShownStatement(Protocol):
    """The parts of a statement that its text needs."""

    @property
    def title(self) -> str:
        """Name of the statement."""

    @property
    def company(self) -> str | None:
        """Name of the company."""

    @property
    def columns(self) -> Sequence[StatementColumn]:
        """Columns in order."""

    @property
    def rows(self) -> Sequence[Row]:
        """Rows in order."""

    @property
    def notes(self) -> Sequence[str]:
        """Remarks for the reader."""

    @property
    def amounts_in(self) -> AmountsIn | None:
        """The unit that amounts are shown in."""

    def subtitle(self) -> str:
        """Return the days and the currency."""

    def text(self, row_key: str, column_key: str) -> str:
        """Return the text of a figure."""


def statement_text(statement: ShownStatement, width: int, remarks: Sequence[str] = ()) -> str:
    """Write a statement in text lines of `width` characters. Figures are never cut.

    A text line is longer only if a figure is longer. `remarks` are notes that only the text has.
    """
    head = [statement.company or "", statement.title, statement.subtitle()]
    lines = [line for text in head if text for line in wrap_words(printable(text), width)]
    lines.extend(figure_lines(statement.rows, [_column(statement, column) for column in statement.columns], width))
    notes = [*statement.notes, *unit_notes(statement.amounts_in), *remarks]
    if notes:
        lines.append("")
    for note in notes:
        lines.extend(wrap_words(f"Note: {printable(note)}", width))
    return "\n".join(lines)


def _column(statement: ShownStatement, column: StatementColumn) -> TextColumn:
    """Make a column of texts, grouped by period."""
    texts = ["" if row.kind == "heading" else statement.text(row.key, column.key) for row in statement.rows]
    return TextColumn(column.label, texts, column.of or column.key.removesuffix(f" {column.side}"))
