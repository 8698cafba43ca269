"""JSON of whole columns at once, for the answers that show thousands of lines.

Each function gives what its counterpart in :mod:`~accounting_analytics.service.wire.rendering` gives by value, many
times as fast.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.service.wire.rendering import quoted
from accounting_analytics.service.wire.units import BASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Numbers: TypeAlias = Sequence[int] | pa.Array
    Texts: TypeAlias = Sequence[str | None] | pa.Array

_QUOTE, _BACKSLASH, _FIRST_UNESCAPED = 0x22, 0x5C, 0x20
_INTEGER = pa.decimal128(19, 0)  # any of 64 bits
_ZERO = pa.scalar(0, pa.decimal128(1, 0))
_DAY_END, _SECONDS_END = len("2025-01-31"), len("2025-01-31 23:59:59")


def units(highs: Numbers, lows: Numbers) -> pa.Array:
    """Signed units of stored parts, as whole decimals."""
    high, low = (pa.array(parts, pa.int64()).cast(_INTEGER) for parts in (highs, lows))
    return pc.add(pc.multiply(high, pa.scalar(BASE, pa.decimal128(11, 0))), low)


def numbers(amounts: pa.Array, scale: int) -> pa.Array:
    """Exact JSON numbers of units, without exponent."""
    digits = pc.ascii_lpad(pc.abs(amounts).cast(pa.string()), scale + 1, "0")
    if scale:
        digits = pc.binary_replace_slice(digits, start=-scale, stop=-scale, replacement=".")
    return joined(pc.if_else(pc.less(amounts, _ZERO), "-", ""), digits)


def timestamps(moments: Numbers) -> pa.Array:
    """ISO 8601 texts, in UTC, of stored microseconds; with a fraction only where there is one."""
    exact = pa.array(moments, pa.timestamp("us"))
    shown = pc.binary_replace_slice(exact.cast(pa.string()), start=_DAY_END, stop=_DAY_END + 1, replacement="T")
    seconds = pc.binary_slice(shown.cast(pa.binary()), 0, _SECONDS_END).cast(pa.string())
    whole = pc.equal(exact, exact.cast(pa.timestamp("s"), safe=False))
    return joined(pc.if_else(whole, seconds, shown), "Z")


def texts(values: Texts) -> pa.Array:
    """Texts as they stand between the quotes of JSON strings; null stays null."""
    column = pa.array(values, pa.string())
    signs = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    if ((signs < _FIRST_UNESCAPED) | (signs == _QUOTE) | (signs == _BACKSLASH)).any():
        return pa.array([None if text is None else quoted(text)[1:-1] for text in column.to_pylist()], pa.string())
    return column


def joined(*parts: pa.Array | str) -> pa.Array:
    """Texts put together row by row; null where a part is null."""
    return pc.binary_join_element_wise(*parts, "")


def elements(rows: pa.Array, counts: Sequence[int]) -> Iterator[pa.Buffer]:
    """Rows one after the other, as many at a time as each count says, without the comma that each row ends with.

    They stand in memory like this already: nothing is copied.
    """
    _, offsets, values = rows.buffers()
    places = np.frombuffer(offsets, np.int32)[rows.offset + np.cumsum([0, *counts])].tolist()
    for start, end in pairwise(places):
        yield values.slice(start, end - start - len(","))
