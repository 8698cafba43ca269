"""Fiscal years: periods such as ``2024/25-Q3``, and names of years and quarters."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.errors import InputError, PeriodError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import (
    DAY,
    UTC,
    Period,
    month_label,
    month_start,
    parse_date,
    relative_days,
    today_in,
    zone_name,
)

if TYPE_CHECKING:
    from accounting_analytics.core.periods import DateLike, ZoneLike

_YEAR = 12
_MONTHS_IN = {"Y": _YEAR, "H": 6, "Q": 3}
_PART = r"(?P<part>[HQ])(?P<number>[1-4])"
_FISCAL = re.compile(rf"(?P<year>[0-9]{{4}})/(?P<next>[0-9]{{2}})(?:[ -]?{_PART})?")
_PART_FIRST = re.compile(rf"{_PART}[ -](?P<year>[0-9]{{4}})(?:/(?P<next>[0-9]{{2}}))?")
_CALENDAR = re.compile(rf"(?P<year>[0-9]{{4}})(?:[ -]?{_PART})?")


class UnitName(NamedTuple):
    """Key and heading of a whole month, quarter or year."""

    key: str
    heading: str


def require_month(fiscal_year_start_month: object) -> None:
    """Refuse a value that is not a month number."""
    if fiscal_year_start_month not in range(1, _YEAR + 1):
        raise InputError(f"fiscal_year_start_month must be 1 to 12, not {quote(fiscal_year_start_month)}")


def parse_period(text: str, first_month: int, *, as_of: DateLike | None = None, time_zone: ZoneLike = UTC) -> Period:
    """Parse a period as :meth:`Period.parse` does, with fiscal years.

    ``2024/25``, ``2024/25-Q3``, and relative quarters and years, refer to the fiscal year. If the fiscal year does not
    begin in January, ``2025`` and ``2025-Q1`` have two meanings. They are refused, and the message names both.
    """
    if not isinstance(text, str):
        return Period.parse(text, time_zone=time_zone)
    word = text.strip()
    day = today_in(time_zone) if as_of is None else parse_date(as_of, "as_of")
    if days := relative_days(word, day, first_month):
        return Period(*days, time_zone)
    found = _FISCAL.fullmatch(word.upper()) or _PART_FIRST.fullmatch(word.upper())
    if found and found["next"] is not None:
        return _fiscal_unit(word, found, first_month, time_zone)
    period = Period.parse(word, as_of=as_of, time_zone=time_zone)
    for part in word.upper().split("/"):
        found = _CALENDAR.fullmatch(part.strip()) or _PART_FIRST.fullmatch(part.strip())
        if found and first_month != 1:
            raise PeriodError(_two_readings(part, found, first_month))
    return period


def to_period(
    value: object, name: str, first_month: int = 1, *, as_of: DateLike | None = None, time_zone: ZoneLike = UTC
) -> Period:
    """Convert an argument to a Period. Messages call the argument `name`."""
    if isinstance(value, Period):
        if value.time_zone != zone_name(time_zone):
            raise PeriodError(
                f"{name}: {value} is not of the zone {zone_name(time_zone)}, that the days are counted in"
            )
        return value
    if isinstance(value, str):
        return parse_period(value, first_month, as_of=as_of, time_zone=time_zone)
    if isinstance(value, tuple | list) and len(value) == 2:  # noqa: PLR2004 (a first and a last day)
        return Period(value[0], value[1], time_zone)
    try:
        return Period(value, value, time_zone)  # type: ignore[arg-type]  # a day, or a period of pandas
    except PeriodError:
        raise InputError(
            f"{name}: {quote(value)} is not a period; pass '2026-01', a first and a last day, or "
            "Period('2026-01-01', '2026-01-15')"
        ) from None


def _fiscal_unit(text: str, found: re.Match[str], first_month: int, time_zone: ZoneLike) -> Period:
    """Return the period of a fiscal year, or its half or quarter."""
    year = int(found["year"])
    if int(found["next"]) != (year + 1) % 100:
        month = f"; a month is written {year}-{found['next']}" if 1 <= int(found["next"]) <= _YEAR else ""
        raise PeriodError(
            f"{quote(text)} is not a fiscal year: the one that begins in {year} is {_name(year, 2)}{month}"
        )
    if first_month == 1:
        raise PeriodError(
            f"{quote(text)} is of a fiscal year that begins within a year, but this one begins in January: write "
            f"{year}, or set fiscal_year_start_month"
        )
    start = _start_of(year, found, first_month)
    if start is None:
        raise PeriodError(f"{quote(text)} is not a period: a year has H1, H2 and Q1 to Q4")
    return Period(start, _end_of(start, found), time_zone)


def _two_readings(text: str, found: re.Match[str], first_month: int) -> str:
    """Explain which days a word means in calendar and fiscal years."""
    year = int(found["year"])
    readings = []
    for first_year, month in ((year, 1), (year - 1, first_month), (year, first_month)):
        start = _start_of(first_year, found, month)
        if start is None:
            continue
        end, part = _end_of(start, found), f"-{found['part']}{found['number']}" if found["part"] else ""
        days = f"{month_label(start)} to {month_label(end)}"
        word = f"{start:%Y-%m}/{end:%Y-%m}" if month == 1 else f"{_name(first_year, month)}{part}"
        readings.append(f"{word} ({days})")
    begins = month_label(dt.date(year, first_month, 1)).split()[0]
    return (
        f"{quote(text)} has two readings, because the fiscal year begins in {begins}: of the calendar, "
        f"{readings[0]}, or of the fiscal year, {' or '.join(readings[1:])}; write one of these"
    )


def _start_of(year: int, found: re.Match[str], first_month: int) -> dt.date | None:
    """Return the first day of a unit in a year.

    Return None for a unit that does not exist.
    """
    months = _MONTHS_IN[found["part"] or "Y"]
    before = months * (int(found["number"] or 1) - 1)
    if before >= _YEAR or not dt.MINYEAR <= year <= dt.MAXYEAR:
        return None
    return shift_months(dt.date(year, first_month, 1), before)


def _end_of(start: dt.date, found: re.Match[str]) -> dt.date:
    after = shift_months(start, _MONTHS_IN[found["part"] or "Y"])
    return dt.date.max if after is None else after - DAY


def shift_months(first_of_month: dt.date, months: int) -> dt.date | None:
    """Return the first day of a later month, or None outside of the calendar."""
    year, month = divmod(first_of_month.year * _YEAR + first_of_month.month - 1 + months, _YEAR)
    return dt.date(year, month + 1, 1) if dt.MINYEAR <= year <= dt.MAXYEAR else None


def year_name(day: dt.date, first_month: int) -> str:
    """Name the fiscal year of a day: ``2026``, or ``2025/26`` across two years."""
    return _name(day.year if day.month >= first_month else day.year - 1, first_month)


def _name(year: int, first_month: int) -> str:
    """Name the fiscal year that begins in a year."""
    return f"{year:04}" if first_month == 1 else f"{year:04}/{(year + 1) % 100:02}"


def name_unit(period: Period, first_month: int) -> UnitName | None:
    """Name a period that is a whole month, quarter or year, or return None."""
    first = period.start_date
    for months in (1, 3, _YEAR):
        after = shift_months(month_start(first), months)
        is_first = first.day == 1 and (first.month - first_month) % months == 0
        if is_first and after is not None and period.end_date == after - DAY:
            return _unit_name(first, months, first_month)
    return None


def _unit_name(start: dt.date, months: int, first_month: int) -> UnitName:
    """Name the month, quarter or year that starts on a day."""
    if months == 1:
        return UnitName(start.isoformat()[:7], month_label(start))
    name = year_name(start, first_month)
    if months == _YEAR:
        return UnitName(name, name)
    quarter = f"Q{(start.month - first_month) % _YEAR // 3 + 1}"
    return UnitName(f"{name}-{quarter}", f"{quarter} {name}")
