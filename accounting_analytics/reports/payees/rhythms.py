"""Rhythms of payments: the next day from earlier ones, and a trial on past days.

A rhythm is a weekday of every week, every second or every fourth one, or a day of every month, every second, third or
twelfth one. It is claimed of four payments or more, if it would have met four of five of the latest.
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections import Counter
from functools import cache, lru_cache
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.periods import DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Days = Sequence[dt.date]

LEAST_PAYMENTS = 4
LEAST_MET = 0.8
"""Share of the past days that a rhythm must have met."""
RECENT = 6
"""Latest payments that say the usual day and amount."""
_TAIL = RECENT + 2
"""Latest days that the next one depends on."""
_TRIED = 24
"""Latest payments whose days are compared with those that the rhythm says."""
_MONTH_END = 31
_FAR = 5
_WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")


class Rhythm(NamedTuple):
    """A named rhythm: its next day, and the days that payments may miss it.

    `length` is about how many days pass between two payments, and `describe` names the usual day.
    """

    name: str
    length: float
    tolerance: int
    expect: Callable[[Days], dt.date]
    describe: Callable[[Days], str]
    least: int = 1
    """Days that are needed to expect the next one."""

    def next_day(self, days: Days) -> dt.date:
        """Return the day that is expected after some days."""
        return _next_day(self, tuple(days[-_TAIL:]))


@lru_cache(maxsize=2**16)
def _next_day(rhythm: Rhythm, days: tuple[dt.date, ...]) -> dt.date:
    """Return the day after the latest days; cached, as these repeat."""
    return rhythm.expect(days)


def _weekday(days: Days) -> int:
    """Usual weekday of the latest days."""
    return Counter(day.weekday() for day in days[-RECENT:]).most_common(1)[0][0]


def _every_weeks(name: str, weeks: int, tolerance: int) -> Rhythm:
    def expect(days: Days) -> dt.date:
        following = days[-1] + 7 * weeks * DAY
        return following + ((_weekday(days) - following.weekday() + 3) % 7 - 3) * DAY

    return Rhythm(name, 7 * weeks, tolerance, expect, lambda days: f"on {_WEEKDAYS[_weekday(days)]}")


@cache
def _due(month: int, day: int) -> dt.date:
    """Return a day of a month, counted from year 0.

    A shorter month has its last day.
    """
    year, number = divmod(month, 12)
    return dt.date(year, number + 1, min(day, calendar.monthrange(year, number + 1)[1]))


def _nearest_month(date: dt.date, day: int) -> int:
    """Month whose day of this number is nearest to a date."""
    month = date.year * 12 + date.month - 1
    return min((month - 1, month, month + 1), key=lambda near: abs(_due(near, day) - date))


def _days_of_month(days: Days) -> list[int]:
    """List the days of the month that occur, the last first.

    31 stands for the end of a month.
    """
    ends = [_MONTH_END] if any(day.month != (day + DAY).month for day in days) else []
    return sorted({*(day.day for day in days), *ends}, reverse=True)


def _day_of_month(days: Days) -> int:
    """Find the day of the month nearest to the latest days.

    31 is the last one.
    """
    recent = days[-RECENT:]

    def distance(candidate: int) -> tuple[int, int]:
        misses = [abs(_due(_nearest_month(day, candidate), candidate) - day).days for day in recent]
        return sum(misses), len(misses) - misses.count(0)

    return min(_days_of_month(recent), key=distance)


def _every_months(name: str, months: int, tolerance: int) -> Rhythm:
    def expect(days: Days) -> dt.date:
        day = _day_of_month(days)
        return _due(_nearest_month(days[-1], day) + months, day)

    return Rhythm(name, 30.44 * months, tolerance, expect, lambda days: f"on {_day_text(_day_of_month(days))}")


def _twice_a_month() -> Rhythm:
    def expect(days: Days) -> dt.date:
        pair = _two_days_of_month(days)
        latest = min((_due(_nearest_month(days[-1], day), day) for day in pair), key=lambda due: abs(due - days[-1]))
        return min(due for day in pair for due in _neighbours(latest, day) if due > latest)

    def describe(days: Days) -> str:
        return f"on {' and '.join(map(_day_text, sorted(_two_days_of_month(days))))}"

    return Rhythm("twice a month", 15.2, 3, expect, describe, least=2)


def _two_days_of_month(days: Days) -> tuple[int, int]:
    """Find the two days of the month, a week apart, nearest to the latest."""
    recent = days[-_TAIL:]
    misses = {
        day_of_month: [abs(_due(_nearest_month(day, day_of_month), day_of_month) - day).days for day in recent]
        for day_of_month in _days_of_month(recent)
    }
    pairs = [(earlier, other) for earlier in misses for other in misses if earlier + 7 <= other]
    return min(pairs or [(1, 15)], key=lambda pair: sum(map(min, *(misses.get(day, ()) for day in pair))))


def _neighbours(date: dt.date, day: int) -> Iterator[dt.date]:
    """Yield this day of a date's month and of those beside it."""
    month = date.year * 12 + date.month - 1
    return (_due(near, day) for near in (month - 1, month, month + 1))


