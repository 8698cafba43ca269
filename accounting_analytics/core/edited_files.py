"""CSV and Excel files that people edit: declared columns, typed values, problems by cell.

An amount or a date is read only if the cell is unambiguous. Any other cell is refused, and also a formula without a
stored result. In written files ids stay text, amounts keep every digit, instants are in UTC, and no cell is a formula:
text that a spreadsheet would compute or convert has an apostrophe before it. In workbooks amounts are numbers and times
are dates.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import datetime as dt
import io
import re
import warnings
from decimal import Decimal
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import ParseError, iterparse
from zipfile import BadZipFile, ZipFile

import pandas as pd

from accounting_analytics.core.atomic_files import write_text
from accounting_analytics.core.errors import AmountError, InputError
from accounting_analytics.core.extras import import_extra
from accounting_analytics.core.messages import count_of, first_lines, join_ids, quote, shorten
from accounting_analytics.core.money import MAX_SCALE, fraction_digits, parse_amount
from accounting_analytics.core.workbook import (
    FIRST_DAY,
    MAX_ROWS,
    MAX_TEXT,
    ColumnSheet,
    has_too_many_digits,
    is_text_of_a_workbook,
    is_workbook,
    new_workbook,
    workbook_text,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

Cell = str | bool | Decimal | dt.datetime
"""Type of a cell. An empty cell is empty text, and a CSV file has only texts."""
BYTE_ORDER_MARK = "\ufeff"
"""First bytes of a file that tell spreadsheet programs that it is UTF-8."""

GUARD = "'"
FORMULA_START = "=+-@\t\r\n＝＋－＠"  # noqa: RUF001 (spreadsheets take the wide signs for formulas too)
"""First characters of a cell that a spreadsheet program computes."""
_MONTH_NAME = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
CONVERTED = (
    r"[\d\s.,:/%()$-]*\d[\d\s.,:/%()$-]*(e[+-]?\d+)?"  # 00123, 1e5, 3-4, 12:30
    r"|(true|false)"
    rf"|\d{{1,4}}[\s./-]*{_MONTH_NAME}[\s./-]*\d{{0,4}}|{_MONTH_NAME}[\s./-]*\d{{1,4}}"  # 1-Mar, 1 March 2026, MAR1
    r"|\d+(\.\d+)?\s*[ap]m?"
)
"""Pattern, in any case, of text that a spreadsheet silently converts to a number, a date or a boolean."""


class Invalid(NamedTuple):
    """A cell whose value is not certain, and the reason."""

    reason: str


def cell_text(cell: Cell) -> str:
    """Format a cell as spreadsheet programs do. Numbers have no exponent."""
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    return str(cell).upper() if isinstance(cell, bool) else str(cell)


def guard(text: str) -> str:
    """Add an apostrophe before text that a spreadsheet would compute or convert."""
    return f"{GUARD}{text}" if text.startswith((*FORMULA_START, GUARD)) or is_converted(text) else text


def is_converted(text: str) -> bool:
    """Return whether a spreadsheet would convert text to another type."""
    return re.fullmatch(CONVERTED, text, re.IGNORECASE) is not None


def unguard(cell: str) -> str:
    """Remove the apostrophe of `guard`."""
    return cell.removeprefix(GUARD)


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
"""Separators of the cells of a CSV file, and their names."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WORKBOOK = b"PK\x03\x04"
_OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
_NUMBER_FORMAT = re.compile(r"[#,]*0(?:\.(0+))?")
ERRORS = frozenset({"#N/A", "#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!"})
"""Texts that spreadsheets show for formulas without a result."""
EMPTY = "the cell is empty"
_MAX_ROWS = 3
_MINUS, _SPACES = "\N{MINUS SIGN}", re.compile(r"(?<=\d)[\s](?=\d{3}(?!\d))")
_ONE_MARK = re.compile(r"-?(\d+)([.,])(\d+)")
_GROUPED = {
    ".": re.compile(r"-?\d{1,3}(,\d{3})+\.\d+|-?\d{1,3}(,\d{3}){2,}"),
    ",": re.compile(r"-?\d{1,3}(\.\d{3})+,\d+|-?\d{1,3}(\.\d{3}){2,}"),
}
"""Patterns of numbers with a mark between groups of three digits, by decimal mark."""
_GROUP_DIGITS = 3
_SHORTENED = re.compile(r"-?\d+([.,]\d+)?e[+-]?\d+", re.IGNORECASE)
_DATE = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:\s+(\d{1,2}):(\d{2})(?::(\d{2}))?)?")
_YEAR_DIGITS = 4
_YEARS = range(1000, 9999)

