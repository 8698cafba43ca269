"""Arrow tables of line entries: their columns, order, repeated lines, and the days that lines lie on.

The columns follow :class:`~accounting_analytics.schemas.LineEntries`, which says for each column which field it is.
Both page decoders, the schema of windows on disk and the frames use them.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics import column_conversion
from accounting_analytics.column_conversion import local_midnights
from accounting_analytics.errors import ProtocolError
from accounting_analytics.money import DEFAULT_SCALE, arrow_type
from accounting_analytics.periods import LOCALTIME, Period, local_date, zone
from accounting_analytics.schemas import LineEntries

if TYPE_CHECKING:
    import datetime as dt

TEXT = pa.string()
INSTANT = pa.timestamp("us", "UTC")
LOCAL_DATE = pa.timestamp("us")
AMOUNT = arrow_type(DEFAULT_SCALE)
"""Placeholder for amounts; line_schema() sets the scale of the load."""

_ARROW_TYPES = {
    column_conversion.TEXT: TEXT,
    column_conversion.INSTANT: INSTANT,
    column_conversion.BOOLEAN: pa.bool_(),
    np.dtype(np.float64): AMOUNT,
}


class LineColumn(NamedTuple):
    """A column of line entries.

    `path` is its field on the wire: ``amount``, ``transaction.amount``, or ``tags.id`` for the id of each tag; empty
    where it is calculated. :data:`AMOUNT` as `type` takes the scale of the load, and a list on the wire becomes text.
    `expansion` is what `expand` must name for the field to be sent.
    """

    name: str
    type: pa.DataType
    path: str
    expansion: str | None = None


@cache
def columns() -> tuple[LineColumn, ...]:
    """All columns but the local date, which is added last."""
    dtypes = LineEntries.dtypes()
    sources = {name: column.metadata or {} for name, column in LineEntries.to_schema().columns.items()}
    return tuple(
        LineColumn(name, _ARROW_TYPES[dtypes[name]], source.get("path", name), source.get("expand"))
        for name, source in sources.items()
        if name != "local_date"
    )


def requested_columns(expand: frozenset[str]) -> list[LineColumn]:
    """Columns that a load with these expansions has."""
    return [column for column in columns() if column.expansion is None or column.expansion in expand]


def line_schema(expand: frozenset[str], scale: int) -> pa.Schema:
    """Arrow schema of line entries that were requested with these expansions."""
    amount = arrow_type(scale)
    return pa.schema(
        {column.name: amount if column.type == AMOUNT else column.type for column in requested_columns(expand)}
    )


def require_in_period(table: pa.Table, period: Period, where: str) -> None:
    """Refuse lines outside the period; in the zone `localtime`, which only the service knows, nothing is checked."""
    if period.time_zone == LOCALTIME or not table.num_rows:
        return
    first, last = pc.min_max(table["datetime"]).as_py().values()
    if any(start <= first and (end is None or last < end) for start, end in period.instants()):
        return
    inside = are_within(table, period)
    if not pc.all(inside).as_py():
        row = pc.index(inside, False).as_py()
        day = local_date(table["datetime"][row].as_py(), zone(period.time_zone))
        raise ProtocolError(f"{where}: line {table['id'][row]} of {day} ({table['datetime'][row]}) is outside {period}")


def lines_within(table: pa.Table, period: Period) -> pa.Table:
    """Lines whose local date lies in the period; all lines in the zone `localtime`."""
    if period.time_zone == LOCALTIME:
        return table
    inside = are_within(table, period)
    return table if pc.all(inside).as_py() else table.filter(inside)  # a filter copies all columns


def with_local_dates(table: pa.Table, time_zone: str) -> pa.Table:
    """Table with the local date of each line beside its instant; null in the service's own time zone."""
    if time_zone == LOCALTIME:
        dates = pa.nulls(table.num_rows, LOCAL_DATE)
    else:
        dates = pa.array(local_midnights(table["datetime"].to_pandas(), time_zone), LOCAL_DATE)
    return table.add_column(table.column_names.index("datetime") + 1, "local_date", dates)


def remove_repeats(table: pa.Table) -> tuple[pa.Table, int]:
    """Table with each line once, and how many repeats were removed; an id with two different contents is refused."""
    if len(table["id"].unique()) == table.num_rows:
        return table, 0
    positions = table.select(["id"]).append_column("row", pa.array(range(table.num_rows)))
    firsts = positions.group_by("id", use_threads=False).aggregate([("row", "min")])
    first_rows = dict(zip(firsts["id"].to_pylist(), firsts["row_min"].to_pylist(), strict=True))
    for row, line_id in enumerate(table["id"].to_pylist()):
        first = first_rows[line_id]
        if row != first and table.slice(row, 1).to_pylist() != table.slice(first, 1).to_pylist():
            raise ProtocolError(
                f"list line entries (ledger {table['ledger_id'][row]}): line {line_id} was sent twice with different "
                "content: the books changed during the load: load again"
            )
    unique = table.take(pa.array(sorted(first_rows.values())))
    return unique, table.num_rows - unique.num_rows


def sort_lines(table: pa.Table) -> pa.Table:
    """Lines by (datetime, id); not copied if they are sorted already, as most pages are."""
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
    """Whether each line lies in the period."""
    intervals = (_is_between(table["datetime"], start, end) for start, end in period.instants())
    return reduce(pc.or_, intervals, pc.is_null(table["datetime"]))  # an instant is never null


def _is_between(instants: pa.ChunkedArray, start: dt.datetime, end: dt.datetime | None) -> pa.ChunkedArray:
    started = pc.greater_equal(instants, pa.scalar(start, INSTANT))
    return started if end is None else pc.and_(started, pc.less(instants, pa.scalar(end, INSTANT)))
