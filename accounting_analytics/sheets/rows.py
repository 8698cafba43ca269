"""Rows of a CSV file or an Excel workbook as spreadsheets save them, whatever the separator and the encoding."""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import io
import re
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

from accounting_analytics.errors import InputError
from accounting_analytics.extras import import_extra
from accounting_analytics.messages import shorten

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WORKBOOK = b"PK\x03\x04"
_OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
_NUMBER_FORMAT = re.compile(r"[#,]*0(?:\.(0+))?")

Cell = str | bool | Decimal | dt.datetime
"""A cell; an empty one is empty text. A CSV file has text only."""


class SheetRow(NamedTuple):
    """A row, with the number that a spreadsheet shows for it."""

    number: int
    cells: list[Cell]


class Sheet(NamedTuple):
    """Rows of a file, the first of which has the names of the columns.

    Attributes
    ----------
    rows : list of SheetRow
        All rows, also empty ones.
    separator : str or None
        What separates the cells; None in a workbook, whose cells have types.
    hidden : int
        How many rows a filter hides.
    """

    rows: list[SheetRow]
    separator: str | None
    hidden: int = 0


def read_sheet(file: Path, columns: Collection[str]) -> Sheet:
    """Read a CSV file or an Excel workbook, whichever the content is.

    Parameters
    ----------
    file : Path
        The file.
    columns : collection of str
        The columns that are expected, by which the separator, or the sheet of a workbook, is recognised.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        msg = f"{file} cannot be read: {error.strerror}"
        raise InputError(msg) from error
    if content.startswith(_OLD_WORKBOOK):
        msg = f"{file} is an Excel workbook of the old format (.xls): save it as .xlsx or as CSV in UTF-8"
        raise InputError(msg)
    read = _read_workbook if content.startswith(_WORKBOOK) else _read_csv
    return read(content, file, columns)


def _read_csv(content: bytes, file: Path, columns: Collection[str]) -> Sheet:
    """Read text in UTF-8, or in UTF-16 as "Unicode text" of Excel; the header shows the separator."""
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        msg = f"{file} cannot be read: it is not UTF-8 text; save it as CSV in UTF-8, or as .xlsx"
        raise InputError(msg) from error
    separator = max(_SEPARATORS, key=lambda one: len(set(_first_cells(text, one)) & set(columns)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[SheetRow] = []
    try:
        rows.extend(SheetRow(number, list(cells)) for number, cells in enumerate(reader, start=1))
    except csv.Error as error:
        msg = f"{file}, row {len(rows) + 1} is not a row of CSV: {error}"
        raise InputError(msg) from error
    return Sheet(rows, separator)


def _first_cells(text: str, separator: str) -> list[str]:
    """Cells of the first row; none where it is not a row."""
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:
        return []


def _read_workbook(content: bytes, file: Path, columns: Collection[str]) -> Sheet:
    """Read the sheet whose first row has the columns; a formula has the result that the spreadsheet stored."""
    openpyxl = import_extra("openpyxl", "excel", f"{file} is an Excel workbook, which")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which are not read
            workbook = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    except (BadZipFile, KeyError, ValueError, TypeError, IndexError, EOFError, OSError, ParseError) as error:
        msg = f"{file} cannot be read: it is not an Excel workbook, or damaged ({shorten(str(error))})"
        raise InputError(msg) from error
    sheet = max(workbook.worksheets, key=lambda one: len({cell.value for cell in one[1]} & set(columns)))
    rows = [SheetRow(number, [_cell(one) for one in cells]) for number, cells in enumerate(sheet.iter_rows(), start=1)]
    return Sheet(rows, None, sum(row.hidden for row in sheet.row_dimensions.values()))


def _cell(cell: Any) -> Cell:  # noqa: ANN401 (a cell of a workbook)
    """Value of a cell; a number with at least the fraction digits of its format."""
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


def cell_text(cell: Cell) -> str:
    """Cell as text; a number without exponent, a boolean as spreadsheets show it."""
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    return str(cell).upper() if isinstance(cell, bool) else str(cell)


def separator_name(separator: str) -> str:
    """Plural of the name of a separator."""
    return _SEPARATORS[separator]