Value = Any
"""Value of a cell: text, a Decimal, an instant, None for an empty amount or instant, or :class:`Invalid`."""


class Kind(Enum):
    """Kind of the values of a column.

    Every character of an id matters, so a number, date or boolean is refused: a spreadsheet may have changed it. Other
    text is taken as the cell shows it.
    """

    TEXT = auto()
    ID = auto()
    AMOUNT = auto()
    INSTANT = auto()


class Column(NamedTuple):
    """A column of a table: its name in the first row, and the kind of its cells."""

    name: str
    kind: Kind = Kind.TEXT
    may_be_empty: bool = False
    may_be_absent: bool = False
    may_be_invalid: bool = False
    """True if the caller reports invalid cells itself."""

    def problem(self, value: Invalid) -> str:
        """Say why a cell of the column cannot be used."""
        clear = ", or clear the cell" if self.may_be_empty and self.kind is Kind.AMOUNT else ""
        return f"{self.name}: {value.reason}{clear}"


class SheetProblems:
    """Problems in the rows that a person wrote. Rows with the same reason are listed together."""

    def __init__(self, source: Path | str) -> None:
        self._source = source
        self._rows: dict[str, list[int]] = {}

    def add(self, reason: str, *rows: int) -> None:
        """Add a reason, with the row numbers that a spreadsheet shows, if it is about rows."""
        self._rows.setdefault(reason, []).extend(rows)

    def refuse(self, error: type[InputError] = InputError, *, effect: str = "") -> None:
        """Raise `error` with all problems in row order, if there are any."""
        problems = sorted(self._rows.items(), key=lambda problem: problem[1][:1])
        lines = [_at_rows(rows, reason) if rows else reason for reason, rows in problems]
        if not lines:
            return
        msg = f"{f'{self._source}, ' if problems[0][1] else ''}{lines[0]}{effect and f'; {effect}'}"
        if len(lines) > 1:
            head = f"{self._source} cannot be used{effect and f', and {effect}'}"
            msg = "\n".join([f"{head}; correct these {len(lines):,} problems:", *first_lines(lines)])
        raise error(msg)


class SheetRow(NamedTuple):
    """A row, with the number that a spreadsheet shows for it."""

    number: int
    cells: list[Cell]


class Sheet(NamedTuple):
    """Rows of a file, including empty rows. The first row names the columns.

    `separator` is None in a workbook, whose cells have types.
    """

    rows: list[SheetRow]
    separator: str | None


class SheetTable(NamedTuple):
    """Non-empty rows of a file by declared column, with their numbers in a spreadsheet.

    `problems` are about cells that are empty or not valid, and the caller may add problems. `others` are columns that
    are not declared. `separator` is None in a workbook.
    """

    file: Path
    numbers: list[int]
    columns: Mapping[str, list[Value]]
    problems: SheetProblems
    others: tuple[str, ...]
    separator: str | None

    def rows(self) -> Iterator[tuple[int, dict[str, Value]]]:
        """Yield the number and the values of each row."""
        values = zip(*self.columns.values(), strict=True)
        for number, row in zip(self.numbers, values, strict=True):
            yield number, dict(zip(self.columns, row, strict=True))


