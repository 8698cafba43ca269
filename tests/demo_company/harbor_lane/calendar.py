"""The demo company's calendar: the days of its books, days that repeat, and the season of its sales."""

from __future__ import annotations

import datetime as dt

START_DATE = dt.date(2025, 1, 1)
END_DATE = dt.date(2026, 6, 30)

SEASON = {1: 80, 2: 84, 3: 94, 4: 100, 5: 98, 6: 88, 7: 76, 8: 72, 9: 88, 10: 106, 11: 124, 12: 152}
"""Sales of each month in percent of an average month."""

_ROADWORKS = (dt.date(2025, 6, 16), dt.date(2025, 9, 26))
_ROADWORKS_PERCENT = 80
_SECOND_YEAR_PERCENT = 117
_ALL_MONTHS = range(1, 13)


def days() -> list[dt.date]:
    """Every day of the books."""
    return [START_DATE + dt.timedelta(days=number) for number in range((END_DATE - START_DATE).days + 1)]


def monthly(
    day: int, *, months: tuple[int, ...] | range = _ALL_MONTHS, first: dt.date = START_DATE, last: dt.date = END_DATE
) -> frozenset[dt.date]:
    """Return the same day of every month, or of some months, from `first` to `last`."""
    return frozenset(one for one in days() if one.day == day and one.month in months and first <= one <= last)


def month_ends(*, first: dt.date = START_DATE, last: dt.date = END_DATE) -> frozenset[dt.date]:
    """Last days of the months from `first` to `last`."""
    return frozenset(day for day in days() if is_month_end(day) and first <= day <= last)


def sales_percent(day: dt.date) -> int:
    """Sales of a day in percent of an average day: the season, roadworks in one summer, growth in the second year."""
    percent = SEASON[day.month]
    if _ROADWORKS[0] <= day <= _ROADWORKS[1]:
        percent = percent * _ROADWORKS_PERCENT // 100
    if day.year > START_DATE.year:
        percent = percent * _SECOND_YEAR_PERCENT // 100
    return percent


def is_month_end(day: dt.date) -> bool:
    """Whether a day is the last of its month."""
    return (day + dt.timedelta(days=1)).day == 1


def is_weekday(day: dt.date) -> bool:
    """Whether banks are open."""
    return day.isoweekday() <= 5


def next_weekday(day: dt.date) -> dt.date:
    """Return the day itself, or the Monday after it."""
    while not is_weekday(day):
        day += dt.timedelta(days=1)
    return day
