"""Plan file, CSV or Excel: ids stay text, amounts keep every digit, and no cell is a formula in a spreadsheet."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from accounting_analytics.arguments import to_path
from accounting_analytics.errors import InputError, PlanError
from accounting_analytics.frame_columns import LIST_SEPARATOR
from accounting_analytics.messages import first_lines, join_ids, quote
from accounting_analytics.money import DEFAULT_SCALE, fits_float, fraction_digits
from accounting_analytics.recategorization.new_categories import ID_COLUMN, NAME_COLUMN
from accounting_analytics.recategorization.plan_conflicts import find_conflicts
from accounting_analytics.schemas import PlanItems
from accounting_analytics.sheets.cells import (
    EMPTY,
    Invalid,
    decimal_marks,
    is_converted,
    read_amount,
    read_instants,
    unguard,
)
from accounting_analytics.sheets.rows import Cell, Sheet, read_sheet, separator_name
from accounting_analytics.sheets.workbook import require_xlsxwriter
from accounting_analytics.sheets.writer import is_workbook, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.recategorization.new_categories import NewCategory

_INSTANCE = "instance_id"
_AMOUNTS = ("amount", "category_amount")
_INSTANT = "datetime"
_OPPOSING = "opposing_ledger_ids"
_CATEGORY = "category_ledger_id"
_IDS = ("transaction_id", "ledger_id", "journal_entry_id", _CATEGORY, _OPPOSING, _INSTANCE)
_MAY_BE_EMPTY = frozenset({"description", "category_amount", ID_COLUMN, NAME_COLUMN, _INSTANCE})
_ERRORS = frozenset({"#N/A", "#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!"})
"""What spreadsheets show for formulas without a result."""
_MAX_ROWS = 3

Value = Any
"""Value of a cell of a plan: text, an amount, an instant, None or :class:`Invalid`."""


class Problem(NamedTuple):
    """Why some rows of a file cannot be used; `rows` are as a spreadsheet numbers them."""

    rows: tuple[int, ...]
    reason: str

    def __str__(self) -> str:
        first, more = self.rows[:_MAX_ROWS], len(self.rows) - _MAX_ROWS
        others = f" and {more:,} more" if more > 0 else ""
        return f"row{'s' if self.rows[1:] else ''} {', '.join(map(str, first))}{others}: {self.reason}"


class PlanFile(NamedTuple):
    """Content of a plan file, with the new categories as people wrote them.

    Attributes
    ----------
    file : Path
        The file.
    rows : list of int
        Number of the row of each item, as a spreadsheet shows it.
    columns : mapping of str to list
        Values of each column of :class:`~accounting_analytics.schemas.PlanItems`.
    instance_id : str or None
        Instance of the books that the plan was made for.
    notes : tuple of str
        What was ignored or assumed.
    """

    file: Path
    rows: list[int]
    columns: Mapping[str, list[Value]]
    instance_id: str | None
    notes: tuple[str, ...]

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file that a spreadsheet may have saved.

        Raises
        ------
        PlanError
            The file is not a plan; or cells of it are not valid, with the row, the column and the reason of each.
        """
        file = to_path(path, "path")
        names = [*PlanItems.to_schema().columns, _INSTANCE]
        try:
            sheet = read_sheet(file, names)
        except InputError as error:
            msg = f"the plan {error}"
            raise PlanError(msg) from error
        table = _Table.from_sheet(sheet, names, file)
        columns = table.values()
        _refuse(file, table.problems(columns))
        instances = {text or None for text in columns.pop(_INSTANCE)}
        if len(instances) > 1:
            msg = f"{file} mixes plans of different instances; keep the rows of one"
            raise PlanError(msg)
        return cls(file, table.numbers, columns, next(iter(instances), None), table.notes(sheet))

    @property
    def days(self) -> tuple[dt.date, dt.date] | None:
        """First and last day of the transactions, in UTC; None without rows."""
        days = [instant.astimezone(dt.UTC).date() for instant in self.columns[_INSTANT]]
        return (min(days), max(days)) if days else None

    @property
    def categories(self) -> list[tuple[str, str]]:
        """The different new categories, as they are written: id and name, of which one may be empty."""
        return list(dict.fromkeys(zip(self.columns[ID_COLUMN], self.columns[NAME_COLUMN], strict=True)))

    def require_instance(self, instance_id: str) -> None:
        """Refuse an instance that the plan was not made for; a plan without instance is valid for any."""
        require_same_instance(self.instance_id, instance_id)

    def items(self, category: NewCategory) -> pd.DataFrame:
        """Plan items with the new categories that `category` determines.

        Raises
        ------
        PlanError
            Categories cannot be determined, or items contradict each other; with the rows and the reason of each.
        """
        found: list[tuple[str, str]] = []
        refused: dict[str, list[int]] = {}
        for row, ledger_id, name in zip(self.rows, self.columns[ID_COLUMN], self.columns[NAME_COLUMN], strict=True):
            try:
                found.append(category.find(ledger_id, name, f"row {row}"))
            except PlanError as error:
                refused.setdefault(str(error).removeprefix(f"row {row}: "), []).append(row)
        _refuse(self.file, _problems(refused))
        ids, names = zip(*found, strict=True) if found else ((), ())
        frame = _to_frame({**self.columns, ID_COLUMN: list(ids), NAME_COLUMN: list(names)})
        conflicts = find_conflicts(frame)
        _refuse(self.file, [Problem(tuple(self.rows[one] for one in found), reason) for found, reason in conflicts])
        return frame


