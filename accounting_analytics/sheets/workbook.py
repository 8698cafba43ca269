"""Excel workbooks: amounts are numbers, times are dates, and text is never a formula, a link or a number."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.extras import import_extra
from accounting_analytics.messages import shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

WORKBOOK_SUFFIX = ".xlsx"
MAX_ROWS, MAX_TEXT = 1_048_576, 32_767
_AS_TEXT = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
_FIRST_YEAR = 1900
_CHOICES = "choices"
_MIN_WIDTH, _MAX_WIDTH, _MEASURED_ROWS = 8, 60, 200
_MARGIN = 3
"""Characters for the button of the filter in the header."""


class Worksheet(NamedTuple):
    """A table of a workbook.

    Attributes
    ----------
    name : str
        Name of the sheet.
    columns : mapping of str to sequence
        Values of each column; null is an empty cell.
    editable : collection of str
        Columns that are to be edited: their headings have a colour, and the text of all columns is formatted as such.
    choices : sequence of str
        Texts that a list offers in the first column, from a sheet of their own; other text stays possible.
    totals : sequence of mapping
        Rows below the table, of amounts and labels by column; ``sum`` is the sum of the column.
    """

    name: str
    columns: Mapping[str, Sequence[Any]]
    editable: Collection[str] = ()
    choices: Sequence[str] = ()
    totals: Sequence[Mapping[str, Any]] = ()

    @property
    def row_count(self) -> int:
        """Number of rows of the table."""
        return len(next(iter(self.columns.values())))


class _Formats(NamedTuple):
    heading: Any
    editable_heading: Any
    text: Any
    amount: Any
    total: Any
    time: Any
    label: Any


def require_xlsxwriter() -> Any:  # noqa: ANN401 (a module)
    """Import the package that writes workbooks.

    Raises
    ------
    InputError
        It is not installed.
    """
    return import_extra("xlsxwriter", "excel", "an Excel workbook")


def workbook_content(
    sheets: Sequence[Worksheet], *, amount_format: str, unit: str = "", folder: Path | None = None
) -> bytes:
    """Content of a workbook; its temporary files are in the folder, or there are none.

    Parameters
    ----------
    sheets : sequence of Worksheet
        The sheets.
    amount_format : str
        Number format of amounts.
    unit : str
        What the format shows after an amount, for the widths of columns.
    folder : Path, optional
        Folder for temporary files of large workbooks.

    Raises
    ------
    InputError
        xlsxwriter is not installed.
    OSError
        A temporary file cannot be written.
    """
    file, xlsxwriter = io.BytesIO(), require_xlsxwriter()
    options = {**_AS_TEXT, **({"in_memory": True} if folder is None else {"tmpdir": str(folder)})}
    try:
        with xlsxwriter.Workbook(file, options) as workbook:
            formats = _formats(workbook, amount_format)
            for sheet in sheets:
                _write_sheet(workbook.add_worksheet(sheet.name), sheet, formats, unit)
                if sheet.choices:
                    _write_choices(workbook, sheet, formats)
    except xlsxwriter.exceptions.FileCreateError as error:
        msg = f"temporary files of the workbook in {folder}: {error}"
        raise OSError(msg) from error
    return file.getvalue()


def _formats(workbook: Any, amount_format: str) -> _Formats:  # noqa: ANN401
    bold = {"bold": True}
    return _Formats(
        heading=workbook.add_format({**bold, "bottom": 1}),
        editable_heading=workbook.add_format({**bold, "bottom": 1, "bg_color": "#FFF2CC"}),
        text=workbook.add_format({"num_format": "@"}),
        amount=workbook.add_format({"num_format": amount_format}),
        total=workbook.add_format({**bold, "num_format": amount_format}),
        time=workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        label=workbook.add_format(bold),
    )


def _write_sheet(worksheet: Any, sheet: Worksheet, formats: _Formats, unit: str) -> None:  # noqa: ANN401
    names, count = list(sheet.columns), sheet.row_count
    cells = formats if sheet.editable else formats._replace(text=None)
    worksheet.freeze_panes(1, 0)
    worksheet.autofilter(0, 0, count, len(names) - 1)
    for place, (name, values) in enumerate(sheet.columns.items()):
        heading = formats.editable_heading if name in sheet.editable else formats.heading
        is_text = all(value is None or isinstance(value, str) for value in values)
        worksheet.set_column(place, place, _width(name, values, unit), cells.text if is_text else None)
        worksheet.write_string(0, place, name, heading)
        for row, value in enumerate(values, start=1):
            _write_cell(worksheet, (row, place), value, cells)
    below = formats._replace(text=formats.label, amount=formats.total)
    for row, totals in enumerate(sheet.totals, start=count + 1):
        for name, cell in totals.items():
            write = _write_sum if cell == "sum" else _write_cell
            write(worksheet, (row, names.index(name)), sheet.columns[name] if cell == "sum" else cell, below)


def _write_cell(worksheet: Any, place: tuple[int, int], value: Any, formats: _Formats) -> None:  # noqa: ANN401
    if isinstance(value, Decimal):
        worksheet.write_number(*place, float(value), formats.amount)
    elif isinstance(value, bool):
        worksheet.write_boolean(*place, value)
    elif isinstance(value, int | float):
        worksheet.write_number(*place, value)
    elif isinstance(value, dt.datetime) and value.year >= _FIRST_YEAR:
        worksheet.write_datetime(*place, value.replace(tzinfo=None), formats.time)
    elif value is not None:
        worksheet.write_string(*place, shorten(str(value), limit=MAX_TEXT), formats.text)


def _write_sum(worksheet: Any, place: tuple[int, int], values: Sequence[Any], formats: _Formats) -> None:  # noqa: ANN401
    total = float(sum(values, Decimal(0)))
    if not values:
        worksheet.write_number(*place, total, formats.amount)
        return
    letter = chr(ord("A") + place[1])
    worksheet.write_formula(*place, f"=SUM({letter}2:{letter}{len(values) + 1})", formats.amount, total)


def _write_choices(workbook: Any, sheet: Worksheet, formats: _Formats) -> None:  # noqa: ANN401
    """Write a sheet of choices, and offer them; the spreadsheet asks whether other text is meant."""
    choices = workbook.add_worksheet(_CHOICES)
    choices.set_column(0, 0, _width("", sheet.choices, ""), formats.text)
    choices.write_column(0, 0, sheet.choices, formats.text)
    offered = {
        "validate": "list",
        "source": f"={_CHOICES}!$A$1:$A${len(sheet.choices)}",
        "error_type": "warning",
        "error_title": "Not in the list",
        "error_message": f"The sheet {_CHOICES} does not have this text. Is it an id or a unique name?",
    }
    workbook.get_worksheet_by_name(sheet.name).data_validation(1, 0, max(sheet.row_count, 1), 0, offered)


def _width(name: str, values: Sequence[Any], unit: str) -> int:
    """Width of a column: that of its longest amount or total, because Excel shows ``###`` instead; text has a limit."""
    amounts = [value for value in values if isinstance(value, Decimal)]
    if amounts:
        shown = [f"{amount:,f} {unit}" for amount in (min(amounts), max(amounts), sum(amounts, Decimal(0)))]
        return max(len(text) for text in (name, *shown)) + _MARGIN
    longest = max((len(str(value)) for value in values[:_MEASURED_ROWS]), default=0)
    return min(_MAX_WIDTH, max(len(name), longest, _MIN_WIDTH) + _MARGIN)
