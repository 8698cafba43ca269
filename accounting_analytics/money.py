"""Exact amounts of money: scale, parsing, formatting, and the sign convention.

An amount is a :class:`~decimal.Decimal` in units of the instance's one currency; in a frame it is Arrow
``decimal128(38, scale)``; in the embedded store it is a whole number of minor units. Never a float.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from accounting_analytics.errors import AmountError
from accounting_analytics.messages import quote, shorten

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_SCALE = 2
MAX_SCALE = 10
PRECISION = 38
MAX_ROUNDING_NOISE = Decimal("1e-6")
"""Largest difference from an exact amount that is removed as rounding noise of floats; also limited to a hundredth of
the smallest unit, so that no real digits are removed at scale 5 and above."""

EXACT = Context(prec=200, rounding=ROUND_HALF_EVEN)
"""Decimal arithmetic without rounding for every amount this package accepts."""

_QUANTA = [Decimal(1).scaleb(-scale) for scale in range(MAX_SCALE + 1)]
"""Smallest unit, by scale."""


class ParsedAmount(NamedTuple):
    """An exact amount, and whether rounding noise of floats was removed from it."""

    amount: Decimal
    rounding_noise_removed: bool


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
    """Parse an amount from a Decimal, an int or plain number text, exactly.

    Parameters
    ----------
    value : Decimal, int or str
        The amount. Text is a JSON-style number: no thousands separators, no currency sign, no spaces.
        A float is refused: its digits are not exactly those of the amount.
    scale : int
        Fraction digits of the instance's currency.

    Returns
    -------
    ParsedAmount
        The amount at exactly `scale` fraction digits; ``rounding_noise_removed`` if the value differed from it by at
        most 1e-6. Minus zero becomes zero.

    Raises
    ------
    AmountError
        The value is not a finite number, has more digits than the scale or precision allows, or has another
        type.
    """
    check_scale(scale)
    exact = _decimal(value)
    # the exponent is checked first: quantizing 1e999999 would create a million digits
    if exact and exact.adjusted() >= PRECISION - scale:
        msg = f"amount {_text(value)} has more than {PRECISION - scale} digits before the point"
        raise AmountError(msg)
    amount = EXACT.quantize(exact, _QUANTA[scale])
    is_noisy = exact != amount
    max_noise = min(MAX_ROUNDING_NOISE, EXACT.divide(_QUANTA[scale], 100))
    if is_noisy and EXACT.abs(EXACT.subtract(exact, amount)) > max_noise:
        msg = f"amount {_text(value)} does not fit {scale} fraction digits"
        raise AmountError(msg)
    if amount.adjusted() >= PRECISION - scale:
        msg = f"amount {_text(value)} has more than {PRECISION - scale} digits before the point"
        raise AmountError(msg)
    return ParsedAmount(amount or abs(amount), is_noisy)


def to_minor_units(amount: Decimal, scale: int = DEFAULT_SCALE) -> int:
    """Whole number of minor units (cents at scale 2) of an exact amount; any other amount is refused."""
    scaled = EXACT.scaleb(amount, check_scale(scale))
    if scaled.is_finite() and (units := int(scaled)) == scaled:
        return units
    msg = f"amount {_text(amount)} does not fit {scale} fraction digits"
    raise AmountError(msg)


def from_minor_units(units: int, scale: int = DEFAULT_SCALE) -> Decimal:
    """Exact amount of a whole number of minor units."""
    with localcontext(EXACT):
        return Decimal(units).scaleb(-check_scale(scale))


def signed_amount(amount: Decimal, debit_credit: str) -> Decimal:
    """Signed amount of a line: ``+amount`` on the debit side, ``-amount`` on the credit side."""
    if debit_credit == "debit":
        return amount
    if debit_credit == "credit":
        return amount.copy_negate() if amount else amount  # unary minus would round to the context's 28 digits
    msg = f"debit_credit must be 'debit' or 'credit', not {debit_credit!r}"
    raise AmountError(msg)


def format_amount(amount: Decimal) -> str:
    """Amount for people: thousands separators and a leading minus, ``-1,234.50``."""
    return f"{amount:,f}"


def _decimal(value: object) -> Decimal:
    if isinstance(value, bool | float) or not isinstance(value, Decimal | int | str):
        msg = f"an amount is exact number text, an int or a Decimal, not {_text(value)}"
        raise AmountError(msg)
    if isinstance(value, str) and not _is_number_text(value):
        msg = f"{_text(value)} is not an amount; write it like 1234.50"
        raise AmountError(msg)
    try:
        exact = Decimal(value)
    except InvalidOperation as error:
        msg = f"{_text(value)} is not an amount; write it like 1234.50"
        raise AmountError(msg) from error
    if not exact.is_finite():
        msg = f"{_text(value)} is not a finite amount"
        raise AmountError(msg)
    return exact


def _is_number_text(text: str) -> bool:
    """Whether only ASCII digits, signs, points and exponents occur; Decimal also accepts ``1_0`` and other scripts."""
    return text.isascii() and bool(text) and set(text) <= set("0123456789+-.eE")


def _text(value: object) -> str:
    """Value for a message: a Decimal as its digits, anything else quoted."""
    return shorten(str(value)) if isinstance(value, Decimal) else quote(value)
