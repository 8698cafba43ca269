"""Did a ledger change while it was read? Its newest days, read once more at the end, say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from accounting_analytics.errors import ChangedWhileReadingError
from accounting_analytics.loader.page_decoder import in_order, lines_within
from accounting_analytics.loader.query import Window
from accounting_analytics.periods import LOCALTIME, Period, local_date, zone

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.loader.window_files import KeptWindow
    from accounting_analytics.loader.window_reader import Scan

_SHOWN_IDS = 5


class SecondLook(NamedTuple):
    """What a second look found: nothing, or an error and the windows that are stale."""

    error: ChangedWhileReadingError | None
    stale: tuple[KeptWindow, ...]


def second_look(scan: Scan, windows: tuple[KeptWindow, ...]) -> SecondLook:
    """Read from the day of a ledger's newest line to the period's end again; say what changed, and what is stale.

    Books grow at their end: a line that came, went or changed while the ledger was read is most likely there. Whatever
    changed further back shows in the certificate, where an entry then lacks a line or does not balance.
    """
    filled = [one for one in windows if one.newest is not None]
    if not filled:
        return SecondLook(None, ())
    newest = max(filled, key=lambda one: one.window.period)
    period = scan.query.period
    again = Period(_last_day(newest), period.end_date, period.time_zone)
    before = in_order(
        pa.concat_tables(
            lines_within(one.table(), again) for one in windows if one.window.period.end_date >= again.start_date
        )
    )
    after = scan.read_whole(Window(newest.window.ledger_id, again)).table
    if before.equals(after):
        return SecondLook(None, ())
    ids = _that_differ(before, after)
    more = len(ids) - _SHOWN_IDS
    msg = (
        f"ledger {newest.window.ledger_id} changed while it was read: {len(ids)} line(s) of {again} came, went or "
        f"changed: {', '.join(ids[:_SHOWN_IDS])}{f' and {more} more' if more > 0 else ''}; load again, or end the "
        "period before the days that are still being posted to"
    )
    return SecondLook(ChangedWhileReadingError(msg), windows)


def _last_day(newest: KeptWindow) -> dt.date:
    period = newest.window.period
    if period.time_zone == LOCALTIME or newest.newest is None:
        return period.start_date
    return local_date(newest.newest, zone(period.time_zone))


def _that_differ(before: pa.Table, after: pa.Table) -> list[str]:
    """Ids of lines that only one side has, or that the two sides have differently."""
    theirs = {row["id"]: row for row in before.to_pylist()}
    ours = {row["id"]: row for row in after.to_pylist()}
    return sorted(line_id for line_id in theirs.keys() | ours.keys() if theirs.get(line_id) != ours.get(line_id))
