"""Files to edit, CSV or Excel: ids stay text, amounts keep every digit, instants are in UTC, no cell is a formula.

In workbooks amounts are numbers and times are dates.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.core.atomic_files import write_text
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.money import fraction_digits
from accounting_analytics.core.sheet_cells import BYTE_ORDER_MARK, GUARD, guard
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
    from collections.abc import Collection, Sequence
    from pathlib import Path


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
