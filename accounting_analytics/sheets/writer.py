"""Files to edit, CSV or Excel: ids stay text, amounts keep every digit, instants are in UTC, no cell is a formula."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.atomic_files import replace_file, write_text
from accounting_analytics.errors import InputError
from accounting_analytics.extras import import_extra
from accounting_analytics.messages import quote
from accounting_analytics.money import MAX_UNITS, fraction_digits, to_minor_units
from accounting_analytics.sheets.cells import BYTE_ORDER_MARK, GUARD, guard

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

_WORKBOOK_SUFFIX = ".xlsx"
_OPTIONS = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False, "in_memory": True}
"""Text stays text, and no text of the books is in temporary files."""
_MAX_ROWS, _MAX_TEXT = 1_048_576, 32_767
_NOT_IN_WORKBOOKS = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|x005F_")
"""Characters that XML does not have, and the code that stands for them in workbooks."""
_FIRST_DATE = dt.datetime(1900, 3, 1, tzinfo=dt.UTC)
_CHOICES = "choices"
_MIN_WIDTH, _MAX_WIDTH, _MEASURED_ROWS = 8, 50, 200


class _Formats(NamedTuple):
    """Formats of a workbook."""

    heading: Any
    editable_heading: Any
    text: Any
    amount: Any
    time: Any


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

    Parameters
    ----------
    frame : DataFrame
        The rows; amounts are Arrow decimals.
    file : Path
        The file: an Excel workbook if it ends in ``.xlsx``, otherwise CSV.
    name : str
        Name of the sheet.
    ids : collection of str
        Columns of ids, which must be stored exactly; in other text, characters that a workbook cannot hold are
        replaced.
    editable : collection of str
        Columns that are to be edited; their headings have a colour.
    choices : sequence of str
        Texts that a list offers in the first column, from a sheet of their own; other text stays possible.

    Raises
    ------
    InputError
        xlsxwriter is not installed, a workbook cannot hold the rows, or the file cannot be written.
    """
    if not is_workbook(file):
        write_text(file, f"{BYTE_ORDER_MARK}{_csv_text(frame)}", private=True)
        return
    xlsxwriter = require_xlsxwriter()
    _require_fits(frame, file, ids)
    content = io.BytesIO()
    with xlsxwriter.Workbook(content, _OPTIONS) as workbook:
        formats = _Formats(
            workbook.add_format({"bold": True, "bottom": 1}),
            workbook.add_format({"bold": True, "bottom": 1, "bg_color": "#FFF2CC"}),
            workbook.add_format({"num_format": "@"}),
            workbook.add_format({"num_format": _amount_format(frame)}),
            workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        )
        worksheet = workbook.add_worksheet(name)
        _write_sheet(worksheet, frame, formats, editable)
        if choices:
            _write_choices(workbook.add_worksheet(_CHOICES), choices, formats)
            worksheet.data_validation(1, 0, max(len(frame), 1), 0, _list_of_choices(choices))
    try:
        replace_file(file, lambda opened: opened.write(content.getvalue()), private=True)
    except OSError as error:
        msg = f"{file} cannot be written: {error.strerror}; the previous content is unchanged"
        raise InputError(msg) from error


def is_workbook(file: Path) -> bool:
    """Whether a file is an Excel workbook by its name."""
    return file.suffix.lower() == _WORKBOOK_SUFFIX


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


def require_xlsxwriter() -> Any:  # noqa: ANN401 (a module)
    """Import the package that writes workbooks.

    Raises
    ------
    InputError
        It is not installed.
    """
    return import_extra("xlsxwriter", "excel", "an Excel workbook")


