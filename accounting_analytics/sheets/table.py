"""Tables of files that people edit: the columns that are declared, values of their kinds, and problems by cell."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from accounting_analytics.errors import InputError
from accounting_analytics.messages import first_lines, join_ids, quote
from accounting_analytics.sheets.cells import (
    EMPTY,
    Invalid,
    decimal_marks,
    is_converted,
    read_amount,
    read_instants,
    unguard,
)
from accounting_analytics.sheets.rows import Cell, Sheet, SheetRow, cell_text, read_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_ERRORS = frozenset({"#N/A", "#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!"})
"""What spreadsheets show for formulas without a result."""
_MAX_ROWS = 3

Value = Any
"""Text, a Decimal, an instant, None for an empty amount or instant, or :class:`Invalid`."""


class Kind(Enum):
    """Kind of the values of a column.

    An id is text of which every character matters: a number, date or boolean, into which a spreadsheet may have changed
    it, is refused. Other text is taken as the cell shows it.
    """

    TEXT = auto()
    ID = auto()
    AMOUNT = auto()
    INSTANT = auto()


class Column(NamedTuple):
    """A column of a table: its name in the first row, and what its cells are."""

    name: str
    kind: Kind = Kind.TEXT
    may_be_empty: bool = False
    may_be_absent: bool = False


class SheetProblems:
    """Why what a person wrote cannot be used; rows of a file with the same reason are named together."""

    def __init__(self, source: Path | str) -> None:
        self._source = source
        self._rows: dict[str, list[int]] = {}

    def add(self, reason: str, *rows: int) -> None:
        """Add a reason, and the rows it is about as a spreadsheet numbers them, if it is a file."""
        self._rows.setdefault(reason, []).extend(rows)

    def refuse(self, error: type[InputError] = InputError, *, effect: str = "") -> None:
        """Raise an error of the given class with all problems, the first rows first, if there are any."""
        problems = sorted(self._rows.items(), key=lambda one: one[1][:1])
        lines = [_at_rows(rows, reason) if rows else reason for reason, rows in problems]
        if not lines:
            return
        msg = f"{f'{self._source}, ' if problems[0][1] else ''}{lines[0]}{effect and f'; {effect}'}"
        if len(lines) > 1:
            head = f"{self._source} cannot be used{effect and f', and {effect}'}"
            msg = "\n".join([f"{head}; correct these {len(lines):,} problems:", *first_lines(lines)])
        raise error(msg)


class Table(NamedTuple):
    """The rows of a file that are not empty, by declared column.

    Attributes
    ----------
    file : Path
        The file.
    numbers : list of int
        Number of each row, as a spreadsheet shows it.
    columns : mapping of str to list
        Values of each declared column.
    problems : SheetProblems
        Cells that are empty or not valid, to which the caller may add.
    others : tuple of str
        Columns that are not declared.
    separator : str or None
        What separates the cells of a CSV file; None in a workbook.
    hidden : int
        How many rows a filter hides.
    """

    file: Path
    numbers: list[int]
    columns: Mapping[str, list[Value]]
    problems: SheetProblems
    others: tuple[str, ...]
    separator: str | None
    hidden: int

    def rows(self) -> Iterator[tuple[int, dict[str, Value]]]:
        """Yield the number and the values of each row."""
        values = zip(*self.columns.values(), strict=True)
        for number, row in zip(self.numbers, values, strict=True):
            yield number, dict(zip(self.columns, row, strict=True))


def read_table(file: Path, columns: Sequence[Column], *, what: str, deciding: str | None = None) -> Table:
    """Read a CSV file or an Excel workbook with declared columns, in any order and beside others.

    Parameters
    ----------
    file : Path
        The file, as a spreadsheet may have saved it.
    columns : sequence of Column
        The columns.
    what : str
        What the file must be, for messages: ``a plan``.
    deciding : str, optional
        Column whose empty cell leaves a row out; by default a row is left out if all its declared cells are empty.

    Raises
    ------
    InputError
        The file cannot be read, lacks a column, or has rows of another number of cells.
    """
    sheet = read_sheet(file, [column.name for column in columns])
    header = [cell_text(cell).strip().casefold() for cell in sheet.rows[0].cells] if sheet.rows else []
    if reason := _header_problem(header, columns):
        msg = f"{file} is not {what}: {reason}"
        raise InputError(msg)
    body = _Body.from_sheet(sheet, header, columns, file)
    marks = decimal_marks(cell for column in columns if column.kind is Kind.AMOUNT for cell in body.cells(column))
    kept = body.without_empty_rows(deciding)
    values = {column.name: _read_column(kept.cells(column), column, marks, sheet.separator) for column in columns}
    problems = SheetProblems(file)
    for position, number in enumerate(kept.numbers):
        for reason in _problems({column: values[column.name][position] for column in columns}):
            problems.add(reason, number)
    names = {column.name for column in columns}
    others = tuple(
        cell_text(sheet.rows[0].cells[place]).strip() for place, name in enumerate(header) if name and name not in names
    )
    return Table(file, kept.numbers, values, problems, others, sheet.separator, sheet.hidden)


class _Body(NamedTuple):
    """The rows below the header, and where the declared columns are."""

    places: Mapping[str, int]
    rows: list[SheetRow]

    @classmethod
    def from_sheet(cls, sheet: Sheet, header: list[str], columns: Sequence[Column], file: Path) -> Self:
        """Take the rows that are not empty; a row with more or fewer cells than the columns is refused."""
        places = {column.name: header.index(column.name) for column in columns if column.name in header}
        rows = [row for row in sheet.rows[1:] if any(cell != "" for cell in row.cells)]
        problems = SheetProblems(file)
        for row in rows:
            if any(cell != "" for cell in row.cells[len(header) :]):
                reason = f"more cells than the {len(header)} columns; put an amount or text with a separator in quotes"
                problems.add(reason, row.number)
            elif len(row.cells) <= max(places.values(), default=-1):
                problems.add(f"fewer cells than the {len(header)} columns; the row was cut", row.number)
        problems.refuse()
        return cls(places, rows)

    @property
    def numbers(self) -> list[int]:
        """Number of each row."""
        return [row.number for row in self.rows]

    def cells(self, column: Column) -> list[Cell]:
        """Cells of a column; empty text where the file does not have it."""
        place = self.places.get(column.name)
        return [""] * len(self.rows) if place is None else [row.cells[place] for row in self.rows]

    def without_empty_rows(self, deciding: str | None) -> Self:
        """Leave out the rows that have nothing in the deciding column, or in any."""
        places = self.places.values() if deciding is None else [self.places[deciding]]
        return self._replace(rows=[row for row in self.rows if any(_is_filled(row.cells[one]) for one in places)])


def _is_filled(cell: Cell) -> bool:
    return not isinstance(cell, str) or bool(cell.strip())


def _header_problem(header: list[str], columns: Sequence[Column]) -> str:
    """Describe what is wrong with the first row, and what to do; empty if it has each column once."""
    required = [column.name for column in columns if not column.may_be_absent]
    if not any(header):
        return "its first row is empty, not the names of the columns; make the file again"
    missing = [name for name in required if name not in header]
    if missing and all(name in header[0] for name in required):
        return "all columns are in one: a spreadsheet did not split them at the commas; save it as .xlsx instead"
    others = [name for name in header if name and name not in required]
    if missing:
        more = f"; it has {len(others)} other column(s), first {quote(others[0])}" if others else ""
        return f"the first row lacks {join_ids(missing)}{more}"
    twice = [column.name for column in columns if header.count(column.name) > 1]
    return f"a column appears twice: {join_ids(twice)}" if twice else ""


def _read_column(cells: list[Cell], column: Column, marks: frozenset[str], separator: str | None) -> list[Value]:
    match column.kind:
        case Kind.TEXT:
            return [unguard(cell_text(cell)) for cell in cells]
        case Kind.ID:
            return [_read_id(cell, separator) for cell in cells]
        case Kind.AMOUNT:
            return [None if cell == "" else read_amount(cell, marks, separator) for cell in cells]
        case Kind.INSTANT:
            return [None if cell == "" else value for cell, value in zip(cells, read_instants(cells), strict=True)]


def _read_id(cell: Cell, separator: str | None) -> str | Invalid:
    """Id of a cell; a number, date or boolean may have lost digits of it, and so may text that is not guarded."""
    may_be_changed = separator is not None and is_converted(cell_text(cell))
    if isinstance(cell, str) and not may_be_changed and cell not in _ERRORS:
        return unguard(cell)
    return Invalid(
        f"a spreadsheet changed the id to {quote(cell_text(cell))}, and characters of it may be lost; make the file "
        "again, as .xlsx, and keep this column as it is"
    )


def _problems(row: Mapping[Column, Value]) -> Iterator[str]:
    """Yield why cells of a row cannot be used; empty ones in one sentence."""
    empty = [column.name for column, value in row.items() if value in {"", None} and not column.may_be_empty]
    if empty:
        yield f"{join_ids(empty)}: {EMPTY}"
    for column, value in row.items():
        if isinstance(value, Invalid):
            clear = ", or clear the cell" if column.may_be_empty and column.kind is Kind.AMOUNT else ""
            yield f"{column.name}: {value.reason}{clear}"


def _at_rows(rows: list[int], reason: str) -> str:
    """Write a reason with the first rows it is about: ``rows 2, 3, 4 and 27 more: ...``."""
    more = len(rows) - _MAX_ROWS
    others = f" and {more:,} more" if more > 0 else ""
    return f"row{'s' if rows[1:] else ''} {', '.join(map(str, rows[:_MAX_ROWS]))}{others}: {reason}"
