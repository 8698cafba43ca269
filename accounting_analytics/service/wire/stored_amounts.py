"""Amounts in the database: whole minor units, split in two integers so that nothing overflows 64 bits.

A signed number of units (debit positive) of at most 20 digits is stored as ``high * 10**10 + low``, both parts with the
sign of the amount. Each part stays below 10**10, so a database can sum some 900 million lines of either part in 64
bits, and the two sums put together are the exact sum, however large.
"""

from __future__ import annotations

from decimal import Decimal

from accounting_analytics.errors import AmountError
from accounting_analytics.money import to_minor_units

BASE = 10**10
MAX_DIGITS = 20


def to_units(amount: Decimal, scale: int) -> int:
    """Minor units of an amount; refuse a fraction of a unit, and more than 20 digits in all."""
    if not isinstance(amount, Decimal):
        msg = f"an amount is a Decimal, not {amount!r}"
        raise AmountError(msg)
    if not amount.is_finite():
        msg = f"amount {amount} is not a finite amount"
        raise AmountError(msg)
    if amount and amount.adjusted() >= MAX_DIGITS - scale:
        msg = (
            f"amount with {amount.adjusted() + 1} digits before the point is too large: "
            f"at scale {scale} this service keeps {MAX_DIGITS - scale}"
        )
        raise AmountError(msg)
    return to_minor_units(amount, scale)


def split_units(units: int) -> tuple[int, int]:
    """Split signed units into their stored parts: (high, low)."""
    high, low = divmod(abs(units), BASE)
    return (high, low) if units >= 0 else (-high, -low)


def join_units(high: int | None, low: int | None) -> int:
    """Signed units of stored parts, or of their sums (None without lines; PostgreSQL sums to a Decimal)."""
    return int(high or 0) * BASE + int(low or 0)


def number_text(units: int, scale: int) -> str:
    """JSON number of units, exact and without exponent: ``-0.05``."""
    if not scale:
        return str(units)
    digits = str(units)
    if len(digits) <= scale + 1:
        digits = f"{'-' if units < 0 else ''}{digits.lstrip('-').zfill(scale + 1)}"
    return f"{digits[:-scale]}.{digits[-scale:]}"