class _Table(NamedTuple):
    """The rows of a sheet that are not empty, and where its columns are."""

    places: Mapping[str, int]
    others: tuple[str, ...]
    numbers: list[int]
    cells: list[list[Cell]]
    separator: str | None

    @classmethod
    def from_sheet(cls, sheet: Sheet, names: Sequence[str], file: Path) -> Self:
        """Find the columns of a plan, in any order, and leave other columns and empty rows out."""
        header = [_text(cell).strip() for cell in sheet.rows[0].cells] if sheet.rows else []
        _require_columns(header, names, file)
        places = {name: header.index(name) for name in names}
        others = tuple(name for name in header if name and name not in places)
        kept = [row for row in sheet.rows[1:] if any(cell != "" for cell in _known(row.cells, places))]
        too_long = tuple(row.number for row in kept if any(cell != "" for cell in row.cells[len(header) :]))
        if too_long:
            reason = f"more cells than the {len(header)} columns; put an amount or text with a separator in quotes"
            _refuse(file, [Problem(too_long, reason)])
        return cls(places, others, [row.number for row in kept], [row.cells for row in kept], sheet.separator)

    def values(self) -> dict[str, list[Value]]:
        """Values of each column."""
        columns: dict[str, list[Cell]] = {name: [] for name in self.places}
        for cells in self.cells:
            for name, place in self.places.items():
                columns[name].append(cells[place] if place < len(cells) else "")
        marks = decimal_marks(cell for name in _AMOUNTS for cell in columns[name])
        readers: dict[str, Callable[[Cell], Value]] = dict.fromkeys(_AMOUNTS, self._amount_reader(marks))
        readers |= dict.fromkeys(_IDS, self._read_id)
        return {
            name: read_instants(cells) if name == _INSTANT else list(map(readers.get(name, _read_text), cells))
            for name, cells in columns.items()
        }

    def _amount_reader(self, marks: frozenset[str]) -> Callable[[Cell], Decimal | Invalid | None]:
        return lambda cell: None if cell == "" else read_amount(cell, marks, self.separator)

    def _read_id(self, cell: Cell) -> str | Invalid:
        """Id of a cell; a number, date or boolean may have lost digits of it, and so may text that is not guarded."""
        may_be_changed = self.separator is not None and is_converted(_text(cell))
        if isinstance(cell, str) and not may_be_changed and cell not in _ERRORS:
            return unguard(cell)
        return Invalid(
            f"a spreadsheet changed the id to {quote(_text(cell))}, and characters of it may be lost; make the plan "
            "again, as .xlsx, and keep this column as it is"
        )

    def problems(self, columns: Mapping[str, Sequence[Value]]) -> list[Problem]:
        """Cells that are empty or not valid, in the order of the rows; equal ones together."""
        found: dict[str, list[int]] = {}
        for position, number in enumerate(self.numbers):
            reasons = [(name, _problem(name, values[position])) for name, values in columns.items()]
            if empty := [name for name, reason in reasons if reason == EMPTY]:
                found.setdefault(f"{join_ids(empty)}: {EMPTY}", []).append(number)
            for name, reason in reasons:
                if reason and reason != EMPTY:
                    found.setdefault(f"{name}: {reason}", []).append(number)
            if _is_foreign(columns[_CATEGORY][position], columns[_OPPOSING][position]):
                reason = f"{_CATEGORY} is not in {_OPPOSING}; do not edit these two columns"
                found.setdefault(reason, []).append(number)
        return _problems(found)

    def notes(self, sheet: Sheet) -> tuple[str, ...]:
        """Sentences about what was ignored or assumed."""
        notes = []
        if self.separator not in {",", None}:
            notes.append(f"The plan file is separated by {separator_name(self.separator)}.")
        if self.others:
            names = join_ids(map(quote, self.others))
            notes.append(f"{len(self.others)} other column(s) of the plan file are ignored: {names}.")
        if sheet.hidden:
            notes.append(f"{sheet.hidden:,} hidden row(s) of the plan file are part of the plan.")
        return tuple(notes)


def require_same_instance(planned: str | None, instance_id: str) -> None:
    """Refuse an instance that is not the one a plan was made for, if the plan states one."""
    if planned not in {None, instance_id}:
        msg = f"the plan is for instance {planned!r}, not {instance_id!r}; nothing was sent"
        raise PlanError(msg)


