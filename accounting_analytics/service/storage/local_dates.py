"""Conditions on stored instants by their calendar date in a time zone.

A date boundary is found by tabulating the local date minute by minute (and second by second where it or the clock
changes) over the two days around it, and reading off where it holds: days of 23 or 25 hours, clocks that go back over
midnight and dates that never were need no case of their own.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, and_, or_

from accounting_analytics.service.wire.stored_records import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

_DAY = dt.timedelta(days=1)
_MINUTE = dt.timedelta(minutes=1)
_SECOND = dt.timedelta(seconds=1)
# zoneinfo cannot place instants outside, and nothing is posted there
_FIRST = dt.datetime(1, 1, 3, tzinfo=dt.UTC)
_LAST = dt.datetime(9999, 12, 29, tzinfo=dt.UTC)


class Boundary(NamedTuple):
    """Where the local date becomes a date or later: instants in microseconds since 1970.

    From `turns[0]` on the date is reached, at `turns[1]` the clock goes back before it, at `turns[2]` it is reached
    again, and so on: an odd number of turns, nearly always one.
    """

    turns: tuple[int, ...]

    def reached(self, column: ColumnElement[int]) -> ColumnElement[bool]:
        """Condition that the local date is the boundary's date or later."""
        later = [column < self.turns[1], *self._spans(column, self.turns[2:])] if len(self.turns) > 1 else []
        return and_(column >= self.turns[0], or_(*later)) if later else column >= self.turns[0]

    def before(self, column: ColumnElement[int]) -> ColumnElement[bool]:
        """Condition that the local date is before the boundary's date."""
        if len(self.turns) == 1:
            return column < self.turns[0]
        gaps = [
            and_(column >= start, column < end) for start, end in zip(self.turns[1::2], self.turns[2::2], strict=True)
        ]
        return and_(column < self.turns[-1], or_(column < self.turns[0], *gaps))

    @staticmethod
    def _spans(column: ColumnElement[int], turns: tuple[int, ...]) -> Iterator[ColumnElement[bool]]:
        for start, end in zip(turns[::2], (*turns[1::2], None), strict=True):
            yield column >= start if end is None else and_(column >= start, column < end)


def boundary_after(date: dt.date, time_zone: str) -> Boundary | None:
    """Boundary of the day after a date; None after the last day of the calendar."""
    return None if date == dt.date.max else boundary(date + _DAY, time_zone)


@lru_cache(maxsize=8192)
def boundary(date: dt.date, time_zone: str) -> Boundary:
    """Boundary of a date in a time zone."""
    zone = ZoneInfo(time_zone)
    # offsets are under 24 hours: a day before midnight UTC is surely too early, a day after surely late enough
    start, end = _clipped(date, -1), _clipped(date, 1)
    turns = [] if start.astimezone(zone).date() < date else [microseconds(start)]
    for earlier, later in pairwise(_ticks(start, end, zone)):
        if (earlier.astimezone(zone).date() < date) != (later.astimezone(zone).date() < date):
            turns.append(microseconds(later))
    return Boundary(tuple(turns) or (microseconds(end),))


def _clipped(date: dt.date, days: int) -> dt.datetime:
    midnight = dt.datetime.combine(date, dt.time(), dt.UTC)
    if midnight < _FIRST - days * _DAY:
        return _FIRST
    return _LAST if midnight > _LAST - days * _DAY else midnight + days * _DAY


def _ticks(start: dt.datetime, end: dt.datetime, zone: ZoneInfo) -> Iterator[dt.datetime]:
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
