"""Formulas of a workbook: how the totals, identities and comparisons of a statement follow from other cells.

A cell has a formula only where its parts are shown and give exactly the amount of the statement, as Excel rounds; else
it has a value. A part that is not known never counts as zero.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.figures import KEY_SEPARATOR, OWN
from accounting_analytics.money import EXACT, fits_float
from accounting_analytics.statements.cells import NOT_KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accounting_analytics.statements.cells import Cells
    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.rows import Row

_MAX_ARGUMENTS, _MAX_LENGTH = 255, 8_192
"""Limits of Excel: arguments of a function, characters of a formula."""
_PERCENT_DIGITS = 3
"""Fraction digits of a percentage in a cell, which holds it as a fraction of one."""
_LETTERS = 26

Key = tuple[str, str]
"""Row and column key of a figure."""


class Formula(NamedTuple):
    """A formula, and the figures whose cells it calculates with."""

    text: str
    parts: tuple[Key, ...]


class _Term(NamedTuple):
    factor: int
    key: Key


class Formulas:
    """Formulas of a statement whose first row is `first_row` of a sheet (from 0); the first column has the labels."""

    def __init__(self, cells: Cells, first_row: int) -> None:
        self._cells = cells
        self._rows = {row.key: first_row + number for number, row in enumerate(cells.layout.shown) if row.key}
        self._columns = {column.key: 1 + number for number, column in enumerate(cells.columns.shown)}

    def place(self, key: Key) -> tuple[int, int]:
        """Row and column of a cell, counted from 0."""
        return self._rows[key[0]], self._columns[key[1]]

    def formula(self, row: Row, column: StatementColumn) -> Formula | None:
        """Return the formula of a cell; None where it has a value."""
        cell = (row.key, column.key)
        if not self._cells.text(*cell):
            return None
        if column.is_percent:
            return self._percentage(cell, column)
        if column.kind == "average":
            return self._average(cell, column)
        down = [_Term(factor, (key, column.key)) for factor, key in row.terms]
        down = down or [_Term(1, (key, column.key)) for key in row.children]
        across = self._across(row, column)
        first, second = (across, down) if column.kind == "change" else (down, across)
        return self._sum(cell, first) or self._sum(cell, second)

    def _across(self, row: Row, column: StatementColumn) -> list[_Term]:
        """Cells of a row with the periods of a total or a change; none if one of them is not shown."""
        if column.kind not in {"total", "change"} or (column.kind == "total" and row.kind == "balance"):
            return []
        keys: dict[object, str] = {}
        for one in self._cells.columns.shown:
            if one.kind in {"period", "prior", "prior_year"} and one.side == column.side:
                is_beside = column.of is not None and column.of in {one.key, one.of}
                keys |= {one.periods: one.key} if is_beside or one.periods not in keys else {}
        found = [(factor, keys.get(((1, period),))) for factor, period in column.periods]
        return [_Term(factor, (row.key, key)) for factor, key in found if key] if all(key for _, key in found) else []

    def _sum(self, cell: Key, terms: Sequence[_Term]) -> Formula | None:
        """Sum of the cells that are shown, if it is exactly the amount of the cell."""
        terms = [term for term in terms if term.key[0] in self._rows]
        amount, amounts = self._cells.value(*cell), self._amounts(terms)
        if not amounts or (amount is None) is not (None in amounts):
            return None
        is_plain = all(term.factor == 1 for term in terms)
        references = self._references([term.key for term in terms])
        text = self._rounded(f"SUM({references})" if is_plain else self._signed(terms))
        if amount is None:
            count = f"COUNT({references})={len(terms)}"
            text = f'IF({count},{text},"{NOT_KNOWN}")' if is_plain else f'IFERROR({text},"{NOT_KNOWN}")'
        elif amount != _total(terms, amounts) or not fits_float(amount, self._cells.source.scale):
            return None
        return _formula(text, [term.key for term in terms])

    def _average(self, cell: Key, column: StatementColumn) -> Formula | None:
        """Average of cells, if it is the amount of the cell."""
        terms = [_Term(1, (cell[0], key)) for key in column.terms]
        amount, amounts = self._cells.value(*cell), self._amounts(terms)
        if amount is None or not amounts or None in amounts:
            return None
        scale = self._cells.source.scale
        if amount != _divide(_total(terms, amounts), Decimal(len(terms)), Decimal(1).scaleb(-scale)):
            return None
        keys = [term.key for term in terms]
        return _formula(f"ROUND(AVERAGE({self._references(keys)}),{scale})", keys)

    def _percentage(self, cell: Key, column: StatementColumn) -> Formula | None:
        """Percentage of other cells, if it is that of the cell."""
        is_change, this = column.kind == "change_pct", (cell[0], column.terms[0])
        if not is_change:
            size = [_Term(1, key) for key in self._share_of(column)]
        elif column.terms[1] in self._columns:
            size = [_Term(1, (cell[0], column.terms[1]))]
        else:  # what it is compared with is not shown, but the change may be
            size = [_Term(1, this), _Term(-1, (cell[0], f"{column.of} change"))]
        amounts = self._amounts([_Term(1, this), *size])
        if not amounts or self._cells.value(*cell) != _percent(size, amounts, is_change=is_change):
            return None
        name, whole = self._name(this), self._signed(size)
        if not is_change:
            quotient = f"{name}/SUM({self._references([term.key for term in size])})"
        elif len(size) == 1:
            quotient = f"({name}-{whole})/ABS({whole})"
        else:
            quotient = f"{self._name(size[1].key)}/ABS({whole})"
        parts = [this, *(term.key for term in size)]
        return _formula(f'IFERROR(ROUND({quotient},{_PERCENT_DIGITS}),"{NOT_KNOWN}")', parts)

    def _share_of(self, column: StatementColumn) -> list[Key]:
        """Cell that a share is a part of, or the cells that this is made of where it is not shown itself."""
        whole, of = self._cells.layout.share_of, column.terms[0]
        terms = [] if whole in self._rows else self._cells.figure(whole, of).terms
        keys = [_split(one.key) for one in terms] or [(whole, of)]
        return [(row if row in self._rows else row.removeprefix(OWN), column) for row, column in keys]

    def _name(self, key: Key) -> str:
        return cell_name(*self.place(key))

    def _amounts(self, terms: Sequence[_Term]) -> list[Decimal | None]:
        """Amounts of cells; none where a cell is not shown, or has text because Excel would not keep its digits."""
        if not all(term.key[0] in self._rows and term.key[1] in self._columns for term in terms):
            return []
        amounts = [self._cells.value(*term.key) for term in terms]
        return amounts if all(one is None or fits_float(one, self._cells.source.scale) for one in amounts) else []

    def _rounded(self, text: str) -> str:
        """Sum of fractions, which are not exact in binary, rounded to the minor unit."""
        return f"ROUND({text},{self._cells.source.scale})" if self._cells.source.scale else text

    def _signed(self, terms: Iterable[_Term]) -> str:
        signed = (f"{'+' if term.factor > 0 else '-'}{self._name(term.key)}" for term in terms)
        return "".join(signed).removeprefix("+")

    def _references(self, keys: Iterable[Key]) -> str:
        """Cells as arguments of a function: those beside or below each other as a range."""
        places = sorted(self.place(key) for key in keys)
        is_row = len({row for row, _ in places}) == 1
        runs: list[list[tuple[int, int]]] = []
        for row, column in places:
            before = (row, column - 1) if is_row else (row - 1, column)
            if runs and runs[-1][-1] == before:
                runs[-1].append((row, column))
            else:
                runs.append([(row, column)])
        return ",".join(cell_range(run[0], run[-1]) for run in runs)


def cell_name(row: int, column: int) -> str:
    """Name of a cell, as ``B7``, from its row and column counted from 0."""
    letters = ""
    number = column + 1
    while number:
        number, letter = divmod(number - 1, _LETTERS)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row + 1}"


def cell_range(first: tuple[int, int], last: tuple[int, int]) -> str:
    """Name of a range, as ``B7:B9``; of one cell the name of the cell."""
    return cell_name(*first) if first == last else f"{cell_name(*first)}:{cell_name(*last)}"


def _total(terms: Sequence[_Term], amounts: Iterable[Decimal | None]) -> Decimal:
    with localcontext(EXACT):
        factors = (Decimal(term.factor) for term in terms)
        return sum((factor * (one or 0) for factor, one in zip(factors, amounts, strict=True)), Decimal(0))


def _percent(size: Sequence[_Term], amounts: Sequence[Decimal | None], *, is_change: bool) -> Decimal | None:
    """Percentage that the first amount is of the size of the others, or by which it differs from that."""
    this, *others = amounts
    whole = _total(size, others)
    if this is None or None in others or not whole:
        return None
    with localcontext(EXACT):
        part = this - whole if is_change else this
        return _divide(100 * part, abs(whole) if is_change else whole, Decimal("0.1"))


def _split(key: str) -> Key:
    row, _, column = key.rpartition(KEY_SEPARATOR)
    return row, column


def _divide(part: Decimal, whole: Decimal, smallest: Decimal) -> Decimal:
    """Quotient, rounded as Excel rounds it."""
    with localcontext(EXACT):
        return (part / whole).quantize(smallest, ROUND_HALF_UP)


def _formula(text: str, parts: Sequence[Key]) -> Formula | None:
    """Make a formula, if Excel takes one so long."""
    is_short = len(text) < _MAX_LENGTH and text.count(",") < _MAX_ARGUMENTS
    return Formula(f"={text}", tuple(parts)) if is_short else None
