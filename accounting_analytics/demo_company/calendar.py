"""The demo company's calendar: its days, and how business goes in each month."""

from __future__ import annotations

import datetime as dt

START_DATE = dt.date(2025, 1, 1)
END_DATE = dt.date(2026, 6, 30)

SEASON = {1: 80, 2: 84, 3: 94, 4: 100, 5: 98, 6: 88, 7: 76, 8: 72, 9: 88, 10: 106, 11: 124, 12: 152}
"""Percent of a usual month's trade, by month."""

_ROADWORKS = (dt.date(2025, 6, 16), dt.date(2025, 9, 26))
_ROADWORKS_PERCENT = 80
_SECOND_YEAR_PERCENT = 117


def days() -> list[dt.date]:
    """Every day of the story."""
    return [START_DATE + dt.timedelta(days=number) for number in range((END_DATE - START_DATE).days + 1)]


def trade_percent(day: dt.date) -> int:
    """Percent of a usual day's trade: the season, roadworks at the door in one summer, a better second year."""
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
    return day.isoweekday() <= 5  # noqa: PLR2004 (Friday)


def next_weekday(day: dt.date) -> dt.date:
    """Return the day itself, or the Monday after it."""
    while not is_weekday(day):
        day += dt.timedelta(days=1)
    return day