def read_table(file: Path, columns: Sequence[Column], *, what: str, deciding: str | None = None) -> SheetTable:
    """Read declared columns, in any order, from a CSV file or workbook.

    Messages call the expected file `what`. A row is left out if its `deciding` cell is empty, or without `deciding` if
    all declared cells are empty.
    """
    names = [column.name for column in columns]
    sheet = read_sheet(file, names)
    header = [cell_text(cell).strip().casefold() for cell in sheet.rows[0].cells] if sheet.rows else []
    if reason := _header_problem(header, columns):
        raise InputError(f"{file} is not {what}: {reason}")
    places = {name: header.index(name) for name in names if name in header}
    rows = [row for row in sheet.rows[1:] if any(cell != "" for cell in row.cells)]
    _require_whole(rows, len(header), max(places.values(), default=-1), file)
    decisive = places.values() if deciding is None else [places[deciding]]
    kept = [row for row in rows if any(_is_filled(row.cells[place]) for place in decisive)]
    values = {}
    for column in columns:
        place = places.get(column.name)
        cells: list[Cell] = [""] * len(kept) if place is None else [row.cells[place] for row in kept]
        values[column.name] = _read_column(cells, column, sheet.separator)
    problems = SheetProblems(file)
    for position, row in enumerate(kept):
        for reason in _problems({column: values[column.name][position] for column in columns}):
            problems.add(reason, row.number)
    others = (
        cell_text(cell).strip() for cell, name in zip(sheet.rows[0].cells, header, strict=True) if name not in places
    )
    numbers = [row.number for row in kept]
    return SheetTable(file, numbers, values, problems, tuple(filter(None, others)), sheet.separator)


def _require_whole(rows: Sequence[SheetRow], column_count: int, last_place: int, file: Path) -> None:
    """Refuse rows with too many or too few cells."""
    problems = SheetProblems(file)
    for row in rows:
        if any(cell != "" for cell in row.cells[column_count:]):
            reason = f"more cells than the {column_count} columns; put an amount or text with a separator in quotes"
            problems.add(reason, row.number)
        elif len(row.cells) <= last_place:
            problems.add(f"fewer cells than the {column_count} columns; the row was cut", row.number)
    problems.refuse()


def _is_filled(cell: Cell) -> bool:
    return not isinstance(cell, str) or bool(cell.strip())


def _header_problem(header: list[str], columns: Sequence[Column]) -> str:
    """Describe the problem of the first row, or return ""."""
    required = [column.name for column in columns if not column.may_be_absent]
    if not any(header):
        return "its first row is empty, not the names of the columns; make the file again"
    missing = [name for name in required if name not in header]
    if missing and all(name in header[0] for name in required):
        return "all columns are in one: a spreadsheet did not split them at the commas; save it as .xlsx instead"
    declared = [column.name for column in columns]
    others = [name for name in header if name and name not in declared]
    if missing:
        more = f"; it has {count_of(len(others), 'other column')}, first {quote(others[0])}" if others else ""
        return f"the first row lacks {join_ids(missing)}{more}"
    twice = [column.name for column in columns if header.count(column.name) > 1]
    return f"a column appears twice: {join_ids(twice)}" if twice else ""


def _read_column(cells: list[Cell], column: Column, separator: str | None) -> list[Value]:
    match column.kind:
        case Kind.TEXT:
            return [unguard(cell_text(cell)) for cell in cells]
        case Kind.ID:
            return [_read_id(cell, separator) for cell in cells]
        case Kind.AMOUNT:
            return [None if cell == "" else read_amount(cell, separator) for cell in cells]
        case Kind.INSTANT:
            return [None if cell == "" else read_instant(cell) for cell in cells]


def _read_id(cell: Cell, separator: str | None) -> str | Invalid:
    """Read an id. Refuse an id that a spreadsheet program may have changed."""
    may_be_changed = separator is not None and is_converted(cell_text(cell))
    if isinstance(cell, str) and not may_be_changed and cell not in ERRORS:
        return unguard(cell)
    return Invalid(
        f"a spreadsheet changed the id to {quote(cell_text(cell))}, and characters of it may be lost; make the file "
        "again, as .xlsx, and keep this column as it is"
    )


