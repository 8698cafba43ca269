"""Arrow tables of line entries: order, repeated lines, and the days that lines lie on."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.errors import ProtocolError
from accounting_analytics.loader.line_entry_schema import INSTANT, LOCAL_DATE
from accounting_analytics.periods import LOCALTIME, Period, local_date, zone

if TYPE_CHECKING:
    import datetime as dt


def require_in_period(table: pa.Table, period: Period, where: str) -> None:
    """Refuse lines outside the period; in the zone `localtime`, which only the service knows, nothing is checked."""
    if period.time_zone == LOCALTIME or not table.num_rows:
        return
    first, last = pc.min_max(table["datetime"]).as_py().values()
    if any(start <= first and (end is None or last < end) for start, end in period.instants()):
        return
    inside = _is_inside(table, period)
    if not pc.all(inside).as_py():
        row = pc.index(inside, False).as_py()
        day = local_date(table["datetime"][row].as_py(), zone(period.time_zone))
        msg = f"{where}: line {table['id'][row]} of {day} ({table['datetime'][row]}) is outside {period}"
        raise ProtocolError(msg)


def lines_within(table: pa.Table, period: Period) -> pa.Table:
    """Lines whose local date lies in the period; all lines in the zone `localtime`."""
    return table if period.time_zone == LOCALTIME else table.filter(_is_inside(table, period))


def with_local_dates(table: pa.Table, time_zone: str) -> pa.Table:
    """Table with the local date of each line beside its instant; null in the service's own time zone."""
    if time_zone == LOCALTIME:
        dates = pa.nulls(table.num_rows, LOCAL_DATE)
    else:
        local = table["datetime"].to_pandas().dt.tz_convert(time_zone).dt.tz_localize(None)
        dates = pa.array(local.dt.normalize(), LOCAL_DATE)
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
            msg = (
                f"list line entries (ledger {table['ledger_id'][row]}): line {line_id} was sent twice with different "
                "content: the books changed during the load: load again"
            )
            raise ProtocolError(msg)
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


def _is_inside(table: pa.Table, period: Period) -> pa.ChunkedArray:
    intervals = (_is_between(table["datetime"], start, end) for start, end in period.instants())
    return reduce(pc.or_, intervals, pc.is_null(table["datetime"]))  # an instant is never null


def _is_between(instants: pa.ChunkedArray, start: dt.datetime, end: dt.datetime | None) -> pa.ChunkedArray:
    started = pc.greater_equal(instants, pa.scalar(start, INSTANT))
    return started if end is None else pc.and_(started, pc.less(instants, pa.scalar(end, INSTANT)))
