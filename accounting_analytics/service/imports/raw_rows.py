"""Rows of a table as another program wrote it: CSV with any separator and encoding, or an Excel workbook."""

from __future__ import annotations

import csv
import datetime as dt
import io
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import InputError
from accounting_analytics.sheets.cells import Cell, cell_text
from accounting_analytics.sheets.reader import SEPARATORS, read_workbook

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.service.imports.import_errors import ImportErrors

_WORKBOOK = b"PK\x03\x04"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class RawRow(NamedTuple):
    """A row with its place in the file; the cells of a workbook have types."""

    location: str
    cells: list[Cell]

    @property
    def texts(self) -> list[str]:
        """The cells as text, without spaces around it."""
        return [
            cell.date().isoformat() if isinstance(cell, dt.datetime) else cell_text(cell).strip() for cell in self.cells
        ]

    @property
    def filled(self) -> list[str]:
        """The texts that are not empty."""
        return [text for text in self.texts if text]


class RawTable(NamedTuple):
    """The rows of a file, and how it was read."""

    rows: list[RawRow]
    layout: str


def read_rows(path: Path, errors: ImportErrors) -> RawTable:
    """Read the rows of a file, whichever of the layouts it has."""
    try:
        content = path.read_bytes()
    except OSError as error:
        errors.fail(f"it cannot be read ({error.strerror})")
    if content.startswith(_WORKBOOK):
        try:
            sheet = read_workbook(content, path, ())
        except InputError as error:
            errors.fail(str(error))
        return RawTable([RawRow(f"row {row.number}", row.cells) for row in sheet.rows], "an Excel workbook")
    text, encoding = _decode(content)
    if "\0" in text:
        errors.fail("it is neither text nor an Excel workbook")
    separator = max(SEPARATORS, key=lambda one: _columns(text, one))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows, line = [], 1
    try:
        for cells in reader:
            rows.append(RawRow(f"line {line}", list(cells)))
            line = reader.line_num + 1
    except csv.Error as error:
        errors.fail(f"it is not valid CSV ({error})", f"line {line}")
    return RawTable(rows, f"text in {encoding}, with {SEPARATORS[separator]} between the columns")


def _decode(content: bytes) -> tuple[str, str]:
    """Text and its encoding: UTF-8, UTF-16 with its mark, or else that of Windows, as many banks write it."""
    if content.startswith(_UTF_16):
        return content.decode("utf-16", errors="replace"), "UTF-16"
    try:
        return content.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), "Windows-1252"


def _columns(text: str, separator: str) -> int:
    """How many cells the rows have with a separator, of the first hundred, beyond one each."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    total = 0
    try:
        for _, cells in zip(range(100), reader, strict=False):
            total += len(cells) - 1
    except csv.Error:
        pass
    return total
