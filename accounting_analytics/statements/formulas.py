"""Formulas of a workbook: sums of the rows and columns that a cell is made of, and differences of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.money import MAX_UNITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.rows import Row
    from accounting_analytics.statements.statement_figures import StatementFigures

_MAX_ARGUMENTS, _MAX_LENGTH = 255, 8_192
"""Limits of Excel: arguments of a function, characters of a formula."""

Key = tuple[str, str]
"""Row and column key of a figure."""
_Term = tuple[int, Key]
"""A figure that is added (1) or subtracted (-1)."""


class Formula(NamedTuple):
    """A formula, and the figures whose cells it calculates with."""

    text: str
    parts: tuple[Key, ...]


class Formulas:
    """Formulas of a statement whose first row is `first_row` of a sheet (from 0); the first column has the labels."""

    def __init__(self, figures: StatementFigures, first_row: int) -> None:
        self._figures = figures
        self._rows = {row.key: first_row + number for number, row in enumerate(figures.layout.shown) if row.key}
        self._columns = {column.key: 1 + number for number, column in enumerate(figures.columns.shown)}

    def place(self, key: Key) -> tuple[int, int]:
        """Row and column of a cell, counted from 0."""
        return self._rows[key[0]], self._columns[key[1]]

    def formula(self, row: Row, column: StatementColumn) -> Formula | None:
        """Return the formula of a cell whose parts are shown and give exactly its amount; None where it has a value."""
        if column.is_percent or column.kind == "average":
            return None
        down = [(factor, (key, column.key)) for factor, key in row.terms or [(1, key) for key in row.children]]
        across = self._across(row, column)
        first, second = (across, down) if column.kind == "change" else (down, across)
        return self._sum((row.key, column.key), first) or self._sum((row.key, column.key), second)

    def _across(self, row: Row, column: StatementColumn) -> list[_Term]:
        """Cells of a row with the periods of a total or a change; none if one of them is not shown."""
        if column.kind not in {"total", "change"} or (column.kind == "total" and row.kind == "balance"):
            return []
        keys: dict[object, str] = {}
        for one in self._figures.columns.shown:
            if one.kind in {"period", "prior", "prior_year"} and one.side == column.side:
                is_beside = column.of is not None and column.of in {one.key, one.of}
                keys |= {one.periods: one.key} if is_beside or one.periods not in keys else {}
        found = [(factor, keys.get(((1, period),))) for factor, period in column.periods]
        return [(factor, (row.key, key)) for factor, key in found if key] if all(key for _, key in found) else []

    def _sum(self, cell: Key, terms: Sequence[_Term]) -> Formula | None:
        terms = [(factor, key) for factor, key in terms if key[0] in self._rows]
        whole, parts = self._units(cell), [(factor, self._units(key)) for factor, key in terms]
        if not terms or whole is None or any(units is None for _, units in parts):
            return None
        if whole != sum(factor * (units or 0) for factor, units in parts):
            return None
        is_plain = all(factor == 1 for factor, _ in terms)
        text = f"SUM({self._references(key for _, key in terms)})" if is_plain else self._difference(terms)
        scale = self._figures.source.scale
        text = f"=ROUND({text},{scale})" if scale else f"={text}"  # sums of fractions are not exact in binary
        is_short = len(text) < _MAX_LENGTH and text.count(",") < _MAX_ARGUMENTS
        return Formula(text, tuple(key for _, key in terms)) if is_short else None

    def _units(self, key: Key) -> int | None:
        """Units of a cell; None where it has no number, or one with more digits than Excel keeps."""
        units = self._figures.figure(*key).units
        return units if isinstance(units, int) and abs(units) < MAX_UNITS else None

    def _difference(self, terms: Iterable[_Term]) -> str:
        from xlsxwriter.utility import xl_rowcol_to_cell  # noqa: PLC0415 (an extra)

        signed = (f"{'+' if factor > 0 else '-'}{xl_rowcol_to_cell(*self.place(key))}" for factor, key in terms)
        return "".join(signed).removeprefix("+")

    def _references(self, keys: Iterable[Key]) -> str:
        """Cells as arguments of a function: those beside or below each other as a range."""
        from xlsxwriter.utility import xl_range  # noqa: PLC0415 (an extra)

        places = sorted(self.place(key) for key in keys)
        is_row = len({row for row, _ in places}) == 1
        runs: list[list[tuple[int, int]]] = []
        for row, column in places:
            before = (row, column - 1) if is_row else (row - 1, column)
            if runs and runs[-1][-1] == before:
                runs[-1].append((row, column))
            else:
                runs.append([(row, column)])
        return ",".join(xl_range(*run[0], *run[-1]) for run in runs)