def _require_fits(frame: pd.DataFrame, file: Path, ids: Collection[str]) -> None:
    """Refuse rows that a workbook cannot hold exactly."""
    cells = [value for _, column in frame.items() for value in column if isinstance(value, str | Decimal)]
    reasons = [f"{len(frame):,} rows are more than a sheet has"] if len(frame) >= _MAX_ROWS else []
    reasons += [f"{quote(text)} is not text of a workbook" for name in ids for text in frame[name] if _is_foreign(text)]
    reasons += [f"{quote(text)} is too long" for text in cells if isinstance(text, str) and len(text) >= _MAX_TEXT]
    reasons += [f"{amount} has too many digits" for amount in cells if _is_too_large(amount)]
    if reasons:
        msg = f"{file}: an Excel workbook cannot hold the rows: {reasons[0]}; save it as .csv"
        raise InputError(msg)


def _is_foreign(text: str) -> bool:
    return _NOT_IN_WORKBOOKS.search(text) is not None


def _is_too_large(amount: object) -> bool:
    """Whether an amount has more than the 15 digits that Excel keeps."""
    if not isinstance(amount, Decimal):
        return False
    return abs(to_minor_units(amount, fraction_digits(amount))) >= MAX_UNITS


def _amount_format(frame: pd.DataFrame) -> str:
    """Return the number format with the fraction digits of the amounts."""
    digits = max((fraction_digits(amount) for amount in frame["amount"]), default=0)
    return f"0.{'0' * digits}" if digits else "0"


def _write_sheet(worksheet: Any, frame: pd.DataFrame, formats: _Formats, editable: Collection[str]) -> None:  # noqa: ANN401
    worksheet.freeze_panes(1, 0)
    worksheet.autofilter(0, 0, len(frame), len(frame.columns) - 1)
    for place, (name, column) in enumerate(frame.items()):
        values = column.tolist()
        is_text = pd.api.types.is_string_dtype(column.dtype)
        worksheet.set_column(place, place, _width(str(name), values), formats.text if is_text else None)
        worksheet.write_string(0, place, name, formats.editable_heading if name in editable else formats.heading)
        for row, value in enumerate(values, start=1):
            _write_cell(worksheet, (row, place), value, formats)


def _write_choices(worksheet: Any, choices: Sequence[str], formats: _Formats) -> None:  # noqa: ANN401
    worksheet.set_column(0, 0, _width("", list(choices)), formats.text)
    for row, text in enumerate(choices):
        _write_cell(worksheet, (row, 0), text, formats)


def _list_of_choices(choices: Sequence[str]) -> dict[str, Any]:
    """List of a cell; the spreadsheet asks whether other text is meant."""
    return {
        "validate": "list",
        "source": f"={_CHOICES}!$A$1:$A${len(choices)}",
        "error_type": "warning",
        "error_title": "Not in the list",
        "error_message": f"The sheet {_CHOICES} does not have this text. Is it an id or a unique name?",
    }


def _write_cell(worksheet: Any, place: tuple[int, int], value: Any, formats: _Formats) -> None:  # noqa: ANN401
    """Write a cell; an instant that is not a date of Excel, or has a fraction of a second, is text."""
    if isinstance(value, Decimal):
        worksheet.write_number(*place, value, formats.amount)
    elif isinstance(value, int):
        worksheet.write_number(*place, value)
    elif isinstance(value, dt.datetime):
        if value < _FIRST_DATE or value.microsecond:
            worksheet.write_string(*place, value.isoformat(), formats.text)
        else:
            worksheet.write_datetime(*place, value.replace(tzinfo=None), formats.time)
    elif not pd.isna(value) and value:
        text = _NOT_IN_WORKBOOKS.sub("\N{REPLACEMENT CHARACTER}", str(value))
        worksheet.write_string(*place, f"{GUARD}{text}" if text.startswith(GUARD) else text, formats.text)


def _width(name: str, values: list[Any]) -> int:
    """Width that fits the name and the first values, up to a limit."""
    longest = max((len(str(value)) for value in values[:_MEASURED_ROWS]), default=0)
    return min(_MAX_WIDTH, max(len(name), longest, _MIN_WIDTH) + 2)
