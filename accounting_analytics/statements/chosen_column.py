"""`ChosenColumn`: one column of a statement, for functions that compare two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accounting_analytics.statements.cells import Cells
    from accounting_analytics.statements.columns import StatementColumn


@dataclass(frozen=True, eq=False, repr=False)
class ChosenColumn:
    """A column, and the cells of the statement that it is of.

    Attributes
    ----------
    title : str
        What the statement is.
    column : StatementColumn
        The column.
    cells : Cells
        The cells of the statement.
    """

    title: str
    column: StatementColumn
    cells: Cells

    def __repr__(self) -> str:
        return f"{self.title}, column {self.column.key!r} ({self.column.label})"
