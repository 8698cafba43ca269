"""The columns of line entries on their way from a page to a frame: name, Arrow type, field on the wire.

They follow :class:`~accounting_analytics.schemas.LineEntries`, which says for each column which field it is. Both page
decoders, the schema of windows on disk and the frames use them.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from accounting_analytics import frame_columns
from accounting_analytics.money import DEFAULT_SCALE, arrow_type
from accounting_analytics.schemas import LineEntries

TEXT = pa.string()
INSTANT = pa.timestamp("us", "UTC")
LOCAL_DATE = pa.timestamp("us")
AMOUNT = arrow_type(DEFAULT_SCALE)
"""Placeholder for amounts; line_schema() sets the scale of the load."""

_ARROW_TYPES = {
    frame_columns.TEXT: TEXT,
    frame_columns.INSTANT: INSTANT,
    frame_columns.BOOLEAN: pa.bool_(),
    np.dtype(np.float64): AMOUNT,
}


class Column(NamedTuple):
    """A column of line entries.

    Attributes
    ----------
    name : str
        Its name in tables and frames.
    type : pyarrow.DataType
        Its type; :data:`AMOUNT` takes the scale of the load. A list on the wire becomes text.
    path : str
        The field of a line on the wire: ``amount``, ``transaction.amount``, or ``tags.id`` for the id of each tag.
        Empty where the column is calculated.
    expansion : str, optional
        What `expand` must name for the field to be sent.
    """

    name: str
    type: pa.DataType
    path: str
    expansion: str | None = None


@cache
def columns() -> tuple[Column, ...]:
    """All columns but the local date, which is added last."""
    dtypes = LineEntries.dtypes()
    sources = {name: column.metadata or {} for name, column in LineEntries.to_schema().columns.items()}
    return tuple(
        Column(name, _ARROW_TYPES[dtypes[name]], source.get("path", name), source.get("expand"))
        for name, source in sources.items()
        if name != "local_date"
    )


def requested_columns(expand: frozenset[str]) -> list[Column]:
    """Columns that a load with these expansions has."""
    return [column for column in columns() if column.expansion is None or column.expansion in expand]


def line_schema(expand: frozenset[str], scale: int) -> pa.Schema:
    """Arrow schema of line entries that were requested with these expansions."""
    amount = arrow_type(scale)
    return pa.schema(
        {column.name: amount if column.type == AMOUNT else column.type for column in requested_columns(expand)}
    )
