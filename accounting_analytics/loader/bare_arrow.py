"""Arrow values made, and instants read, without pandas, which Arrow imports when it first does either by itself."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def text_array(texts: Sequence[str]) -> pa.StringArray:
    """Array of a few texts."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(encoded), [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(encoded))]
    )


def instant(moment: dt.datetime) -> pa.TimestampScalar:
    """Scalar of an aware instant, in microseconds."""
    return instant_at((moment - _EPOCH) // _MICROSECOND)


def instant_at(microseconds: int) -> pa.TimestampScalar:
    """Scalar of an instant so long after the beginning of 1970."""
    content = pa.py_buffer(np.int64(microseconds).tobytes())
    return pa.Array.from_buffers(pa.timestamp("us", "UTC"), 1, [None, content])[0]


def moment(instant: pa.TimestampScalar) -> dt.datetime:
    """Instant of a scalar in microseconds."""
    return _EPOCH + dt.timedelta(microseconds=instant.value)


def extent(instants: pa.TimestampArray | pa.ChunkedArray) -> tuple[dt.datetime, dt.datetime] | None:
    """First and last of instants in microseconds; None where there are none.

    Raises
    ------
    OverflowError
        One lies outside the calendar (years 1 to 9999 in UTC).
    """
    first, last = pc.min_max(instants).values()
    return (moment(first), moment(last)) if first.is_valid else None
