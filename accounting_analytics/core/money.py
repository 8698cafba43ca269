"""Exact amounts of money: scale, parsing, formatting, and the sign convention.

An amount is a :class:`~decimal.Decimal` in units of the instance's one currency, or a whole number of minor units.
Frames carry it as the float64 nearest to that number of minor units (:func:`to_floats`), and every calculation starts
by converting it back exactly (:func:`read_floats`). No figure is calculated, kept or compared as a float.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.messages import quote, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt
    import pandas as pd

DEFAULT_SCALE = 2
MAX_SCALE = 10
PRECISION = 38
MAX_ROUNDING_NOISE = Decimal("1e-6")
"""Largest difference from an exact amount that is removed as rounding noise of floats. Differences above a hundredth of
the smallest unit also stay, so that no real digits are removed at scale 5 and above."""

_LEAST_NOISY_DIGITS = 10
"""A text with this many fraction digits may be a float as programs print it. Shorter texts state exact digits."""

MAX_UNITS = 10**15
"""Float64 carries amounts of fewer minor units than this without loss, at every scale: 9,999,999,999,999.99."""

MAX_NOISE_IN_UNITS = 1e-4
"""Largest distance of a float from whole minor units, unless neighbouring floats are further apart."""

MAX_INT64_SUM = 2**62
"""Sums of int64 wrap around silently in most engines. Sums of absolute values below this number cannot."""

EXACT = Context(prec=200, rounding=ROUND_HALF_EVEN)
"""Decimal arithmetic without rounding for every amount this package accepts."""

_Key = TypeVar("_Key")
_QUANTA = [Decimal(1).scaleb(-scale) for scale in range(MAX_SCALE + 1)]
"""Smallest unit of an amount, by scale."""


class ParsedAmount(NamedTuple):
    """An exact amount, and whether rounding noise of floats was removed from it."""

    amount: Decimal
    rounding_noise_removed: bool


class FloatAmounts(NamedTuple):
    """Floats as whole minor units, with one element for each float.

    Attributes
    ----------
    units : array of int64
        Minor units; 0 where there is no amount.
    absent : array of bool
        Where the float is NaN.
    noisy : array of bool
        Where the float differs by rounding noise from the one nearest to the amount.
    wrong : array of bool
        Where the float is not an amount of this scale: too large, infinite, or between two minor units.
    """

    units: npt.NDArray[np.int64]
    absent: npt.NDArray[np.bool_]
    noisy: npt.NDArray[np.bool_]
    wrong: npt.NDArray[np.bool_]


def arrow_type(scale: int = DEFAULT_SCALE) -> pa.Decimal128Type:
    """Return the Arrow type of an amount column: ``decimal128(38, scale)``."""
    return pa.decimal128(PRECISION, check_scale(scale))


def pandas_dtype(scale: int = DEFAULT_SCALE) -> pd.ArrowDtype:
    """Return the pandas dtype of an amount column."""
    import pandas as pd  # noqa: PLC0415 (slow to import, and amounts need it only in frames)

    return pd.ArrowDtype(arrow_type(scale))


def check_scale(scale: int) -> int:
    """Return `scale` if this package supports it (0 to 10)."""
    if isinstance(scale, bool) or not isinstance(scale, int) or not 0 <= scale <= MAX_SCALE:
        raise AmountError(f"scale must be a whole number from 0 to {MAX_SCALE}, not {scale!r}")
    return scale


def parse_amount(value: object, scale: int = DEFAULT_SCALE) -> ParsedAmount:
    """Parse an amount from a Decimal, an int or number text exactly.

    If ten or more fraction digits are stated, a difference of at most 1e-6 from an amount of the scale is removed as
    rounding noise. 0.01000001 has only eight digits, so they count as digits of its currency. A float is refused,
    because its digits are not exactly those of the amount. Minus zero becomes zero.
    """
    check_scale(scale)
    exact = _decimal(value)
    # the exponent is checked first: quantizing 1e999999 would create a million digits
    if exact and exact.adjusted() >= PRECISION - scale:
        raise AmountError(f"amount {_text(value)} has more than {PRECISION - scale} digits before the point")
    amount = EXACT.quantize(exact, _QUANTA[scale])
    is_noisy = exact != amount
    if is_noisy:
        digits = fraction_digits(EXACT.normalize(exact))  # a float has no trailing zeros
        max_noise = min(MAX_ROUNDING_NOISE, EXACT.divide(_QUANTA[scale], 100))
        if digits < _LEAST_NOISY_DIGITS or EXACT.abs(EXACT.subtract(exact, amount)) > max_noise:
            named = f"; if it is exact, state the digits of the currency: scale={digits}" if digits <= MAX_SCALE else ""
            raise AmountError(f"amount {_text(value)} does not fit {scale} fraction digits{named}")
    if amount.adjusted() >= PRECISION - scale:
        raise AmountError(f"amount {_text(value)} has more than {PRECISION - scale} digits before the point")
    return ParsedAmount(amount or abs(amount), is_noisy)


def exact_amount(value: float | Decimal, scale: int = DEFAULT_SCALE) -> Decimal:
    """Convert a number to an exact amount, without float rounding noise."""
    if not isinstance(value, float):
        return parse_amount(value, scale).amount
    read = read_floats(np.array([value]), scale)
    if read.wrong.any() or read.absent.any():
        raise AmountError(f"{value!r} is not a whole number of minor units at scale {scale}, or too large for float64")
    return from_minor_units(int(read.units[0]), scale)


def to_minor_units(amount: Decimal, scale: int = DEFAULT_SCALE) -> int:
    """Convert an exact amount to minor units, such as cents. Refuse fractions."""
    scaled = EXACT.scaleb(amount, check_scale(scale))
    if scaled.is_finite() and (units := int(scaled)) == scaled:
        return units
    raise AmountError(f"amount {_text(amount)} does not fit {scale} fraction digits")


def from_minor_units(units: int, scale: int = DEFAULT_SCALE) -> Decimal:
    """Convert minor units to an exact amount."""
    with localcontext(EXACT):
        return Decimal(units).scaleb(-check_scale(scale))


def rounded_quotient(units: int, count: int) -> int:
    """Divide whole units by a positive count, rounded half to even."""
    quotient, rest = divmod(units, count)
    return quotient + (2 * rest > count or (2 * rest == count and quotient % 2 == 1))


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """Sum amounts without rounding. Without amounts, return zero."""
    with localcontext(EXACT):
        return sum(amounts, Decimal(0))


def sum_by_key(amounts: Iterable[tuple[_Key, Decimal]]) -> defaultdict[_Key, Decimal]:
    """Sum the amounts of each key exactly. Keys without amounts are zero."""
    sums: defaultdict[_Key, Decimal] = defaultdict(Decimal)
    with localcontext(EXACT):
        for key, amount in amounts:
            sums[key] += amount
    return sums


def read_floats(values: npt.NDArray[np.float64], scale: int = DEFAULT_SCALE) -> FloatAmounts:
    """Convert floats to minor units, and remove and mark rounding noise.

    A float counts as an amount if it differs from whole units by at most 1/10,000 of a unit, or by no more than the
    distance to the next float.
    """
    factor = 10.0**scale
    absent = np.isnan(values)
    with np.errstate(invalid="ignore", over="ignore"):
        units = np.rint(values * factor)
        distance = np.abs(values - units / factor)
        tolerance = np.maximum(MAX_NOISE_IN_UNITS / factor, np.spacing(np.abs(values)))
        fits = (np.abs(units) < MAX_UNITS) & (distance <= tolerance)
    return FloatAmounts(
        units=np.where(fits, units, 0).astype(np.int64),
        absent=absent,
        noisy=fits & (distance > 0),
        wrong=~fits & ~absent,
    )


def are_whole_units(values: npt.NDArray[np.float64], scale: int) -> bool:
    """Return whether all floats are NaN or nearest to whole minor units."""
    absent = np.isnan(values)
    small = np.abs(values) < MAX_UNITS / 10.0**scale
    return bool((absent | (small & (np.round(values, scale) == values))).all())


def units_to_floats(units: npt.NDArray[np.int64], scale: int) -> npt.NDArray[np.float64]:
    """Convert minor units to the nearest floats. Only this division always gives the nearest float."""
    return units / 10.0**scale


def to_floats(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Convert Arrow decimals to the nearest floats. Null becomes NaN."""
    scale = column.type.scale
    least_refused = pa.scalar(from_minor_units(MAX_UNITS, scale), arrow_type(scale))
    too_large = pc.greater_equal(pc.abs(column), least_refused)
    if pc.any(too_large).as_py():
        raise AmountError(_too_large(column[pc.index(too_large, True).as_py()].as_py()))
    floats = units_to_floats(np.asarray(pc.fill_null(to_units(column), 0)), scale)
    if column.null_count:
        floats[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return floats


def to_units(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Convert Arrow decimals to int64 minor units. Arrow refuses more than 18 digits."""
    scale = column.type.scale
    factor = pa.scalar(Decimal(10**scale), pa.decimal128(scale + 1, 0))
    return pc.multiply(column.cast(pa.decimal128(18, scale)), factor).cast(pa.int64())


def to_float(amount: Decimal | None, scale: int = DEFAULT_SCALE) -> float:
    """Convert an exact amount to the nearest float. None becomes NaN."""
    if amount is None:
        return float("nan")
    if not fits_float(amount, scale):
        raise AmountError(_too_large(amount))
    return float(amount or 0)


def fits_float(amount: Decimal, scale: int = DEFAULT_SCALE) -> bool:
    """Return whether float64 holds an exact amount without loss."""
    return abs(to_minor_units(amount, scale)) < MAX_UNITS


def to_decimals(units: npt.NDArray[np.int64], scale: int, *, absent: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Convert whole minor units to Arrow decimals, and to null where `absent` is true."""
    whole = pa.array(units, mask=absent).cast(pa.decimal128(19, 0))
    smallest = pa.scalar(_QUANTA[scale], pa.decimal128(max(scale, 1), scale))
    return pc.multiply(whole, smallest).cast(arrow_type(scale))


def fraction_digits(amount: Decimal) -> int:
    """Count the digits after the decimal mark, including trailing zeros."""
    return max(-int(amount.as_tuple().exponent), 0)


def signed_amount(amount: Decimal, debit_credit: str) -> Decimal:
    """Return ``+amount`` on the debit side, ``-amount`` on the credit side."""
    if debit_credit == "debit":
        return amount
    if debit_credit == "credit":
        return amount.copy_negate() if amount else amount  # unary minus would round to the context's 28 digits
    raise AmountError(f"debit_credit must be 'debit' or 'credit', not {debit_credit!r}")


def format_amount(amount: Decimal) -> str:
    """Format an amount with thousands separators: ``-1,234.50``."""
    return f"{amount:,f}"


def _too_large(amount: Any) -> str:  # noqa: ANN401 (a Decimal of Arrow)
    return (
        f"amount {amount:,f} is too large for a pandas frame, whose float64 is exact below {MAX_UNITS:,} minor units; "
        "local books on an engine and Parquet files take it; text, JSON, HTML and .exact() of a result show it"
    )


def _decimal(value: object) -> Decimal:
    if isinstance(value, bool | float) or not isinstance(value, Decimal | int | str):
        raise AmountError(f"an amount is exact number text, an int or a Decimal, not {_text(value)}")
    if isinstance(value, str) and not _is_number_text(value):
        raise AmountError(f"{_text(value)} is not an amount; write it like 1234.50")
    try:
        exact = Decimal(value)
    except InvalidOperation as error:
        raise AmountError(f"{_text(value)} is not an amount; write it like 1234.50") from error
    if not exact.is_finite():
        raise AmountError(f"{_text(value)} is not a finite amount")
    return exact


_NUMBER_CHARACTERS = frozenset("0123456789+-.eE")


def _is_number_text(text: str) -> bool:
    """Return whether a text has only ASCII number characters. Decimal would also read ``1_0`` and other scripts."""
    return bool(text) and _NUMBER_CHARACTERS.issuperset(text)


def _text(value: object) -> str:
    """Format a value for a message: Decimals as digits, other values quoted."""
    return shorten(str(value)) if isinstance(value, Decimal) else quote(value)
