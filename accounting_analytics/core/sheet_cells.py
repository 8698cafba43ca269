"""Cells of files that people edit: text that a spreadsheet would compute or convert is written with an apostrophe."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import NamedTuple

Cell = str | bool | Decimal | dt.datetime
"""A cell; an empty one is empty text. A CSV file has text only."""
BYTE_ORDER_MARK = "\ufeff"
"""Tells spreadsheets that the file is UTF-8."""

GUARD = "'"
FORMULA_START = "=+-@\t\r\n＝＋－＠"  # noqa: RUF001 (spreadsheets take the wide signs for formulas too)
"""Characters with which a cell begins that a spreadsheet computes."""
_MONTH_NAME = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_CONVERTED = re.compile(
    r"[\d\s.,:/%()$-]*\d[\d\s.,:/%()$-]*(e[+-]?\d+)?"  # 00123, 1e5, 3-4, 12:30
    r"|(true|false)"
    rf"|\d{{1,4}}[\s./-]*{_MONTH_NAME}[\s./-]*\d{{0,4}}|{_MONTH_NAME}[\s./-]*\d{{1,4}}"  # 1-Mar, 1 March 2026, MAR1
    r"|\d+(\.\d+)?\s*[ap]m?",
    re.IGNORECASE,
)


class Invalid(NamedTuple):
    """A cell without a certain value, and why."""

    reason: str


def cell_text(cell: Cell) -> str:
    """Cell as text; a number without exponent, a boolean as spreadsheets show it."""
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    return str(cell).upper() if isinstance(cell, bool) else str(cell)


def guard(text: str) -> str:
    """Text with a leading apostrophe where a spreadsheet would compute or convert it."""
    return f"{GUARD}{text}" if text.startswith((*FORMULA_START, GUARD)) or is_converted(text) else text


def is_converted(text: str) -> bool:
    """Whether a spreadsheet would silently convert text to a number, a date or a boolean."""
    return _CONVERTED.fullmatch(text) is not None


def unguard(cell: str) -> str:
    """Text of a cell, without the apostrophe of `guard`."""
    return cell.removeprefix(GUARD)