def _day_text(day: int) -> str:
    return "the last day" if day == _MONTH_END else f"day {day}"


RHYTHMS = (
    _every_weeks("weekly", 1, 2),
    _every_weeks("fortnightly", 2, 3),
    _twice_a_month(),
    _every_months("monthly", 1, 4),
    _every_weeks("every four weeks", 4, 3),
    _every_months("every second month", 2, 4),
    _every_months("quarterly", 3, 5),
    _every_months("yearly", 12, 7),
)
"""The rhythms that are looked for, the likelier of two that fit as well first."""


class FoundRhythm(NamedTuple):
    """The rhythm of some days, and when the next is due.

    Attributes
    ----------
    rhythm : Rhythm
        The rhythm.
    usual_day : str
        On which day: ``on day 1``.
    met, tried : int
        How many of the past days it would have met, within a few days.
    due, earliest, latest : date
        The next day, and its range from how far past days were from theirs.
    following : date
        The latest day of the payment after that.
    """

    rhythm: Rhythm
    usual_day: str
    met: int
    tried: int
    due: dt.date
    earliest: dt.date
    latest: dt.date
    following: dt.date

    @property
    def name(self) -> str:
        """Name of the rhythm."""
        return self.rhythm.name

    @property
    def overdue_after(self) -> dt.date:
        """Last day on which the next payment would still meet the rhythm."""
        return self.due + self.rhythm.tolerance * DAY


class _Trial(NamedTuple):
    """A rhythm, and the days by which each past payment missed it."""

    rhythm: Rhythm
    misses: list[int]

    @property
    def met(self) -> int:
        return sum(abs(miss) <= self.rhythm.tolerance for miss in self.misses)

    @property
    def distance(self) -> float:
        """Mean of the misses; a payment left out counts as a few days."""
        return sum(min(abs(miss), _FAR) for miss in self.misses) / len(self.misses)


def find_rhythm(days: Days) -> FoundRhythm | None:
    """Find the rhythm that met most of the latest days, if enough."""
    if len(days) < LEAST_PAYMENTS:
        return None
    gap = median((later - earlier).days for earlier, later in pairwise(days))
    trials = [_try(rhythm, days) for rhythm in RHYTHMS if 0.6 * rhythm.length <= gap <= 1.5 * rhythm.length]
    kept = [trial for trial in trials if trial.met >= max(LEAST_MET * len(trial.misses), LEAST_PAYMENTS - 1)]
    if not kept:
        return None
    best = min(kept, key=lambda trial: trial.distance)
    rhythm = best.rhythm
    due = rhythm.next_day(days)
    near = [miss for miss in best.misses[-2 * RECENT :] if abs(miss) <= rhythm.tolerance]
    margin = 2 if len(near) < RECENT else 1
    early = min(margin - min(*near, 0), rhythm.tolerance)
    late = min(margin + max(*near, 0), rhythm.tolerance)
    following = rhythm.next_day([*days, due]) + late * DAY
    return FoundRhythm(
        rhythm,
        rhythm.describe(days),
        best.met,
        len(best.misses),
        due,
        due - early * DAY,
        due + late * DAY,
        following,
    )


def _try(rhythm: Rhythm, days: Days) -> _Trial:
    """Compare the latest days with those that a rhythm expects from earlier ones."""
    first = max(rhythm.least, len(days) - _TRIED)
    return _Trial(
        rhythm,
        [
            (days[place] - rhythm.next_day(days[max(0, place - _TAIL) : place])).days
            for place in range(first, len(days))
        ],
    )
