"""Files to edit, CSV or Excel: ids stay text, amounts keep every digit, instants are in UTC, no cell is a formula.

In workbooks amounts are numbers and times are dates.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import pandas as pd

from accounting_analytics.atomic_files import replace_file, write_text
from accounting_analytics.errors import InputError
from accounting_analytics.extras import import_extra
from accounting_analytics.messages import quote, shorten
from accounting_analytics.money import MAX_UNITS, fraction_digits, to_minor_units
from accounting_analytics.sheets.cells import BYTE_ORDER_MARK, GUARD, guard

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

WORKBOOK_SUFFIX = ".xlsx"
MAX_ROWS, MAX_TEXT = 1_048_576, 32_767
_AS_TEXT = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
_FIRST_YEAR = 1900
_CHOICES = "choices"
_STYLES: Mapping[str, Mapping[str, object]] = {
    "heading": {"bold": True, "bottom": 1},
    "editable heading": {"bold": True, "bottom": 1, "bg_color": "#FFF2CC"},
    "text": {"num_format": "@"},
    "time": {"num_format": "yyyy-mm-dd hh:mm:ss"},
    "label": {"bold": True},
}
"""Formats of cells; those of amounts depend on the scale."""
_MIN_WIDTH, _MAX_WIDTH, _MEASURED_ROWS = 8, 60, 200
_MARGIN = 3
"""Characters for the button of the filter in the header."""
_NOT_IN_WORKBOOKS = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|x005F_")
"""Characters that XML does not have, and the code that stands for them in workbooks."""
_FIRST_DATE = dt.datetime(1900, 3, 1, tzinfo=dt.UTC)


def write_table(
    frame: pd.DataFrame,
    file: Path,
    *,
    name: str,
    ids: Collection[str],
    editable: Collection[str],
    choices: Sequence[str] = (),
) -> None:
    """Write a table, by the name of the file to a workbook or as CSV; it is replaced completely or left unchanged.

    Columns of `ids` are stored exactly; in other text, characters that a workbook cannot hold are replaced. Headings of
    `editable` columns have a colour, and a list offers the `choices` in the first column.
    """
    if not is_workbook(file):
        write_text(file, f"{BYTE_ORDER_MARK}{_csv_text(frame)}", private=True)
        return
    _require_fits(frame, file, ids)
    columns = {str(column_name): [_workbook_cell(value) for value in column] for column_name, column in frame.items()}
    sheet = Worksheet(name, columns, editable, choices)
    content = workbook_content([sheet], amount_format=_amount_format(frame))
    try:
        replace_file(file, lambda opened: opened.write(content), private=True)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}; the previous content is unchanged") from error


def is_workbook(file: Path) -> bool:
    """Whether a file is an Excel workbook by its name."""
    return file.suffix.lower() == WORKBOOK_SUFFIX


def _csv_text(frame: pd.DataFrame) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(frame.columns)
    writer.writerows([_csv_cell(value) for value in row] for row in frame.itertuples(index=False, name=None))
    return text.getvalue()


def _csv_cell(value: Any) -> str:  # noqa: ANN401
    """Format a cell: amounts with all digits, dates as ISO 8601, guarded text, null as nothing."""
    if isinstance(value, str):
        return guard(value)
    if pd.isna(value):
        return ""
    if isinstance(value, dt.date):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _workbook_cell(value: Any) -> Any:  # noqa: ANN401
    """Convert a cell: text that a workbook can hold and that is read back, and no time that it would change."""
    if isinstance(value, str) and value:
        text = _NOT_IN_WORKBOOKS.sub("\N{REPLACEMENT CHARACTER}", value)
        return f"{GUARD}{text}" if text.startswith(GUARD) else text
    if isinstance(value, dt.datetime) and (value < _FIRST_DATE or value.microsecond):
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
        if _NOT_IN_WORKBOOKS.search(text)
    ]
    reasons += [f"{quote(text)} is too long" for text in cells if isinstance(text, str) and len(text) >= MAX_TEXT]
    reasons += [f"{amount} has too many digits" for amount in cells if _is_too_large(amount)]
    if reasons:
        raise InputError(f"{file}: an Excel workbook cannot hold the rows: {reasons[0]}; save it as .csv")


def _is_too_large(amount: object) -> bool:
    """Whether an amount has more than the 15 digits that Excel keeps."""
    if not isinstance(amount, Decimal):
        return False
    return abs(to_minor_units(amount, fraction_digits(amount))) >= MAX_UNITS


def _amount_format(frame: pd.DataFrame) -> str:
    """Return the number format with the fraction digits of the amounts."""
    digits = max((fraction_digits(amount) for amount in frame["amount"]), default=0)
    return f"0.{'0' * digits}" if digits else "0"


class Worksheet(NamedTuple):
    """A table of a workbook: the values of each column, where null is an empty cell.

    `editable` columns have a coloured heading, and make the text of all columns be formatted as such. A list offers
    the `choices` in the first column, from a sheet of their own; other text stays possible. `totals` are rows below
    the table, of amounts and labels by column; ``sum`` is the sum of the column.
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


