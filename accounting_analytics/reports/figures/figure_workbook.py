"""A figure as a workbook: what it is made of, and the entries behind it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Iterator
    from pathlib import Path

    from accounting_analytics.reports.figures.figure import Figure

_NAMED = {
    "description": ("transaction_description", "journal_entry_description", "description"),
    "ledger": ("ledger_name", "ledger_id"),
    "id": ("id", "line_id"),
}
"""Columns of entries: the first that has a text."""


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure with its terms, and the entries of all that have some, each with the sign that it is added with.

    The file is replaced completely or left unchanged.
    """
    require_workbook_name(path)
    parts = [(1, figure), *_terms(figure)]
    shown: dict[str, list[Any]] = {
        "figure": [printable(part.label, " ") for _, part in parts],
        "amount": [_amount(part) for _, part in parts],
        "sign": ["+" if sign > 0 else "-" for sign, _ in parts],
        "how": [printable(part.calculation, " ") for _, part in parts],
    }
    entries = [row for sign, part in parts if part.is_additive and not part.terms for row in _entries(sign, part)]
    if len(entries) >= MAX_ROWS:
        raise InputError(f"{quote(figure.label)} has more entries than a sheet of Excel has rows; nothing was written")
    with new_workbook(path, accounting_format(grouped_format(figure.scale))) as workbook:
        workbook.add_columns(ColumnSheet("Figure", shown))
        if entries:
            columns = ("date", *_NAMED, "amount", "figure")
            workbook.add_columns(ColumnSheet("Entries", {name: [row[name] for row in entries] for name in columns}))


def _terms(figure: Figure, factor: int = 1) -> Iterator[tuple[int, Figure]]:
    """Yield all figures that a figure is made of, with the sign that they are added with."""
    for sign, term in zip(figure.signs, figure.terms, strict=True):
        own = -factor if sign == "-" else factor
        yield own, term
        yield from _terms(term, own)


def _amount(figure: Figure) -> Decimal | str | None:
    """Amount of a figure; a percentage is text."""
    return f"{figure.units:,}%" if isinstance(figure.units, Decimal) else figure.exact()


def _entries(sign: int, figure: Figure) -> Iterator[dict[str, Any]]:
    """Yield the entries of a figure as rows."""
    for row in figure.exact_entries().to_dict("records"):
        day = row["local_date"] if "local_date" in row else row["datetime"]
        texts = {
            name: next((printable(text, " ") for key in keys if isinstance(text := row.get(key), str) and text), None)
            for name, keys in _NAMED.items()
        }
        amount = sign * Decimal(row["figure_amount"])
        yield {"date": dt.date(day.year, day.month, day.day), **texts, "amount": amount, "figure": figure.label}
