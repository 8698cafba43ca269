"""SQL conditions on stored instants by their local date in a time zone."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, and_, or_

from accounting_analytics.service.wire.stored_values import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

_DAY = dt.timedelta(days=1)
_MINUTE = dt.timedelta(minutes=1)
_SECOND = dt.timedelta(seconds=1)
# zoneinfo cannot convert instants outside, and nothing can be posted there
_FIRST = dt.datetime(1, 1, 3, tzinfo=dt.UTC)
_LAST = dt.datetime(9999, 12, 29, tzinfo=dt.UTC)


class Boundary(NamedTuple):
    """Instants (microseconds since 1970) at which the local date crosses a date.

    From `transitions[0]` on the local date is the date or later, from `transitions[1]` on it is earlier again because
    the clock was set back over midnight, and so on. There are 1, 3 or 5 transitions, almost always 1.
    """

    transitions: tuple[int, ...]

    def reached(self, column: ColumnElement[int]) -> ColumnElement[bool]:
        """Condition that the local date is the boundary's date or later."""
        first, *others = self.transitions
        if not others:
            return column >= first
        later = [
            column >= start if end is None else and_(column >= start, column < end)
            for start, end in zip(others[1::2], [*others[2::2], None], strict=True)
        ]
        return and_(column >= first, or_(column < others[0], *later))

    def before(self, column: ColumnElement[int]) -> ColumnElement[bool]:
        """Condition that the local date is before the boundary's date."""
        first, *others = self.transitions
        if not others:
            return column < first
        gaps = [and_(column >= start, column < end) for start, end in zip(others[::2], others[1::2], strict=True)]
        return and_(column < others[-1], or_(column < first, *gaps))


def boundary_after(date: dt.date, time_zone: str) -> Boundary | None:
    """Boundary of the day after a date; None after the last day of the calendar."""
    return None if date == dt.date.max else boundary(date + _DAY, time_zone)


@lru_cache(maxsize=8192)
def boundary(date: dt.date, time_zone: str) -> Boundary:
    """Boundary of a date in a time zone."""
    zone = ZoneInfo(time_zone)
    # The local date is computed for every minute of the two days around midnight UTC (offsets are below 24 hours), and
    # for every second where the date or the offset changes; a transition is where "date or later" flips. Days of 23 or
    # 25 hours, clocks set back over midnight and dates that a zone skipped need no special cases.
    start, end = _clip_to_calendar(date, -1), _clip_to_calendar(date, 1)
    transitions = [] if start.astimezone(zone).date() < date else [microseconds(start)]
    for earlier, later in pairwise(_sample_instants(start, end, zone)):
        if (earlier.astimezone(zone).date() < date) != (later.astimezone(zone).date() < date):
            transitions.append(microseconds(later))
    return Boundary(tuple(transitions) or (microseconds(end),))


def _clip_to_calendar(date: dt.date, days: int) -> dt.datetime:
    midnight = dt.datetime.combine(date, dt.time(), dt.UTC)
    if midnight < _FIRST - days * _DAY:
        return _FIRST
    return _LAST if midnight > _LAST - days * _DAY else midnight + days * _DAY


def _sample_instants(start: dt.datetime, end: dt.datetime, zone: ZoneInfo) -> Iterator[dt.datetime]:
    """Minutes from start to end, and the seconds between two of them that differ in local date or offset."""
    moment, local = start, start.astimezone(zone)
    while moment < end:
        yield moment
        following = moment + _MINUTE
        local_following = following.astimezone(zone)
        if (local_following.date(), local_following.utcoffset()) != (local.date(), local.utcoffset()):
            yield from (moment + second * _SECOND for second in range(1, 60))
        moment, local = following, local_following
    yield end