def require_xlsxwriter() -> Any:  # noqa: ANN401 (a module)
    """Import the package that writes workbooks."""
    return import_extra("xlsxwriter", "excel", "an Excel workbook")


def workbook_content(
    sheets: Sequence[Worksheet], *, amount_format: str, unit: str = "", folder: Path | None = None
) -> bytes:
    """Content of a workbook; its temporary files are in the folder, or there are none.

    `unit` is what the format shows after an amount, for the widths of columns.
    """
    file = io.BytesIO()
    with new_workbook(file, folder) as workbook:
        amount, total = {"num_format": amount_format}, {"num_format": amount_format, "bold": True}
        styles: dict[str, Mapping[str, object]] = {**_STYLES, "amount": amount, "total": total}
        formats = {name: workbook.add_format(style) for name, style in styles.items()}
        for sheet in sheets:
            _write_sheet(workbook.add_worksheet(sheet.name), sheet, formats, unit)
            if sheet.choices:
                _write_choices(workbook, sheet, formats)
    return file.getvalue()


@contextmanager
def new_workbook(file: BinaryIO, folder: Path | None = None) -> Iterator[Any]:
    """Workbook whose texts never become formulas, numbers or links; written to the file when the block ends.

    Its temporary files are in the folder, or there are none.
    """
    xlsxwriter = require_xlsxwriter()
    options = {**_AS_TEXT, **({"in_memory": True} if folder is None else {"tmpdir": str(folder)})}
    try:
        with xlsxwriter.Workbook(file, options) as workbook:
            yield workbook
    except xlsxwriter.exceptions.FileCreateError as error:
        raise OSError(f"temporary files of the workbook in {folder}: {error}") from error


def workbook_text(text: str) -> str:
    """Text that a cell can hold: without the characters that XML does not have, and cut where it is too long."""
    return shorten(_NOT_IN_WORKBOOKS.sub("\N{REPLACEMENT CHARACTER}", text), limit=MAX_TEXT)


def _write_sheet(worksheet: Any, sheet: Worksheet, formats: Mapping[str, Any], unit: str) -> None:  # noqa: ANN401
    names, count = list(sheet.columns), sheet.row_count
    cells = formats if sheet.editable else {**formats, "text": None}
    worksheet.freeze_panes(1, 0)
    worksheet.autofilter(0, 0, count, len(names) - 1)
    for place, (name, values) in enumerate(sheet.columns.items()):
        heading = formats["editable heading" if name in sheet.editable else "heading"]
        is_text = all(value is None or isinstance(value, str) for value in values)
        worksheet.set_column(place, place, _width(name, values, unit), cells["text"] if is_text else None)
        worksheet.write_string(0, place, name, heading)
        for row, value in enumerate(values, start=1):
            _write_cell(worksheet, (row, place), value, cells)
    below = {**formats, "text": formats["label"], "amount": formats["total"]}
    for row, totals in enumerate(sheet.totals, start=count + 1):
        for name, cell in totals.items():
            write = _write_sum if cell == "sum" else _write_cell
            write(worksheet, (row, names.index(name)), sheet.columns[name] if cell == "sum" else cell, below)


def _write_cell(worksheet: Any, place: tuple[int, int], value: Any, formats: Mapping[str, Any]) -> None:  # noqa: ANN401
    if isinstance(value, Decimal):
        worksheet.write_number(*place, float(value), formats["amount"])
    elif isinstance(value, bool):
        worksheet.write_boolean(*place, value)
    elif isinstance(value, int | float):
        worksheet.write_number(*place, value)
    elif isinstance(value, dt.datetime) and value.year >= _FIRST_YEAR:
        worksheet.write_datetime(*place, value.replace(tzinfo=None), formats["time"])
    elif value is not None:
        worksheet.write_string(*place, shorten(str(value), limit=MAX_TEXT), formats["text"])


def _write_sum(worksheet: Any, place: tuple[int, int], values: Sequence[Any], formats: Mapping[str, Any]) -> None:  # noqa: ANN401
    total = float(sum(values, Decimal(0)))
    if not values:
        worksheet.write_number(*place, total, formats["amount"])
        return
    letter = chr(ord("A") + place[1])
    worksheet.write_formula(*place, f"=SUM({letter}2:{letter}{len(values) + 1})", formats["amount"], total)


def _write_choices(workbook: Any, sheet: Worksheet, formats: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Write a sheet of choices, and offer them; the spreadsheet asks whether other text is meant."""
    choices = workbook.add_worksheet(_CHOICES)
    choices.set_column(0, 0, _width("", sheet.choices, ""), formats["text"])
    choices.write_column(0, 0, sheet.choices, formats["text"])
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
