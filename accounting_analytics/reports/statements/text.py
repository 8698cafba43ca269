"""A statement as plain text: its title, its figures, its notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from accounting_analytics.core.amount_units import unit_notes
from accounting_analytics.core.messages import printable
from accounting_analytics.reports.figures.figure_text import TextColumn, figure_lines, wrap_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.reports.statements.columns import StatementColumn
    from accounting_analytics.reports.statements.rows import Row


class ShownStatement(Protocol):
    """What the text of a statement needs of it."""

    @property
    def title(self) -> str:
        """What it is."""

    @property
    def company(self) -> str | None:
        """Whose it is."""

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
        """Days and currency."""

    def text(self, row_key: str, column_key: str) -> str:
        """Text of a figure."""


def statement_text(statement: ShownStatement, width: int, remarks: Sequence[str] = ()) -> str:
    """Text of a statement in lines of at most `width` columns, unless a figure needs more; no figure is cut.

    `remarks` are further notes of the text.
    """
    head = [statement.company or "", statement.title, statement.subtitle()]
    lines = [line for text in head if text for line in wrap_words(printable(text), width)]
    lines.extend(figure_lines(statement.rows, [_column(statement, one) for one in statement.columns], width))
    notes = [*statement.notes, *unit_notes(statement.amounts_in), *remarks]
    if notes:
        lines.append("")
    for note in notes:
        lines.extend(wrap_words(f"Note: {printable(note)}", width))
    return "\n".join(lines)


def _column(statement: ShownStatement, column: StatementColumn) -> TextColumn:
    """Column of texts; its group is that of a period and its comparisons, or of its debits and its credits."""
    texts = ["" if row.kind == "heading" else statement.text(row.key, column.key) for row in statement.rows]
    return TextColumn(column.label, texts, column.of or column.key.removesuffix(f" {column.side}"))
