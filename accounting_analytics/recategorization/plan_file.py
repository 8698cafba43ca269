"""Plan file (CSV): ids stay text, amounts keep every digit, and no cell is a formula in a spreadsheet."""

from __future__ import annotations

import csv
import datetime as dt
import io
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.arguments import to_path
from accounting_analytics.atomic_files import write_text
from accounting_analytics.errors import AmountError, InputError, PlanError
from accounting_analytics.frame_columns import LIST_SEPARATOR
from accounting_analytics.messages import join_ids, quote
from accounting_analytics.money import DEFAULT_SCALE, MAX_SCALE, fits_float, parse_amount
from accounting_analytics.recategorization.new_categories import ID_COLUMN, NAME_COLUMN
from accounting_analytics.schemas import PlanItems
from accounting_analytics.spreadsheet_cells import BYTE_ORDER_MARK, guard, unguard

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.recategorization.new_categories import NewCategory

_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs"}
_ZIP = "PK\x03\x04"
_INSTANCE = "instance_id"
_AMOUNTS = ("amount", "category_amount")
_OPPOSING = "opposing_ledger_ids"
_MAY_BE_EMPTY = frozenset({"description", "category_amount", ID_COLUMN, NAME_COLUMN, _INSTANCE})


def write_items(frame: pd.DataFrame, path: str | Path, *, instance_id: str | None) -> None:
    """Write plan items; the file is replaced completely or left unchanged."""
    file = to_path(path, "path")
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*frame.columns, _INSTANCE])
    for row in frame.itertuples(index=False, name=None):
        cells = [_format_cell(name, value) for name, value in zip(frame.columns, row, strict=True)]
        writer.writerow([*cells, guard(instance_id or "")])
    try:
        write_text(file, f"{BYTE_ORDER_MARK}{text.getvalue()}", private=True)
    except InputError as error:
        msg = f"the plan was not saved: {error}"
        raise PlanError(msg) from error


def read_items(path: str | Path, category: NewCategory) -> tuple[pd.DataFrame, str | None]:
    """Read plan items and their instance; the message of an error names the line of the first invalid row.

    Parameters
    ----------
    path : path
        The file.
    category : NewCategory
        Determines the new category of each row.
    """
    file = to_path(path, "path")
    try:
        text = file.read_bytes().decode("utf-8-sig")  # not read_text, which converts line breaks
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text; save it as CSV in UTF-8"
        msg = f"the plan {file} cannot be read: {reason}"
        raise PlanError(msg) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        header = _check_header(next(reader, []), file)
        for cells in reader:
            if any(cells):
                where = f"{file}, line {reader.line_num}"
                row = _parse_row(header, cells, where)
                row[ID_COLUMN], row[NAME_COLUMN] = category.find(row[ID_COLUMN], row[NAME_COLUMN], where)
                rows.append(row)
    except csv.Error as error:
        msg = f"{file}, line {reader.line_num} is not a row of a plan: {error}"
        raise PlanError(msg) from error
    instances = {row.pop(_INSTANCE) or None for row in rows}
    if len(instances) > 1:
        msg = f"{file} mixes plans of different instances; keep the rows of one"
        raise PlanError(msg)
    return _to_frame(rows), next(iter(instances), None)


def _to_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Plan items as a table; amounts are decimals if one has too many digits for float64."""
    amounts = [row[name] for row in rows for name in _AMOUNTS if row[name] is not None]
    scale = max(map(_fraction_digits, amounts), default=DEFAULT_SCALE)
    return PlanItems.from_columns(
        {name: [row[name] for row in rows] for name in PlanItems.dtypes()},
        scale,
        as_decimals=any(not fits_float(amount, scale) for amount in amounts),
    )


def _check_header(header: list[str], file: Path) -> list[str]:
    columns = [*PlanItems.to_schema().columns, _INSTANCE]
    if sorted(header) != sorted(columns):
        msg = f"{file} is not a plan: {_describe_header(header, columns)}"
        raise PlanError(msg)
    return header


def _describe_header(header: list[str], columns: list[str]) -> str:
    """Describe what is wrong with the first line of a file, and what to do."""
    if not any(header):
        return "its first line is empty; make the plan again"
    text = "".join(header)
    for separator, name in _OTHER_SEPARATORS.items():
        if separator in text and len(header) < len(columns):
            return f"it was saved with {name}: save it with commas"
    if text.startswith(_ZIP):
        return "it is an Excel workbook: save it as CSV in UTF-8"
    missing = [name for name in columns if name not in header]
    others = [name for name in header if name not in columns]
    problems = [f"the first line lacks {join_ids(missing)}"] if missing else []
    problems += [f"it has {len(others)} other column(s), first {quote(others[0])}"] if others else []
    return "; ".join(problems or ["a column appears twice"])


def _parse_row(header: list[str], cells: list[str], where: str) -> dict[str, Any]:
    if len(cells) != len(header):
        msg = f"{where}: {len(cells)} cells for {len(header)} columns"
        raise PlanError(msg)
    row: dict[str, Any] = {name: unguard(cell) for name, cell in zip(header, cells, strict=True)}
    empty = [name for name, text in row.items() if not text and name not in _MAY_BE_EMPTY]
    if empty:
        msg = f"{where}: {empty[0]} is empty"
        raise PlanError(msg)
    try:
        for name in _AMOUNTS:
            row[name] = _parse_number(row[name]) if row[name] else None
        row["datetime"] = _parse_instant(row["datetime"])
        _require_ids(row[_OPPOSING])
    except (AmountError, ValueError) as error:
        msg = f"{where}: {error}"
        raise PlanError(msg) from error
    if row["category_ledger_id"] not in row[_OPPOSING].split(LIST_SEPARATOR):
        msg = f"{where}: category_ledger_id is not in opposing_ledger_ids; do not edit these two columns"
        raise PlanError(msg)
    return row


def _parse_number(text: str) -> object:
    return parse_amount(text, min(len(text.partition(".")[2]), MAX_SCALE)).amount


def _fraction_digits(amount: Any) -> int:  # noqa: ANN401 (a Decimal from a row of mixed types)
    return max(-int(amount.as_tuple().exponent), 0)


def _parse_instant(text: str) -> dt.datetime:
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        msg = (
            f"datetime {quote(text)} is not as the plan was written (2025-03-10T12:00:00+00:00): a spreadsheet changed "
            "the column; format it as text and paste the original values, or make the plan again"
        )
        raise ValueError(msg) from None
    if instant.tzinfo is None:
        msg = f"datetime {text!r} has no time zone; do not edit this column"
        raise ValueError(msg)
    return instant


def _require_ids(text: str) -> None:
    """Refuse a list that an earlier version wrote as JSON, or an id that is empty."""
    if text.startswith('["'):
        msg = "the plan was written by an earlier development version; make the plan again"
        raise ValueError(msg)
    if not all(text.split(LIST_SEPARATOR)):
        msg = f"{_OPPOSING} is not a list of ids; do not edit this column"
        raise ValueError(msg)


def _format_cell(name: str, value: Any) -> str:  # noqa: ANN401 (any value of a frame)
    """Format a cell as text."""
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if name in _AMOUNTS:
        return "" if pd.isna(value) else f"{value:f}"
    return guard(str(value))
