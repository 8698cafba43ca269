"""Rhythms of payments: the next day from earlier ones, and a trial on past days.

A rhythm is a weekday of every week, every second or every fourth week, or a day of every month, every second, third or
twelfth month. It is claimed of four payments or more, if it would have predicted four of five of the latest payments.
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
"""Number of latest payments that show the usual day and amount."""
_TAIL = RECENT + 2
"""Number of latest days that the next day depends on."""
_TRIED = 24
"""Number of latest payments whose days are compared with the days of the rhythm."""
_MONTH_END = 31
_FAR = 5
_WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")


class Rhythm(NamedTuple):
    """A named rhythm: its next day, and the days that payments may miss it.

    `length` is the approximate number of days between two payments, and `describe` names the usual day.
    """

    name: str
    length: float
    tolerance: int
    expect: Callable[[Days], dt.date]
    describe: Callable[[Days], str]
    least: int = 1
    """Number of days that are needed to expect the next day."""

    def next_day(self, days: Days) -> dt.date:
        """Return the day that the rhythm expects after `days`."""
        return _next_day(self, tuple(days[-_TAIL:]))


@lru_cache(maxsize=2**16)
def _next_day(rhythm: Rhythm, days: tuple[dt.date, ...]) -> dt.date:
    """Return the expected day after the latest days. It is cached because the same days come again."""
    return rhythm.expect(days)


def _weekday(days: Days) -> int:
    """Find the usual weekday of the latest days."""
    return Counter(day.weekday() for day in days[-RECENT:]).most_common(1)[0][0]


def _every_weeks(name: str, weeks: int, tolerance: int) -> Rhythm:
    def expect(days: Days) -> dt.date:
        following = days[-1] + 7 * weeks * DAY
        return following + ((_weekday(days) - following.weekday() + 3) % 7 - 3) * DAY

    return Rhythm(name, 7 * weeks, tolerance, expect, lambda days: f"on {_WEEKDAYS[_weekday(days)]}")


@cache
def _due(month: int, day: int) -> dt.date:
    """Return day number `day` of a month.

    Months are counted from year 0. For a month that is shorter, return its last day.
    """
    year, number = divmod(month, 12)
    return dt.date(year, number + 1, min(day, calendar.monthrange(year, number + 1)[1]))


def _nearest_month(date: dt.date, day: int) -> int:
    """Find the month whose day number `day` is nearest to a date."""
    month = date.year * 12 + date.month - 1
    return min((month - 1, month, month + 1), key=lambda near: abs(_due(near, day) - date))


def _days_of_month(days: Days) -> list[int]:
    """List the day numbers that occur, the largest first.

    31 stands for the end of a month.
    """
    ends = [_MONTH_END] if any(day.month != (day + DAY).month for day in days) else []
    return sorted({*(day.day for day in days), *ends}, reverse=True)


def _day_of_month(days: Days) -> int:
    """Find the day number that is nearest to the latest days.

    31 means the last day of a month.
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
    """Find the two days of the month nearest to the latest days.

    The two days are at least a week apart.
    """
    recent = days[-_TAIL:]
    misses = {
        day_of_month: [abs(_due(_nearest_month(day, day_of_month), day_of_month) - day).days for day in recent]
        for day_of_month in _days_of_month(recent)
    }
    pairs = [(earlier, other) for earlier in misses for other in misses if earlier + 7 <= other]
    return min(pairs or [(1, 15)], key=lambda pair: sum(map(min, *(misses.get(day, ()) for day in pair))))


def _neighbours(date: dt.date, day: int) -> Iterator[dt.date]:
    """Yield day number `day` of three months.

    The months are the date's month, and the months before and after.
    """
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
"""The rhythms that are tried. Of two that fit equally well, the one that is earlier here is chosen."""


class FoundRhythm(NamedTuple):
    """The rhythm of past days, and when the next payment is due.

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
    """A rhythm, and by how many days it missed each past payment."""

    rhythm: Rhythm
    misses: list[int]

    @property
    def met(self) -> int:
        return sum(abs(miss) <= self.rhythm.tolerance for miss in self.misses)

    @property
    def distance(self) -> float:
        """Mean of the misses in days, where a large miss counts only as a few days."""
        return sum(min(abs(miss), _FAR) for miss in self.misses) / len(self.misses)


def find_rhythm(days: Days) -> FoundRhythm | None:
    """Find the rhythm that is nearest to the latest days, among rhythms that met enough of them."""
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
    """Compare the latest days with the expected days of a rhythm.

    A rhythm expects each day from earlier days.
    """
    first = max(rhythm.least, len(days) - _TRIED)
    return _Trial(
        rhythm,
        [
            (days[place] - rhythm.next_day(days[max(0, place - _TAIL) : place])).days
            for place in range(first, len(days))
        ],
    )