def _problems(row: Mapping[Column, Value]) -> Iterator[str]:
    """Yield the problems of a row. All empty cells are one problem."""
    empty = [column.name for column, value in row.items() if value in {"", None} and not column.may_be_empty]
    if empty:
        yield f"{join_ids(empty)}: {EMPTY}"
    for column, value in row.items():
        if isinstance(value, Invalid) and not column.may_be_invalid:
            yield column.problem(value)


def _at_rows(rows: list[int], reason: str) -> str:
    """Write a reason after its rows.

    An example is ``rows 2, 3, 4 and 27 more: ...``.
    """
    more = len(rows) - _MAX_ROWS
    others = f" and {more:,} more" if more > 0 else ""
    return f"row{'s' if rows[1:] else ''} {', '.join(map(str, rows[:_MAX_ROWS]))}{others}: {reason}"


def read_sheet(file: Path, columns: Collection[str]) -> Sheet:
    """Read a CSV file or an Excel workbook, recognised by its content.

    The separator, or the sheet of a workbook, is recognised by the expected columns.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    if content.startswith(_OLD_WORKBOOK):
        raise InputError(f"{file} is an Excel workbook of the old format (.xls): save it as .xlsx or as CSV in UTF-8")
    read = read_workbook if content.startswith(_WORKBOOK) else _read_csv
    return read(content, file, columns)


def _read_csv(content: bytes, file: Path, columns: Collection[str]) -> Sheet:
    """Read text in UTF-8 or UTF-16.

    Excel saves "Unicode text" in UTF-16.
    """
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} cannot be read: it is not UTF-8 text; save it as CSV in UTF-8, or as .xlsx"
        ) from error
    separator = max(SEPARATORS, key=lambda candidate: len(set(_first_cells(text, candidate)) & set(columns)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[SheetRow] = []
    try:
        rows.extend(SheetRow(number, list(cells)) for number, cells in enumerate(reader, start=1))
    except csv.Error as error:
        raise InputError(f"{file}, row {len(rows) + 1} is not a row of CSV: {error}") from error
    return Sheet(rows, separator)


def _first_cells(text: str, separator: str) -> list[str]:
    """Return the cells of the first row, or none if invalid."""
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:
        return []


def read_workbook(content: bytes, file: Path, columns: Collection[str], *, read_only: bool = False) -> Sheet:
    """Read the sheet whose first row has the columns. Formulas must have stored results.

    Large workbooks take much less memory `read_only`.
    """
    openpyxl = import_extra("openpyxl", "excel", f"{file} is an Excel workbook, which")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about styles and validations, which are not read
            workbook = openpyxl.load_workbook(io.BytesIO(content), data_only=True, read_only=read_only)
        _require_results(content, file)
    except (BadZipFile, KeyError, ValueError, TypeError, IndexError, EOFError, OSError, ParseError) as error:
        raise InputError(
            f"{file} cannot be read: it is not an Excel workbook, or damaged ({shorten(str(error))})"
        ) from error
    sheet = max(workbook.worksheets, key=lambda worksheet: len(_first_row(worksheet) & set(columns)))
    rows = [
        SheetRow(number, [_cell(cell) for cell in cells]) for number, cells in enumerate(sheet.iter_rows(), start=1)
    ]
    return Sheet(rows, None)


def _require_results(content: bytes, file: Path) -> None:
    """Refuse formulas without a stored result, which would look like empty cells."""
    with ZipFile(io.BytesIO(content)) as archive:
        for part in archive.namelist():
            if not part.startswith("xl/worksheets/") or not part.endswith(".xml"):
                continue
            for _, element in iterparse(archive.open(part)):  # noqa: S314 (openpyxl has parsed it)
                is_formula = element.find("{*}f") is not None
                if is_formula and not element.findtext("{*}v") and element.get("t") != "str":  # "" is a result
                    raise InputError(
                        f"{file}, cell {element.get('r')}: a formula without a result; open the file in a "
                        "spreadsheet and save it, or put a value there"
                    )
                if element.tag.endswith("}row"):
                    element.clear()


def _first_row(sheet: Any) -> set[Any]:  # noqa: ANN401 (a sheet of a workbook)
    return {value for row in sheet.iter_rows(max_row=1, values_only=True) for value in row}


def _cell(cell: Any) -> Cell:  # noqa: ANN401 (a cell of a workbook)
    """Read a cell. A number keeps the fraction digits of its format."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool | dt.datetime | str):
        return value
    if not isinstance(value, int | float):
        return str(value)
    number = Decimal(repr(value))
    shown = _NUMBER_FORMAT.fullmatch(cell.number_format)
    digits = len(shown[1] or "") if shown else 0
    return number.quantize(Decimal(1).scaleb(-digits)) if -int(number.as_tuple().exponent) < digits else number


