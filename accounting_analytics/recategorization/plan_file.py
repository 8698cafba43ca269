"""A plan as a CSV file: ids stay text, amounts keep every digit, and no cell is a formula."""

from __future__ import annotations

import csv
import datetime as dt
import io
import os
import tempfile
from pathlib import Path

import pandas as pd

from accounting_analytics.errors import AmountError, PlanError
from accounting_analytics.money import DEFAULT_SCALE, MAX_SCALE, parse_amount
from accounting_analytics.schemas import PlanItems

_GUARD = "'"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", _GUARD)
_EXACT = {"amount", "datetime"}


def write_items(items: pd.DataFrame, path: str | Path) -> None:
    """Write plan items; the file is whole or not there."""
    file = Path(path)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(items.columns)
    for row in items.itertuples(index=False, name=None):
        writer.writerow([_cell(name, value) for name, value in zip(items.columns, row, strict=True)])
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=file.parent, prefix=f".{file.name}-", delete=False
        ) as temporary:
            temporary.write(text.getvalue())
            temporary.flush()
            os.fsync(temporary.fileno())
        Path(temporary.name).replace(file)
    except OSError as error:
        msg = f"the plan cannot be written to {file}: {error.strerror}"
        raise PlanError(msg) from error


def read_items(path: str | Path) -> pd.DataFrame:
    """Read plan items; the first row that cannot be used is named by its line."""
    file = Path(path)
    try:
        text = file.read_bytes().decode("utf-8-sig")  # as it stands: reading text would change line breaks
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the plan {file} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
        raise PlanError(msg) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns = list(PlanItems.to_schema().columns)
    try:
        header = next(reader, [])
        if sorted(header) != sorted(columns):
            msg = f"{file} is not a plan: its columns must be {', '.join(columns)}"
            raise PlanError(msg)
        rows = [
            _row(dict(zip(header, cells, strict=False)), len(cells), header, f"{file}, line {reader.line_num}")
            for cells in reader
            if cells
        ]
    except csv.Error as error:
        msg = f"{file}, line {reader.line_num}: {error}"
        raise PlanError(msg) from error
    scale = max((len(str(row["amount"]).partition(".")[2]) for row in rows), default=DEFAULT_SCALE)
    dtypes = PlanItems.dtypes(scale)
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=dtypes[name]) for name in columns})


def _row(cells: dict[str, str], count: int, header: list[str], where: str) -> dict[str, object]:
    if count != len(header):
        msg = f"{where}: {count} cells where there are {len(header)} columns"
        raise PlanError(msg)
    row: dict[str, object] = {name: text.removeprefix(_GUARD) for name, text in cells.items() if name not in _EXACT}
    empty = [name for name, text in row.items() if not text and name != "description"]
    if empty:
        msg = f"{where}: {empty[0]} is empty"
        raise PlanError(msg)
    try:
        fraction = len(cells["amount"].partition(".")[2])
        row["amount"] = parse_amount(cells["amount"], min(fraction, MAX_SCALE)).amount
        row["datetime"] = dt.datetime.fromisoformat(cells["datetime"])
    except (AmountError, ValueError) as error:
        msg = f"{where}: {error}"
        raise PlanError(msg) from error
    if row["datetime"].tzinfo is None:  # type: ignore[attr-defined]
        msg = f"{where}: datetime {cells['datetime']!r} has no zone; leave it as it was written"
        raise PlanError(msg)
    return row


def _cell(name: str, value: object) -> str:
    """Text of a cell; one that a spreadsheet would take for a formula gets a guard, which reading takes off."""
    if isinstance(value, dt.datetime):
        return value.isoformat()
    text = str(value)
    return f"{_GUARD}{text}" if name not in _EXACT and text.startswith(_FORMULA) else text
