"""Check that a ledger did not change during a load: its newest days are read a second time and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from accounting_analytics.errors import ChangedWhileReadingError
from accounting_analytics.loader.line_tables import lines_within, sort_lines
from accounting_analytics.loader.windows import Window
from accounting_analytics.messages import join_ids
from accounting_analytics.periods import LOCALTIME, Period, local_date, zone

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.loader.window_reader import WindowReader
    from accounting_analytics.loader.window_store import FinishedWindow


class ChangeCheck(NamedTuple):
    """Result of a check: no error, or an error and the windows that are stale."""

    error: ChangedWhileReadingError | None
    stale: tuple[FinishedWindow, ...]


def check_changes(reader: WindowReader, windows: tuple[FinishedWindow, ...]) -> ChangeCheck:
    """Read a ledger again from the day of its newest line to the end of the period, and compare.

    Books grow at their end: a line that was added, removed or changed during the load is most likely there. Changes
    further back are found by the completeness check, where an entry lacks a line or does not balance.
    """
    with_lines = [one for one in windows if one.newest is not None]
    if not with_lines:
        return ChangeCheck(None, ())
    newest = max(with_lines, key=lambda one: one.window.period)
    period = reader.query.period
    days = Period(_newest_day(newest), period.end_date, period.time_zone)
    before = sort_lines(
        pa.concat_tables(
            lines_within(one.read_table(), days) for one in windows if one.window.period.end_date >= days.start_date
        )
    )
    after = reader.read_whole(Window(newest.window.ledger_id, days)).table
    if before.equals(after):
        return ChangeCheck(None, ())
    ids = _changed_ids(before, after)
    msg = (
        f"ledger {newest.window.ledger_id} changed during the load: {len(ids)} line(s) of {days} were added, removed "
        f"or changed: {join_ids(ids)}; load again, or end the period before the days that are still being posted to"
    )
    return ChangeCheck(ChangedWhileReadingError(msg), windows)


def _newest_day(newest: FinishedWindow) -> dt.date:
    """Day of the newest line; the first day of its window where the zone is only known to the service."""
    period = newest.window.period
    if period.time_zone == LOCALTIME or newest.newest is None:
        return period.start_date
    return local_date(newest.newest, zone(period.time_zone))


def _changed_ids(before: pa.Table, after: pa.Table) -> list[str]:
    """Ids of lines that only one table has, or that differ."""
    lines_before = {row["id"]: row for row in before.to_pylist()}
    lines_after = {row["id"]: row for row in after.to_pylist()}
    ids = lines_before.keys() | lines_after.keys()
    return sorted(line_id for line_id in ids if lines_before.get(line_id) != lines_after.get(line_id))
