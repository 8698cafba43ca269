"""Files to edit, CSV or Excel: ids stay text, amounts keep every digit, instants are in UTC, no cell is a formula."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.atomic_files import replace_file, write_text
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.money import MAX_UNITS, fraction_digits, to_minor_units
from accounting_analytics.sheets.cells import BYTE_ORDER_MARK, GUARD, guard
from accounting_analytics.sheets.workbook import MAX_ROWS, MAX_TEXT, WORKBOOK_SUFFIX, Worksheet, workbook_content

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

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
    _require_fits(frame, file, ids)
    columns = {str(column_name): [_workbook_cell(value) for value in column] for column_name, column in frame.items()}
    sheet = Worksheet(name, columns, editable, choices)
    content = workbook_content([sheet], amount_format=_amount_format(frame))
    try:
        replace_file(file, lambda opened: opened.write(content), private=True)
    except OSError as error:
        msg = f"{file} cannot be written: {error.strerror}; the previous content is unchanged"
        raise InputError(msg) from error


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
    reasons += [f"{quote(text)} is not text of a workbook" for name in ids for text in frame[name] if _is_foreign(text)]
    reasons += [f"{quote(text)} is too long" for text in cells if isinstance(text, str) and len(text) >= MAX_TEXT]
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
