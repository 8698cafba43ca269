"""Exact amounts of money: their scale, their text, and the sign convention.

An amount is a :class:`~decimal.Decimal` in units of the instance's one currency; in a frame it is Arrow
``decimal128(38, scale)``; in the embedded store it is a whole number of minor units. Never a float.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from accounting_analytics.errors import AmountError

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_SCALE = 2
MAX_SCALE = 10
PRECISION = 38
DUST = Decimal("1e-6")
"""How far a value may lie from an exact one and still be taken for it (float dust); never more than a
hundredth of the smallest unit, or real digits would pass for dust at scale 5 and above."""

EXACT = Context(prec=200, rounding=ROUND_HALF_EVEN)
"""Decimal arithmetic without rounding for every amount this package admits."""

_QUANTA = [Decimal(1).scaleb(-scale) for scale in range(MAX_SCALE + 1)]
"""Smallest unit, by scale."""


class ParsedAmount(NamedTuple):
    """An exact amount, and whether float dust was removed to get it."""

    amount: Decimal
    dusted: bool


def arrow_type(scale: int = DEFAULT_SCALE) -> pa.Decimal128Type:
    """Arrow type of an amount column: ``decimal128(38, scale)``."""
    return pa.decimal128(PRECISION, check_scale(scale))


def pandas_dtype(scale: int = DEFAULT_SCALE) -> pd.ArrowDtype:
    """Pandas dtype of an amount column."""
    import pandas as pd  # noqa: PLC0415 (slow to import, and amounts need it only in frames)

    return pd.ArrowDtype(arrow_type(scale))


def check_scale(scale: int) -> int:
    """Return `scale` if it is a number of fraction digits this package supports (0 to 10)."""
    if isinstance(scale, bool) or not isinstance(scale, int) or not 0 <= scale <= MAX_SCALE:
        msg = f"scale must be a whole number from 0 to {MAX_SCALE}, not {scale!r}"
        raise AmountError(msg)
    return scale


def parse_amount(value: object, scale: int = DEFAULT_SCALE) -> ParsedAmount:
    """Read an amount from a Decimal, an int or plain number text, exactly.

    Parameters
    ----------
    value : Decimal, int or str
        The amount. Text is a JSON-style number: no thousands separators, no currency sign, no spaces.
        A float is refused: its digits are not the ones that were meant.
    scale : int
        Fraction digits of the instance's currency.

    Returns
    -------
    ParsedAmount
        The amount at exactly `scale` fraction digits; ``dusted`` when it was within 1e-6 of it, not on it.
        Minus zero is zero.

    Raises
    ------
    AmountError
        The value is not a finite number, has more digits than the scale or precision allows, or is of
        another type.
    """
    check_scale(scale)
    exact = _decimal(value)
    # decided on the exponent first: quantizing 1e999999 would build a million digits
    if exact and exact.adjusted() >= PRECISION - scale:
        msg = f"amount {_shown(value)} has more than {PRECISION - scale} digits before the point"
        raise AmountError(msg)
    amount = EXACT.quantize(exact, _QUANTA[scale])
    dusted = exact != amount
    if dusted and EXACT.abs(EXACT.subtract(exact, amount)) > min(DUST, EXACT.divide(_QUANTA[scale], 100)):
        msg = f"amount {_shown(value)} does not fit {scale} fraction digits"
        raise AmountError(msg)
    if amount.adjusted() >= PRECISION - scale:
        msg = f"amount {_shown(value)} has more than {PRECISION - scale} digits before the point"
        raise AmountError(msg)
    return ParsedAmount(amount or abs(amount), dusted)


def to_minor_units(amount: Decimal, scale: int = DEFAULT_SCALE) -> int:
    """Whole number of minor units (cents at scale 2) of an exact amount; refuses what does not fit."""
    scaled = EXACT.scaleb(amount, check_scale(scale))
    if scaled.is_finite() and (units := int(scaled)) == scaled:
        return units
    msg = f"amount {_shown(amount)} does not fit {scale} fraction digits"
    raise AmountError(msg)


def from_minor_units(units: int, scale: int = DEFAULT_SCALE) -> Decimal:
    """Exact amount of a whole number of minor units."""
    with localcontext(EXACT):
        return Decimal(units).scaleb(-check_scale(scale))


def signed_amount(amount: Decimal, debit_credit: str) -> Decimal:
    """Sign of a line: ``+amount`` on the debit side, ``-amount`` on the credit side."""
    if debit_credit == "debit":
        return amount
    if debit_credit == "credit":
        return amount.copy_negate() if amount else amount  # unary minus would round to the context's 28 digits
    msg = f"debit_credit must be 'debit' or 'credit', not {debit_credit!r}"
    raise AmountError(msg)


def format_amount(amount: Decimal) -> str:
    """Amount for a human: thousands separators and a leading minus, ``-1,234.50``."""
    return f"{amount:,f}"


def _decimal(value: object) -> Decimal:
    if isinstance(value, bool | float) or not isinstance(value, Decimal | int | str):
        msg = f"an amount is exact number text, an int or a Decimal, not {_shown(value)}"
        raise AmountError(msg)
    if isinstance(value, str) and not _is_number_text(value):
        msg = f"{_shown(value)} is not an amount; write it like 1234.50"
        raise AmountError(msg)
    try:
        exact = Decimal(value)
    except InvalidOperation as error:
        msg = f"{_shown(value)} is not an amount; write it like 1234.50"
        raise AmountError(msg) from error
    if not exact.is_finite():
        msg = f"{_shown(value)} is not a finite amount"
        raise AmountError(msg)
    return exact


def _is_number_text(text: str) -> bool:
    """Whether only ASCII digits, a sign, a point and an exponent occur: Decimal takes ``1_0`` and other scripts too."""
    return text.isascii() and bool(text) and set(text) <= set("0123456789+-.eE")


def _shown(value: object) -> str:
    text = repr(value) if not isinstance(value, Decimal) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 (one line of a message)
