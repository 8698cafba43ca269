"""Arrow tables of line entries: columns, order, repeated lines, days, and frames.

The columns follow :class:`~accounting_analytics.schemas.LineEntries`, which states the field of each column. Both page
decoders, the schema of windows on disk and the frames use them.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core import column_conversion
from accounting_analytics.core.column_conversion import are_distinct, local_midnights, signed
from accounting_analytics.core.errors import AmountError, ProtocolError
from accounting_analytics.core.money import DEFAULT_SCALE, arrow_type, to_floats
from accounting_analytics.core.periods import Period, local_date, zone
from accounting_analytics.core.schemas import LineEntries

if TYPE_CHECKING:
    import datetime as dt

    import numpy.typing as npt
    from pandas.api.extensions import ExtensionDtype

TEXT = pa.string()
INSTANT = pa.timestamp("us", "UTC")
LOCAL_DATE = pa.timestamp("us")
AMOUNT = arrow_type(DEFAULT_SCALE)
"""Placeholder type of amounts: line_schema() sets the scale of the load."""

_ARROW_TYPES = {
    column_conversion.TEXT: TEXT,
    column_conversion.INSTANT: INSTANT,
    column_conversion.BOOLEAN: pa.bool_(),
    np.dtype(np.float64): AMOUNT,
}
_DTYPES = {TEXT: column_conversion.TEXT, INSTANT: column_conversion.INSTANT, pa.bool_(): column_conversion.BOOLEAN}


class LineColumn(NamedTuple):
    """A column of line entries.

    `path` is the field in a response: ``amount``, ``transaction.amount``, or ``tags.id`` for the id of each tag. It is
    empty for a calculated column. The type :data:`AMOUNT` takes the scale of the load, and a list in a response becomes
    text. The service sends the field only if `expand` names the `expansion`.
    """

    name: str
    type: pa.DataType
    path: str
    expansion: str | None = None


@cache
def columns() -> tuple[LineColumn, ...]:
    """Return all columns but the local date, which is added last."""
    dtypes = LineEntries.dtypes()
    sources = {name: column.metadata or {} for name, column in LineEntries.to_schema().columns.items()}
    return tuple(
        LineColumn(name, _ARROW_TYPES[dtypes[name]], source.get("path", name), source.get("expand"))
        for name, source in sources.items()
        if name != "local_date"
    )


def requested_columns(expand: frozenset[str]) -> list[LineColumn]:
    """Return the columns of a load with these expansions."""
    return [column for column in columns() if column.expansion is None or column.expansion in expand]


def line_schema(expand: frozenset[str], scale: int) -> pa.Schema:
    """Return the Arrow schema of line entries with these expansions."""
    amount = arrow_type(scale)
    return pa.schema(
        {column.name: amount if column.type == AMOUNT else column.type for column in requested_columns(expand)}
    )


def require_in_period(table: pa.Table, period: Period, where: str) -> None:
    """Refuse lines outside the period."""
    if not table.num_rows:
        return
    inside = are_within(table, period)
    if not pc.all(inside).as_py():
        row = pc.index(inside, False).as_py()
        day = local_date(table["datetime"][row].as_py(), zone(period.time_zone))
        raise ProtocolError(f"{where}: line {table['id'][row]} of {day} ({table['datetime'][row]}) is outside {period}")


def lines_within(table: pa.Table, period: Period) -> pa.Table:
    """Return the lines whose local date is in the period."""
    inside = are_within(table, period)
    return table if pc.all(inside).as_py() else table.filter(inside)  # no filter if not needed: it copies all columns


def with_local_dates(table: pa.Table, time_zone: str) -> pa.Table:
    """Add the local date of each line in a column after its instant."""
    dates = pa.array(local_midnights(table["datetime"].to_pandas(), time_zone), LOCAL_DATE)
    return table.add_column(table.column_names.index("datetime") + 1, "local_date", dates)


def remove_repeats(table: pa.Table) -> tuple[pa.Table, int]:
    """Remove and count repeated lines, in any order. Refuse lines with one id and different content."""
    if are_distinct(table["id"]):
        return table, 0
    lines = table.group_by(table.column_names, use_threads=False).aggregate([])
    ids = lines["id"].to_pandas()
    if not ids.is_unique:
        row = int(ids.duplicated().to_numpy().argmax())
        raise ProtocolError(
            f"list line entries (ledger {lines['ledger_id'][row]}): line {ids[row]} was sent twice with different "
            "content: the books changed during the load: load again"
        )
    return lines, table.num_rows - lines.num_rows


def sort_lines(table: pa.Table) -> pa.Table:
    """Sort lines by (datetime, id). Lines that are already sorted, as most are, are not copied."""
    if table.num_rows < 2 or _is_sorted(table["datetime"], table["id"]):  # noqa: PLR2004 (one line is sorted)
        return table
    return table.sort_by([("datetime", "ascending"), ("id", "ascending")])


def _is_sorted(instants: pa.ChunkedArray, ids: pa.ChunkedArray) -> bool:
    later = pc.greater(instants[1:], instants[:-1])
    if pc.all(later).as_py():
        return True
    simultaneous = pc.and_(pc.equal(instants[1:], instants[:-1]), pc.greater_equal(ids[1:], ids[:-1]))
    return bool(pc.all(pc.or_(later, simultaneous)).as_py())


def are_within(table: pa.Table, period: Period) -> pa.ChunkedArray:
    """Mark the lines in the period."""
    intervals = (_is_between(table["datetime"], start, end) for start, end in period.instants())
    return reduce(pc.or_, intervals, pc.is_null(table["datetime"]))  # no line has a null instant


def _is_between(instants: pa.ChunkedArray, start: dt.datetime, end: dt.datetime | None) -> pa.ChunkedArray:
    started = pc.greater_equal(instants, pa.scalar(start, INSTANT))
    return started if end is None else pc.and_(started, pc.less(instants, pa.scalar(end, INSTANT)))


def to_exact_frame(table: pa.Table, scale: int, time_zone: str) -> pd.DataFrame:
    """Convert lines to a validated frame of Arrow decimals, with local dates."""
    frame = with_local_dates(table, time_zone).to_pandas(types_mapper=_dtype)
    frame.attrs["scale"] = scale
    return LineEntries.require_valid(frame)


def to_line_frame(table: pa.Table, scale: int, time_zone: str) -> pd.DataFrame:
    """Convert exact lines to a validated frame, with local dates."""
    table = with_local_dates(table, time_zone)
    amounts = [field.name for field in table.schema if pa.types.is_decimal(field.type)]
    columns = {name: _floats(table, name) for name in amounts if name != "signed_amount"}
    frame = table.drop_columns(amounts).to_pandas(types_mapper=_dtype)
    for name, values in columns.items():
        frame[name] = values
    if amounts:
        frame["signed_amount"] = signed(frame["amount"], frame["debit_credit"])
    frame = frame[table.column_names]
    frame.attrs["scale"] = scale
    return LineEntries.require_valid(frame)


def _floats(table: pa.Table, name: str) -> npt.NDArray[np.float64]:
    try:
        return to_floats(table[name])
    except AmountError as error:
        largest = pc.index(pc.abs(table[name]), pc.max(pc.abs(table[name]))).as_py()
        raise AmountError(
            f"line entry {table['id'][largest]} of ledger {table['ledger_id'][largest]}: {name}: {error}"
        ) from None


def _dtype(kind: pa.DataType) -> ExtensionDtype | None:
    """Return the dtype of a column. Decimals keep their Arrow type."""
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else _DTYPES.get(kind)
