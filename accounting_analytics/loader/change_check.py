"""Check that nothing changed during a load: lines are read a second time and compared.

The default reads the newest days of each ledger again. A load of one moment reads every window again, after all of them
were read once: a window that is the same both times had these lines at the moment between the two readings, and that
moment is the same for all windows. So lines of any day that were added, moved or changed meanwhile are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from accounting_analytics.errors import ChangedWhileReadingError
from accounting_analytics.loader.line_tables import lines_within, sort_lines
from accounting_analytics.loader.windows import Window
from accounting_analytics.loader.worker_pool import WorkerPool
from accounting_analytics.messages import join_ids
from accounting_analytics.periods import LOCALTIME, Period, local_date, zone

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from accounting_analytics.loader.window_reader import WindowLines, WindowReader
    from accounting_analytics.loader.window_store import FinishedWindow
    from accounting_analytics.progress import LoadProgress


class ChangedWindow(NamedTuple):
    """A window that changed since it was read: its lines as they were read before, and as they are now."""

    before: FinishedWindow
    after: WindowLines

    @property
    def line_ids(self) -> list[str]:
        """Lines that were added, removed or changed."""
        return _changed_ids(self.before.read_table(), self.after.table)


def find_changed_windows(
    reader: WindowReader, windows: Sequence[FinishedWindow], progress: LoadProgress
) -> list[ChangedWindow]:
    """Read windows again, and return those whose lines are not the same.

    Every window must have been read to its end before, or the lines need not be those of one moment.
    """

    def compare(one: FinishedWindow) -> ChangedWindow | None:
        lines = reader.read_whole(one.window)
        progress.update(one.lines, one.lines)
        return None if lines.table.equals(one.read_table()) else ChangedWindow(one, lines)

    progress.expect(sum(one.lines for one in windows))
    pool: WorkerPool[FinishedWindow, ChangedWindow | None] = WorkerPool(
        compare, size=lambda one: one.pages, threads=reader.request.in_flight, stop=reader.stop
    )
    return [changed for changed in pool.results(windows) if changed is not None]


def changed_again_error(changed: Sequence[ChangedWindow], checks: int) -> ChangedWhileReadingError:
    """Error of a load whose windows changed between any two of its readings."""
    ids = sorted({line_id for one in changed for line_id in one.line_ids})
    ledger_ids = {one.before.window.ledger_id for one in changed}
    days = [one.before.window.period for one in changed]
    first, last = min(one.start_date for one in days), max(one.end_date for one in days)
    return ChangedWhileReadingError(
        f"{len(ledger_ids)} ledger(s) ({join_ids(ledger_ids)}) changed during the load, and again in each of {checks} "
        f"checks; in the last one {len(ids)} line(s) of {first} to {last} were added, removed or changed: "
        f"{join_ids(ids)}; load again when nothing is posted, or end the period before the days that are still being "
        "posted to"
    )


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
    period = reader.request.period
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