def read_amount(cell: Cell, separator: str | None) -> Decimal | Invalid:
    """Read the exact amount of a cell if its decimal mark is certain."""
    shown = cell_text(cell)
    if isinstance(cell, bool | dt.datetime):
        return Invalid(f"{quote(shown)} is not an amount: a spreadsheet changed it; make the file again")
    if isinstance(cell, str) and _SHORTENED.fullmatch(shown):
        return Invalid(f"{quote(shown)} lacks digits: a spreadsheet shortened it; format the column as 0.00")
    text = _SPACES.sub("", shown.strip()).replace(_MINUS, "-")
    if isinstance(cell, str):
        mark = _decimal_mark(text, separator)
        if mark is None:
            return Invalid(f"{quote(shown)} may have a decimal mark or a mark of thousands; format the column as 0.00")
        text = text.replace("," if mark == "." else ".", "").replace(mark, ".")
    try:
        return parse_amount(text, min(len(text.partition(".")[2]), MAX_SCALE)).amount
    except AmountError as error:
        return Invalid(str(error))


def _decimal_mark(text: str, separator: str | None) -> str | None:
    """Find the decimal mark of a number, or None if ambiguous.

    A single mark before three digits may be a decimal mark or separate thousands. A point is the decimal mark in files
    with commas between cells, and in texts of workbooks.
    """
    single = _ONE_MARK.fullmatch(text)
    if single is None:
        return next((mark for mark, pattern in _GROUPED.items() if pattern.fullmatch(text)), ".")
    integer, mark, fraction = single.groups()
    is_certain = len(fraction) != _GROUP_DIGITS or len(integer) > _GROUP_DIGITS or integer.startswith("0")
    return mark if is_certain or (mark == "." and separator in {",", None}) else None


def read_instant(cell: Cell) -> dt.datetime | Invalid:
    """Read the instant of a cell. An instant without a zone is in UTC."""
    if isinstance(cell, dt.datetime):
        # rounded to seconds, because a spreadsheet stores a fraction of a day
        found = {(cell if cell.year == dt.MAXYEAR else cell + dt.timedelta(milliseconds=500)).replace(microsecond=0)}
    else:
        found = _possible_instants(cell.strip()) if isinstance(cell, str) else set()
    if len(found) > 1:
        return Invalid(
            f"{quote(str(cell))} does not show which number is the day and which the month; format the column as "
            "yyyy-mm-dd hh:mm:ss"
        )
    for instant in found:
        if instant.year not in _YEARS:
            return Invalid(f"{quote(str(cell))} is not in the years {_YEARS.start} to {_YEARS.stop - 1}")
        return instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)
    return Invalid(
        f"{quote(cell_text(cell))} is not as the plan was written (2025-03-10T12:00:00+00:00): a spreadsheet changed "
        "the column; format it as yyyy-mm-dd hh:mm:ss, or make the file again"
    )


