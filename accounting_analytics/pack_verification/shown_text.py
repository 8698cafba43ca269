"""Figures as text: what a page shows, and what it has to show."""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = re.compile(r"(\()?([+\u2212-])?([0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?)(%)?(\))?")
_SPACES = " \t\n\N{NO-BREAK SPACE}"
NOT_KNOWN = "not known"
ZERO = "\N{EN DASH}"


class FigureValue(NamedTuple):
    """An exact value: `units` of the last of its fraction digits, of an amount, a count or a percentage."""

    units: int
    digits: int
    is_percent: bool = False


def divide(units: int, divisor: int) -> int:
    """Quotient as an integer, rounded half to even."""
    if divisor < 0:
        units, divisor = -units, -divisor
    quotient, rest = divmod(units, divisor)
    return quotient + (2 * rest > divisor or (2 * rest == divisor and quotient % 2 == 1))


def value_text(value: FigureValue | None, *, form: str = "") -> str:
    """Text that a figure has to have: a minus sign before negative ones, all of its fraction digits."""
    if value is None:
        return NOT_KNOWN
    units, digits, is_percent = value
    negative = units < 0 and form != "magnitude"
    whole = str(abs(units)).zfill(digits + 1)
    end = len(whole) - digits
    fraction = f".{whole[end:]}" if digits else ""
    return f"{'-' if negative else ''}{int(whole[:end]):,}{fraction}{'%' if is_percent else ''}"


def read_shown(text: str) -> str | None:
    """Text that a page shows, written as `value_text` writes it; None where it is not a figure."""
    text = text.strip(_SPACES)
    if text in {NOT_KNOWN, ZERO}:
        return text
    found = _NUMBER.fullmatch(text)
    if not found or (found[1] is None) != (found[5] is None) or (found[1] and found[2]):
        return None
    is_negative = found[1] or found[2] not in {None, "+"}
    return f"{'-' if is_negative else ''}{found[3]}{found[4] or ''}"


def agrees(shown: str | None, expected: str) -> bool:
    """Whether a shown text is the expected one; zeros may be a dash."""
    if shown == ZERO:
        return expected != NOT_KNOWN and not re.search("[1-9]", expected)
    return shown == expected