def require_writable_format(file: Path) -> None:
    """Refuse a file that is a workbook by its name, if workbooks cannot be written."""
    if is_workbook(file):
        try:
            require_xlsxwriter()
        except InputError as error:
            msg = f"the plan was not saved: {error}; or save it as .csv"
            raise PlanError(msg) from error


def write_items(frame: pd.DataFrame, path: str | Path, *, instance_id: str | None) -> None:
    """Write plan items to a CSV file or a workbook; the file is replaced completely or left unchanged."""
    file, rows = to_path(path, "path"), frame.assign(**{_INSTANCE: instance_id or ""})
    ids, editable = (*_IDS, ID_COLUMN), (ID_COLUMN, NAME_COLUMN)
    try:
        write_table(rows, file, name="plan", ids=ids, editable=editable)
    except InputError as error:
        msg = f"the plan was not saved: {error}"
        raise PlanError(msg) from error


def _problems(reasons: Mapping[str, Sequence[int]]) -> list[Problem]:
    """Problems of the rows with the same reason, in the order found."""
    return [Problem(tuple(rows), reason) for reason, rows in reasons.items()]


def _refuse(file: Path, problems: Sequence[Problem]) -> None:
    """Raise PlanError with the first problems of a file, if there are any."""
    if not problems:
        return
    if len(problems) == 1:
        msg = f"{file}, {problems[0]}; nothing was sent"
        raise PlanError(msg)
    head = f"{file} cannot be used, and nothing was sent; correct these {len(problems):,} problems:"
    raise PlanError("\n".join([head, *first_lines(list(map(str, problems)))]))


def _to_frame(columns: Mapping[str, list[Value]]) -> pd.DataFrame:
    """Plan items as a table; amounts are decimals if one has too many digits for float64."""
    amounts = [amount for name in _AMOUNTS for amount in columns[name] if amount is not None]
    digits = {fraction_digits(amount) for amount in amounts}
    # a spreadsheet shows 144.00 as 144: fewer digits than usual are certain only if all amounts have as many
    scale = max(digits) if len(digits) == 1 else max(DEFAULT_SCALE, *digits, 0)
    return PlanItems.from_columns(
        {name: columns[name] for name in PlanItems.dtypes()},
        scale,
        as_decimals=any(not fits_float(amount, scale) for amount in amounts),
    )


def _require_columns(header: list[str], names: Sequence[str], file: Path) -> None:
    known = [name for name in header if name in names]
    if set(known) != set(names) or len(known) > len(names):
        msg = f"{file} is not a plan: {_describe_header(header, names)}"
        raise PlanError(msg)


def _describe_header(header: list[str], names: Sequence[str]) -> str:
    """Describe what is wrong with the first row of a file, and what to do."""
    if not any(header):
        return "its first row is empty, not the names of the columns; make the plan again"
    if all(name in header[0] for name in names):
        return "all columns are in one: a spreadsheet did not split them at the commas; save the plan as .xlsx instead"
    missing = [name for name in names if name not in header]
    others = [name for name in header if name not in names]
    problems = [f"the first row lacks {join_ids(missing)}"] if missing else []
    problems += [f"it has {len(others)} other column(s), first {quote(others[0])}"] if others else []
    return "; ".join(problems if missing else ["a column appears twice"])


def _known(cells: Sequence[Cell], places: Mapping[str, int]) -> Iterable[Cell]:
    return (cells[place] for place in places.values() if place < len(cells))


def _text(cell: Cell) -> str:
    """Cell as text; a number without exponent, a boolean as spreadsheets show it."""
    if isinstance(cell, bool | str | dt.datetime):
        return str(cell).upper() if isinstance(cell, bool) else str(cell)
    return f"{cell:f}"


def _read_text(cell: Cell) -> str:
    """Text of a cell of which no digit matters, such as a description or a category that is looked up."""
    return unguard(_text(cell))


def _problem(name: str, value: Value) -> str | None:
    """Why a value cannot be used; None if it can."""
    if isinstance(value, Invalid):
        return value.reason
    if value in {"", None}:
        return None if name in _MAY_BE_EMPTY else EMPTY
    return _list_problem(value) if name == _OPPOSING else None


def _list_problem(text: str) -> str | None:
    """Why a list cannot be used: an earlier version wrote it as JSON, or an id is empty."""
    if text.startswith('["'):
        return "the plan was written by an earlier development version; make the plan again"
    return None if all(text.split(LIST_SEPARATOR)) else "this is not a list of ids; do not edit this column"


def _is_foreign(category: Value, opposing: Value) -> bool:
    """Whether the replaced category is not one of the transaction's categories."""
    if not isinstance(category, str) or _problem(_OPPOSING, opposing):
        return False
    return category not in opposing.split(LIST_SEPARATOR)
