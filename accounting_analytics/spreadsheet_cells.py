"""Cells of CSV files that a spreadsheet opens: text stays text, is never a formula, and is read back unchanged."""

from __future__ import annotations

import re

BYTE_ORDER_MARK = "\ufeff"
"""Tells spreadsheets that the file is UTF-8."""

_GUARD = "'"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", _GUARD)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_CONVERTED = re.compile(
    r"[\d\s.,:/%()$-]*\d[\d\s.,:/%()$-]*(e[+-]?\d+)?"  # 00123, 1e5, 3-4, 12:30
    r"|(true|false)"
    rf"|\d{{1,4}}[\s./-]*{_MONTH}[\s./-]*\d{{0,4}}|{_MONTH}[\s./-]*\d{{1,4}}"  # 1-Mar, 1 March 2026, MAR1
    r"|\d+(\.\d+)?\s*[ap]m?",
    re.IGNORECASE,
)


def guard(text: str) -> str:
    """Text with a leading apostrophe where a spreadsheet would compute or convert it."""
    return f"{_GUARD}{text}" if text.startswith(_FORMULA) or is_converted(text) else text


def is_converted(text: str) -> bool:
    """Whether a spreadsheet would silently convert text to a number, a date or a boolean."""
    return _CONVERTED.fullmatch(text) is not None


def unguard(cell: str) -> str:
    """Text of a cell, without the apostrophe of `guard`."""
    return cell.removeprefix(_GUARD)
