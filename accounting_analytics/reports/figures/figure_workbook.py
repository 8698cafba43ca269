"""A figure as a workbook, with its terms and the entries behind it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import printable, quote
from accounting_analytics.core.workbook import (
    MAX_ROWS,
    ColumnSheet,
    accounting_format,
    grouped_format,
    new_workbook,
    require_workbook_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd

_NAMED = {
    "description": ("transaction_description", "journal_entry_description", "description"),
    "ledger": ("ledger_name", "ledger_id"),
    "id": ("id", "line_id"),
}
"""Columns of the sheet. For each, the columns of entries that may have its text, best first."""


class FigurePart(NamedTuple):
    """A figure or one of its terms, with its sign and entries."""

    label: str
    amount: Decimal | str | None
    sign: int
    calculation: str
    entries: pd.DataFrame | None


def write_figure(parts: Sequence[FigurePart], scale: int, path: Path) -> None:
    """Write a figure, its terms and their entries, each with its sign.

    The file is replaced completely or left unchanged.
    """
    require_workbook_name(path)
    shown: dict[str, list[Any]] = {
        "figure": [printable(part.label, " ") for part in parts],
        "amount": [part.amount for part in parts],
        "sign": ["+" if part.sign > 0 else "-" for part in parts],
        "how": [printable(part.calculation, " ") for part in parts],
    }
    entries = [row for part in parts for row in _rows(part)]
    if len(entries) >= MAX_ROWS:
        raise InputError(
            f"{quote(parts[0].label)} has more entries than a sheet of Excel has rows; nothing was written"
        )
    with new_workbook(path, accounting_format(grouped_format(scale))) as workbook:
        workbook.add_columns(ColumnSheet("Figure", shown))
        if entries:
            columns = ("date", *_NAMED, "amount", "figure")
            workbook.add_columns(ColumnSheet("Entries", {name: [row[name] for row in entries] for name in columns}))


def _rows(part: FigurePart) -> Iterator[dict[str, Any]]:
    """Yield the entries of a figure as rows."""
    for row in [] if part.entries is None else part.entries.to_dict("records"):
        day = row["local_date"] if "local_date" in row else row["datetime"]
        texts = {
            name: next((printable(text, " ") for key in keys if isinstance(text := row.get(key), str) and text), None)
            for name, keys in _NAMED.items()
        }
        amount = part.sign * Decimal(row["figure_amount"])
        yield {"date": dt.date(day.year, day.month, day.day), **texts, "amount": amount, "figure": part.label}