def _possible_instants(text: str) -> set[dt.datetime]:
    """Return all possible meanings of a text. In a date with points, the day is before the month."""
    with contextlib.suppress(ValueError):
        return {dt.datetime.fromisoformat(text)}
    found = _DATE.fullmatch(text)
    if found is None:
        return set()
    first, mark, second, third, *clock = found.groups(default="0")
    dates = {(third, second, first)} if len(third) == _YEAR_DIGITS else set()
    dates |= {(third, first, second)} if dates and mark != "." else set()
    dates |= {(first, second, third)} if len(first) == _YEAR_DIGITS else set()
    instants = set()
    for date in dates:
        with contextlib.suppress(ValueError):  # there is no such day or time
            year, month, day, hour, minute, seconds = map(int, (*date, *clock))
            instants.add(dt.datetime(year, month, day, hour, minute, seconds, tzinfo=dt.UTC))
    return instants


def write_table(
    frame: pd.DataFrame,
    file: Path,
    *,
    name: str,
    ids: Collection[str],
    editable: Collection[str],
    choices: Sequence[str] = (),
) -> None:
    """Write a table to a workbook or CSV file, by the file's name.

    The file is replaced completely or left unchanged. Columns of `ids` are stored exactly. In other texts, characters
    that a workbook cannot hold are replaced. Headings of `editable` columns have a colour, and a list offers the
    `choices` in the first column.
    """
    if not is_workbook(file):
        write_text(file, f"{BYTE_ORDER_MARK}{_csv_text(frame)}", private=True)
        return
    _require_fits(frame, file, ids)
    columns = {str(column_name): [_workbook_cell(value) for value in column] for column_name, column in frame.items()}
    amounts = [value for cells in columns.values() for value in cells if isinstance(value, Decimal)]
    digits = max(map(fraction_digits, amounts), default=0)
    with new_workbook(file, f"0.{'0' * digits}" if digits else "0", private=True) as workbook:
        workbook.add_columns(ColumnSheet(name, columns, editable, choices))


def _csv_text(frame: pd.DataFrame) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(frame.columns)
    writer.writerows([_csv_cell(value) for value in row] for row in frame.itertuples(index=False, name=None))
    return text.getvalue()


def _csv_cell(value: Any) -> str:  # noqa: ANN401
    """Format a cell of a CSV file exactly. Text is guarded, and null is an empty cell."""
    if isinstance(value, str):
        return guard(value)
    if pd.isna(value):
        return ""
    if isinstance(value, dt.date):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _workbook_cell(value: Any) -> Any:  # noqa: ANN401
    """Convert a cell so that a workbook stores and returns it unchanged."""
    if isinstance(value, str) and value:
        text = workbook_text(value)
        return f"{GUARD}{text}" if text.startswith(GUARD) else text
    if isinstance(value, dt.datetime) and (value.date() < FIRST_DAY or value.microsecond):
        return value.isoformat()
    return None if pd.isna(value) or value == "" else value


def _require_fits(frame: pd.DataFrame, file: Path, ids: Collection[str]) -> None:
    """Refuse rows that a workbook cannot hold exactly."""
    cells = [value for _, column in frame.items() for value in column if isinstance(value, str | Decimal)]
    reasons = [f"{len(frame):,} rows are more than a sheet has"] if len(frame) >= MAX_ROWS else []
    reasons += [
        f"{quote(text)} is not text of a workbook"
        for name in ids
        for text in frame[name]
        if not is_text_of_a_workbook(text)
    ]
    reasons += [f"{quote(text)} is too long" for text in cells if isinstance(text, str) and len(text) >= MAX_TEXT]
    reasons += [
        f"{amount} has too many digits"
        for amount in cells
        if isinstance(amount, Decimal) and has_too_many_digits(amount)
    ]
    if reasons:
        raise InputError(f"{file}: an Excel workbook cannot hold the rows: {reasons[0]}; save it as .csv")
