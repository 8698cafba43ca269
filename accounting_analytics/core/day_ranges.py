"""Ranges of days: written as text for metadata, joined, and subtracted."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple, Self

from accounting_analytics.core.periods import DAY, Period, day_after

if TYPE_CHECKING:
    from collections.abc import Iterable


class DayRange(NamedTuple):
    """First and last day of a range in metadata."""

    first: dt.date
    last: dt.date

    @classmethod
    def of_period(cls, period: Period) -> Self:
        """Return the range of a period."""
        return cls(period.start_date, period.end_date)


def parse_days(text: str) -> list[DayRange]:
    """Parse ranges: ``2025-01-01/2025-01-31 2025-03-01/2025-03-31``."""
    return [DayRange(*map(dt.date.fromisoformat, range_text.split("/"))) for range_text in text.split()]


def days_to_text(days: Iterable[tuple[dt.date, dt.date]]) -> str:
    """Format ranges of days for metadata."""
    return " ".join(f"{first}/{last}" for first, last in days)


def merge_days(days: Iterable[DayRange]) -> list[DayRange]:
    """Join days that touch or overlap, in order."""
    merged: list[DayRange] = []
    for day_range in sorted(days):
        if merged and day_range.first <= day_after(merged[-1].last):
            merged[-1] = DayRange(merged[-1].first, max(merged[-1].last, day_range.last))
        else:
            merged.append(day_range)
    return merged


def subtract_days(days: Iterable[DayRange], others: Iterable[DayRange]) -> list[DayRange]:
    """Return the days that no range in `others` has."""
    left = []
    taken = merge_days(others)
    for first, last in merge_days(days):
        start: dt.date | None = first
        for other in taken:
            if start is None or other.last < start or other.first > last:
                continue
            if other.first > start:
                left.append(DayRange(start, other.first - DAY))
            start = None if other.last >= last else other.last + DAY
        if start is not None:
            left.append(DayRange(start, last))
    return left
