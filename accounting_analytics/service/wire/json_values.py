"""JSON: the encoder of every response, exact numbers for amounts, and whole columns of a report's lines.

:func:`objects` writes rows as a struct of :mod:`~accounting_analytics.service.wire.response_models` would be encoded;
its fields come from the struct, so there is no second description of a row.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.service.wire.response_models import Number
from accounting_analytics.service.wire.stored_values import BASE, number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Numbers: TypeAlias = Sequence[int] | pa.Array
    Texts: TypeAlias = Sequence[str] | pa.Array

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
    return concatenate(pc.if_else(pc.less(amounts, _ZERO), "-", ""), digits)


def timestamps(instants: Numbers) -> pa.Array:
    """ISO 8601 texts, in UTC, of stored microseconds; with a fraction only if it is not zero."""
    exact = pa.array(instants, pa.timestamp("us"))
    text = pc.binary_replace_slice(exact.cast(pa.string()), start=_DAY_END, stop=_DAY_END + 1, replacement="T")
    seconds = pc.binary_slice(text.cast(pa.binary()), 0, _SECONDS_END).cast(pa.string())
    is_whole = pc.equal(exact, exact.cast(pa.timestamp("s"), safe=False))
    return concatenate(pc.if_else(is_whole, seconds, text), "Z")


def texts(values: Texts) -> pa.Array:
    """Texts escaped as JSON strings, without their quotes."""
    column = pa.array(values, pa.string())
    characters = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    if ((characters < _FIRST_UNESCAPED) | (characters == _QUOTE) | (characters == _BACKSLASH)).any():
        return pa.array([encode(text)[1:-1].decode() for text in column.to_pylist()], pa.string())
    return column


def objects(model: type[msgspec.Struct], columns: Mapping[str, pa.Array]) -> pa.Array:
    """JSON objects of a struct, each followed by a comma.

    Parameters
    ----------
    model : type of Struct
        Names the fields, in order.
    columns : mapping of str to Array
        Values of every field: those of :func:`numbers` for amounts, else text to be quoted.

    Raises
    ------
    ValueError
        The columns are not the fields of the struct.
    """
    fields = msgspec.structs.fields(model)
    if columns.keys() != {field.name for field in fields}:
        msg = f"the columns {', '.join(columns)} are not the fields of {model.__name__}"
        raise ValueError(msg)
    # Everything between two values of a row is the same in every row: the closing quote of one value, a comma, the
    # next name and its opening quote. So a row is its columns joined by these constants, '{"a":"' 1 '","b":' 2 '},',
    # and Arrow joins all rows in one call.
    parts, between = [], "{"
    for field in fields:
        quote = "" if field.type == Number else '"'
        parts += [f'{between}"{field.name}":{quote}', columns[field.name]]
        between = f"{quote},"
    return concatenate(*parts, f"{between.removesuffix(',')}}},")


def concatenate(*parts: pa.Array | str) -> pa.Array:
    """Texts concatenated row by row."""
    return pc.binary_join_element_wise(*parts, "")


def slices(rows: pa.Array, counts: Sequence[int]) -> Iterator[pa.Buffer]:
    """Consecutive rows, as many to a slice as each count says, without the comma at the end of each slice.

    The rows are adjacent in memory: nothing is copied.
    """
    _, offsets, values = rows.buffers()
    bounds = np.frombuffer(offsets, np.int32)[rows.offset + np.cumsum([0, *counts])].tolist()
    for start, end in pairwise(bounds):
        yield values.slice(start, end - start - len(","))


encode = msgspec.json.Encoder().encode
"""JSON of a struct or a plain value."""


def number(units: int, scale: int) -> msgspec.Raw:
    """Exact JSON number of minor units."""
    return msgspec.Raw(number_text(units, scale))
