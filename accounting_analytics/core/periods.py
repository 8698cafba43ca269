"""Periods of inclusive local dates: time zones, months, windows, and the UTC instants they cover.

A line belongs to the day that is the calendar date of its instant in the period's time zone. Days have 23, 24, 24.5 or
25 hours, and where clocks go back across midnight a day consists of several intervals. So a period is never converted
to "midnight to midnight": :meth:`Period.instants` returns the exact set of UTC instants whose local date lies in it.
Comparing instants with that set is the same as comparing local dates, on any engine and with any zone data.
"""

from __future__ import annotations

import calendar
import datetime as dt
import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from accounting_analytics.core.errors import PeriodError
from accounting_analytics.core.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import pandas as pd

RELATIVE_PERIODS = (
    "today",
    "yesterday",
    "this-month",
    "this-quarter",
    "this-year",
    "last-month",
    "last-quarter",
    "last-year",
    "month-to-date",
    "quarter-to-date",
    "year-to-date",
)
"""Names that :meth:`Period.relative` knows: `this` means the whole unit, `to-date` ends on the day itself."""

DateLike: TypeAlias = "dt.date | str | np.datetime64 | pd.Period"
"""A day for :func:`parse_date`: a date, ``YYYY-MM-DD``, midnight without a time zone, or a period of pandas."""
ZoneLike: TypeAlias = "str | dt.tzinfo"
"""A zone for :func:`zone_name`: a time zone name of the interface, a ``ZoneInfo``, or ``datetime.UTC``."""

LOCALTIME = "localtime"
"""The interface's name for the time zone of the service itself."""
UTC = "UTC"

_NOT_IN_INTERFACE = frozenset({"Factory"})
DAY = dt.timedelta(days=1)
_MONTH_NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_LONG_MONTH_NAMES = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_HOUR = dt.timedelta(hours=1)
_SECOND = dt.timedelta(seconds=1)
_MONTHS_IN = {"month": 1, "quarter": 3, "half": 6, "year": 12}
_ABBREVIATIONS = {"ytd": "year-to-date", "qtd": "quarter-to-date", "mtd": "month-to-date"}
_JANUARY, _JULY = dt.datetime(2025, 1, 1, tzinfo=dt.UTC), dt.datetime(2025, 7, 1, tzinfo=dt.UTC)
_SIMILARITY = 0.8
_DAYS_IN_NUMBERS = re.compile("([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_YEAR_AND_PART = re.compile("([0-9]{4})[ -]?([A-Z][A-Z0-9]+)|([A-Z][A-Z0-9]+)[ -]([0-9]{4})")
_PARTS_OF_YEAR = {
    **{f"Q{number}": (3 * number - 2, "quarter") for number in range(1, 5)},
    **{f"H{number}": (6 * number - 5, "half") for number in (1, 2)},
    **{name.upper(): (number, "month") for number, name in enumerate(_MONTH_NAMES, start=1)},
    **{name.upper(): (number, "month") for number, name in enumerate(_LONG_MONTH_NAMES, start=1)},
    "SEPT": (9, "month"),
}
"""First month and number of months of a part of the year, by the name of the part."""
_CITIES_WITH_SUMMER_TIME = {"EST": "America/New_York", "MST": "America/Denver"}
# zoneinfo cannot convert instants this close to the ends of the calendar
_FIRST = dt.datetime.min + 2 * DAY
_LAST = dt.datetime.max - 2 * DAY


class Interval(NamedTuple):
    """An interval of UTC time from `start` (inclusive) to `end` (exclusive, or None if it has no end)."""

    start: dt.datetime
    end: dt.datetime | None


@lru_cache(maxsize=1)
def time_zone_names() -> frozenset[str]:
    """Return all time zone names that the interface accepts."""
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    return frozenset(names) - _NOT_IN_INTERFACE | {LOCALTIME}


def zone_name(time_zone: ZoneLike) -> str:
    """Return the name of a time zone without checking it."""
    name = UTC if time_zone is dt.UTC else getattr(time_zone, "key", time_zone)
    if not isinstance(name, str):
        raise PeriodError(
            f"{quote(time_zone)} is not a time zone of the interface; use an IANA name such as 'America/New_York'"
        )
    return name


def zone(time_zone: ZoneLike) -> ZoneInfo:
    """Return the zone with a name of the interface, spelled exactly.

    ``localtime``, which only the service knows, is refused. ``Etc/GMT+5`` is five hours *behind* UTC.
    """
    name = zone_name(time_zone)
    if name == LOCALTIME:
        raise PeriodError(
            "'localtime' is the service's own time zone, which is not known here: give its name, such as "
            "'America/New_York'; who runs the service knows it (`accounting-analytics service instances` lists it)"
        )
    if name not in time_zone_names():
        similar = _similar_zone_name(name)
        hint = (
            "use an IANA name such as 'America/New_York' or 'UTC'" if similar is None else f"did you mean {similar!r}?"
        )
        raise PeriodError(f"{quote(name)} is not a time zone of the interface; {hint}")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:  # the zone has no file, or a damaged file
        raise PeriodError(f"no zone data for {name!r} on this machine; install it with: pip install tzdata") from error


class DayZone(NamedTuple):
    """Time zone in which days are counted, and notes about it for the reader."""

    name: str
    notes: tuple[str, ...]


def choose_zone(time_zone: ZoneLike | None, default: ZoneLike | None = None) -> DayZone:
    """Choose the given time zone, else the default, else UTC.

    A note says that UTC was assumed, or that the zone has no summer time.
    """
    chosen = default if time_zone is None else time_zone
    name = UTC if chosen is None else zone_name(chosen)
    assumed = [] if chosen is not None else ["No time zone was given, so the days are those of UTC."]
    summer_time = [_fixed_offset_note(name)] if _is_fixed_abbreviation(name) else []
    return DayZone(name, (*assumed, *summer_time))


def _similar_zone_name(text: str) -> str | None:
    """Find the time zone that a misspelt name means.

    The city or a similar spelling decides.
    """
    key = text.strip().lower().replace(" ", "_")
    by_key = {name.lower(): name for name in sorted(time_zone_names())}
    of_city = [name for name in by_key.values() if name.lower().endswith(f"/{key}")]
    if len(of_city) == 1 and key not in by_key:
        return of_city[0]
    similar = difflib.get_close_matches(key, by_key, n=1, cutoff=_SIMILARITY)
    return by_key[similar[0]] if similar else None


def _is_fixed_abbreviation(name: str) -> bool:
    """Return whether a zone is an abbreviation without summer time.

    An example is EST. UTC and GMT do not count, because their offset is zero.
    """
    winter, summer = (instant.astimezone(zone(name)) for instant in (_JANUARY, _JULY))
    return winter.tzname() == summer.tzname() == name and bool(winter.utcoffset())


def _fixed_offset_note(name: str) -> str:
    """Write a note that a zone has no summer time.

    The note suggests a zone with summer time, if known.
    """
    offset = f"{_JANUARY.astimezone(zone(name)):%z}"
    city = _CITIES_WITH_SUMMER_TIME.get(name)
    hint = f"; for the days of {city.rpartition('/')[2].replace('_', ' ')} use {city}" if city else ""
    return f"{name} does not follow summer time: it is UTC{offset[:3]}:{offset[3:]} all year{hint}."


def local_date(instant: dt.datetime, tz: ZoneInfo) -> dt.date:
    """Return the local date of an instant, limited to the calendar."""
    try:
        return instant.astimezone(tz).date()
    except OverflowError:
        return dt.date.min if instant.year == dt.MINYEAR else dt.date.max


def as_utc(instant: dt.datetime) -> dt.datetime:
    """Convert an instant to UTC. A naive instant is already in UTC."""
    if instant.tzinfo is None:
        return instant.replace(tzinfo=dt.UTC)
    return instant if instant.tzinfo is dt.UTC else instant.astimezone(dt.UTC)


def parse_date(value: DateLike, name: str = "date", *, last: bool = False) -> dt.date:
    """Parse a calendar date. Messages call the argument `name`.

    A ``pandas.Period`` means its first day, or with `last` its last day. A datetime must be a midnight without a zone.
    """
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    date = _date_of_text(_date_text(value, last=last))
    if date is not None:
        return date
    if isinstance(value, dt.datetime) and ":" in str(value):  # NaT is not a date
        raise PeriodError(
            f"{name} {value} is not midnight without a time zone; give the calendar date, such as its .date()"
        )
    days = _calendar_days(value) if isinstance(value, str) else None
    if days is not None:
        raise PeriodError(f"{name} {quote(value)} has several days: from {days[0]} to {days[1]}; name one of them")
    if isinstance(value, Period):
        raise PeriodError(f"{name} is a Period; pass its start_date and its end_date")
    raise PeriodError(f"{name} {quote(value)} is not a calendar date; write it like 2025-01-31")


def _date_text(value: Any, *, last: bool) -> str:  # noqa: ANN401 (anything that is not a date)
    """Return a whole day as an ISO date, and texts unchanged.

    Return "" for any other value.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dt.datetime):
        return _day_at_midnight(value.isoformat())
    if getattr(getattr(value, "dtype", None), "kind", None) == "M":  # numpy.datetime64
        return _day_at_midnight(str(value))
    if hasattr(value, "start_time") and hasattr(value, "end_time"):  # pandas.Period
        first = _day_at_midnight(value.start_time.isoformat())
        end, _, time = value.end_time.isoformat().partition("T")
        if first and time.startswith("23:59:59.999"):
            return end if last else first
    return ""


def _day_at_midnight(text: str) -> str:
    """Return the date of a midnight or a day, else ""."""
    day, _, time = text.partition("T")
    return "" if time.strip("0:.") else day


def _date_of_text(text: str) -> dt.date | None:
    """Parse ``YYYY-MM-DD``, or return None for any other text."""
    try:
        date = dt.date.fromisoformat(text)
    except ValueError:
        return None
    return date if date.isoformat() == text else None  # fromisoformat also reads 20250131 and 2025-W05-5


@dataclass(frozen=True, order=True, init=False, repr=False)
class Period:
    """Calendar days from `start_date` to `end_date`, both inclusive, in a time zone.

    Parameters
    ----------
    start_date, end_date : date-like
        First and last day: a date, ``YYYY-MM-DD``, a datetime at midnight, or a ``pandas.Period``.
    time_zone : str or ZoneInfo
        A time zone name of the interface but ``localtime``, which only the service knows.

    Raises
    ------
    PeriodError
        The end is before the start, a date is not one, or the time zone is unknown.
    """

    start_date: dt.date
    end_date: dt.date
    time_zone: str

    def __init__(self, start_date: DateLike, end_date: DateLike, time_zone: ZoneLike = UTC) -> None:
        object.__setattr__(self, "start_date", parse_date(start_date, "start_date"))
        object.__setattr__(self, "end_date", parse_date(end_date, "end_date", last=True))
        object.__setattr__(self, "time_zone", zone_name(time_zone))
        if self.end_date < self.start_date:
            raise PeriodError(f"end_date {self.end_date} is before start_date {self.start_date}")
        zone(self.time_zone)

    @classmethod
    def of(cls, start_date: DateLike, end_date: DateLike, time_zone: ZoneLike = UTC) -> Self:
        """Create a period from two dates, as the constructor does."""
        return cls(start_date, end_date, time_zone)

    @classmethod
    def relative(cls, name: str, *, as_of: DateLike | None = None, time_zone: ZoneLike = UTC) -> Self:
        """Return the period relative to a day, such as ``last-month``.

        Parameters
        ----------
        name : str
            ``today``, ``yesterday``; ``this-``, ``last-`` with ``month``, ``quarter`` or ``year`` for all days of it;
            ``month-to-date``, ``quarter-to-date`` or ``year-to-date`` (``mtd``, ``qtd``, ``ytd``) for those up to and
            including the day.
        as_of : date-like, optional
            The day; by default today in `time_zone`.
        time_zone : str or ZoneInfo
            Zone of the period.

        Raises
        ------
        PeriodError
            The name, the day or the time zone is unknown, or the period is before the calendar.
        """
        day = today_in(time_zone) if as_of is None else parse_date(as_of, "as_of")
        days = relative_days(name, day)
        if days is None:
            raise PeriodError(_unknown_period_message(name))
        return cls(*days, time_zone)

    @classmethod
    def parse(cls, text: str, *, as_of: DateLike | None = None, time_zone: ZoneLike = UTC) -> Self:
        """Parse a period as people type it on a command line.

        Parameters
        ----------
        text : str
            A year, half, quarter, month or day of the calendar (``2026``, ``2026-H1``, ``2026-Q1`` or ``Q1 2026``,
            ``2026-03`` or ``March 2026``, ``2026-03-15``), two of them for the first to the last
            (``2026-03-01/2026-03-15``), or a name of :meth:`relative`.
        as_of : date-like, optional
            The day that a name is relative to; by default today in `time_zone`.
        time_zone : str or ZoneInfo
            Zone of the period.

        Raises
        ------
        PeriodError
            The text is not a period, its end is before its start, or the time zone is unknown.
        """
        if relative_name(text):
            return cls.relative(text, as_of=as_of, time_zone=time_zone)
        first, slash, last = text.partition("/") if isinstance(text, str) else ("", "", "")
        days = _calendar_days(first)
        last_days = _calendar_days(last) if slash else days
        if days is None or last_days is None:
            raise PeriodError(_not_a_period_message(text))
        return cls(days[0], last_days[1], time_zone)

    def __repr__(self) -> str:
        return f"Period('{self.start_date}', '{self.end_date}', {self.time_zone!r})"

    def __str__(self) -> str:
        return f"{self.start_date} to {self.end_date} ({self.time_zone})"

    @property
    def month(self) -> str:
        """Year and month of the first day: ``2026-01``."""
        return self.start_date.isoformat()[:7]

    @property
    def days(self) -> int:
        """Number of days, at least 1."""
        return (self.end_date - self.start_date).days + 1

    def months(self) -> list[Period]:
        """Split the period into calendar months; the first and last may be parts of a month."""
        months = []
        first: dt.date | None = self.start_date
        while first is not None and first <= self.end_date:
            months.append(Period(first, min(self.end_date, month_end(first)), self.time_zone))
            first = _next_month(first)
        return months

    def windows(self, days: int) -> list[Period]:
        """Split the period into windows of at most `days` days."""
        if days < 1:
            raise PeriodError(f"a window needs at least one day, not {days}")
        return [
            Period(
                self.start_date + first * DAY,
                self.start_date + (min(first + days, self.days) - 1) * DAY,
                self.time_zone,
            )
            for first in range(0, self.days, days)
        ]

    def instants(self) -> tuple[Interval, ...]:
        """Return the UTC instants whose local date is in the period.

        This is usually one interval. If clocks went back across midnight, there are several, disjoint and in order.
        """
        return _subtract(instants_since(self.start_date, self.time_zone), self._instants_after())

    def instants_before(self) -> tuple[Interval, ...]:
        """Return the UTC instants whose local date is before the period."""
        everything = (Interval(dt.datetime.min.replace(tzinfo=dt.UTC), None),)
        return _subtract(everything, instants_since(self.start_date, self.time_zone))

    def contains(self, instant: dt.datetime) -> bool:
        """Return whether the local date of an instant is in the period."""
        return self.start_date <= local_date(instant, zone(self.time_zone)) <= self.end_date

    def covers(self, other: Period) -> bool:
        """Return whether every instant of another period is in this period."""
        if self.time_zone == other.time_zone:
            return self.start_date <= other.start_date and other.end_date <= self.end_date
        return not _subtract(other.instants(), self.instants())

    def _instants_after(self) -> tuple[Interval, ...]:
        if self.end_date == dt.date.max:
            zone(self.time_zone)
            return ()
        return instants_since(self.end_date + DAY, self.time_zone)


@lru_cache(maxsize=4096)
def instants_since(date: dt.date, time_zone: str) -> tuple[Interval, ...]:
    """Return the UTC instants from a local date on, as ordered intervals."""
    tz = zone(time_zone)
    if date == dt.date.min:
        return (Interval(dt.datetime.min.replace(tzinfo=dt.UTC), None),)
    midnight = dt.datetime.combine(date, dt.time())
    # The zone's offset is constant between its changes. Within such a span the local date is `date` or later from
    # `midnight - offset` on, so each span contributes the part after that instant; adjoining parts are merged. Offsets
    # are less than 24 hours, so no change of interest is further than a day from `midnight` in UTC.
    spans: list[tuple[dt.datetime, dt.datetime]] = []
    for start, end, offset in _constant_offsets(tz, midnight - DAY, _day_after(midnight)):
        since = max(start, midnight - offset)
        if since >= end:
            continue
        if spans and spans[-1][1] == since:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((since, end))
    closed = [Interval(start.replace(tzinfo=dt.UTC), end.replace(tzinfo=dt.UTC)) for start, end in spans]
    return (*closed[:-1], Interval(closed[-1].start, None))


def _day_after(midnight: dt.datetime) -> dt.datetime:
    return midnight + DAY if midnight <= dt.datetime.max - DAY else dt.datetime.max


def _constant_offsets(
    tz: ZoneInfo, start: dt.datetime, end: dt.datetime
) -> Iterator[tuple[dt.datetime, dt.datetime, dt.timedelta]]:
    """Split a span of naive UTC time where the zone's offset changes.

    Changes are hours apart.
    """
    since, offset, checked = start, _offset(tz, start), start
    while checked < end:
        following = checked + min(_HOUR, end - checked)
        if _offset(tz, following) != offset:
            change = _offset_change(tz, checked, following)
            yield since, change, offset
            since, offset = change, _offset(tz, change)
        checked = following
    yield since, end, offset


def _offset_change(tz: ZoneInfo, before: dt.datetime, after: dt.datetime) -> dt.datetime:
    """Find the first second after `before` with another offset."""
    offset = _offset(tz, before)
    low, high = 0, round((after - before) / _SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(tz, before + middle * _SECOND) == offset:
            low = middle
        else:
            high = middle
    return before + high * _SECOND


def _offset(tz: ZoneInfo, instant: dt.datetime) -> dt.timedelta:
    local = min(max(instant, _FIRST), _LAST).replace(tzinfo=dt.UTC).astimezone(tz)
    return local.utcoffset() or dt.timedelta(0)


def _subtract(intervals: tuple[Interval, ...], removed: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """Return the instants that are not in the removed intervals."""
    for gap in removed:
        intervals = tuple(
            part
            for interval in intervals
            for part in (
                Interval(interval.start, _earlier(interval.end, gap.start)),
                *([] if gap.end is None else [Interval(max(interval.start, gap.end), interval.end)]),
            )
            if part.end is None or part.start < part.end
        )
    return intervals


def _earlier(end: dt.datetime | None, start: dt.datetime) -> dt.datetime:
    return start if end is None else min(end, start)


def day_before(day: dt.date) -> dt.date:
    """Return the day before, or the day itself if it is the first of the calendar."""
    return day if day == dt.date.min else day - DAY


def day_after(day: dt.date) -> dt.date:
    """Return the day after, or the day itself if it is the last of the calendar."""
    return day if day == dt.date.max else day + DAY


def month_start(day: dt.date) -> dt.date:
    """Return the first day of a day's month."""
    return day.replace(day=1)


def month_end(day: dt.date) -> dt.date:
    """Return the last day of a day's month."""
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _next_month(date: dt.date) -> dt.date | None:
    """Return the first day of the next month.

    After the calendar's last month, return None.
    """
    if (date.year, date.month) == (dt.MAXYEAR, 12):
        return None
    return dt.date(date.year + date.month // 12, date.month % 12 + 1, 1)


def today_in(time_zone: ZoneLike) -> dt.date:
    """Return today's date in a time zone."""
    return dt.datetime.now(zone(time_zone)).date()


def relative_name(text: object) -> str | None:
    """Return the name of the relative period that a text means, else None."""
    name = text.strip().lower() if isinstance(text, str) else ""
    name = _ABBREVIATIONS.get(name, name)
    return name if name in RELATIVE_PERIODS else None


def relative_days(text: str, day: dt.date, first_month: int = 1) -> tuple[dt.date, dt.date] | None:
    """Return the first and last day of a relative period, or None if no period has the name."""
    name = relative_name(text)
    try:
        match name.split("-") if name else []:
            case ["today"]:
                return day, day
            case ["yesterday"]:
                return day - DAY, day - DAY
            case ["this", unit]:
                return _first_day(day, unit, first_month), _last_day(day, unit, first_month)
            case ["last", unit]:
                before = _first_day(day, unit, first_month) - DAY
                return _first_day(before, unit, first_month), before
            case [unit, *_]:
                return _first_day(day, unit, first_month), day
    except (OverflowError, ValueError):
        raise PeriodError(f"there is no {name} as of {day}: the calendar starts on {dt.date.min}") from None
    return None


def _calendar_days(text: str) -> tuple[dt.date, dt.date] | None:
    """Return the first and last day of a calendar period.

    Return None for any other text.
    """
    text = text.strip()
    if in_numbers := _DAYS_IN_NUMBERS.fullmatch(text):
        year, month, day = in_numbers.groups()
        first = _date_of_text(f"{year}-{month or '01'}-{day or '01'}")
        unit = "day" if day else "month" if month else "year"
    elif (named := _YEAR_AND_PART.fullmatch(text.upper())) and (named[2] or named[3]) in _PARTS_OF_YEAR:
        month, unit = _PARTS_OF_YEAR[named[2] or named[3]]
        first = _date_of_text(f"{named[1] or named[4]}-{month:02}-01")
    else:
        return None
    if first is None:
        return None
    return first, first if unit == "day" else _last_day(first, unit)


def _first_day(day: dt.date, unit: str, first_month: int = 1) -> dt.date:
    """Return the first day of the unit that contains a day.

    A unit is a month, quarter, half or year.
    """
    months = 12 * day.year + day.month - 1 - (day.month - first_month) % _MONTHS_IN[unit]
    return dt.date(months // 12, months % 12 + 1, 1)


def _last_day(day: dt.date, unit: str, first_month: int = 1) -> dt.date:
    """Return the last day of the unit that contains a day.

    A unit is a month, quarter, half or year.
    """
    last = _first_day(day, unit, first_month)
    for _ in range(_MONTHS_IN[unit] - 1):
        last = _next_month(last) or last
    return month_end(last)


def _unknown_period_message(name: object) -> str:
    hint = _similar_period_name(name) or f"the names are {', '.join(RELATIVE_PERIODS)}"
    return f"{quote(name)} is not a relative period; {hint}"


def _not_a_period_message(text: object) -> str:
    if meant := _meant_days(str(text).strip()):
        return f"{quote(text)} is not a period; did you mean {meant!r}?"
    hint = (
        "write it like 2026, 2026-H1, 2026-Q1, Q1 2026, 2026-03, March 2026, 2026-03-01/2026-03-15, ytd or last-month"
    )
    month = re.match(r"\d{4}-(\d\d)(?:-|$)", str(text))
    if month and not 1 <= int(month[1]) <= len(_MONTH_NAMES):
        hint = f"there is no month {month[1]}"
    return f"{quote(text)} is not a period; {_similar_period_name(text) or hint}"


def _meant_days(text: str) -> str | None:
    """Guess the period that a text in another form means."""
    if found := re.fullmatch("([0-9]{1,2})[/.-]([0-9]{4})", text):
        return f"{found[2]}-{int(found[1]):02}" if 1 <= int(found[1]) <= len(_MONTH_NAMES) else None
    if found := re.fullmatch("([0-9]{4})[/.]([0-9]{1,2})", text):
        return f"{found[1]}-{int(found[2]):02}" if 1 <= int(found[2]) <= len(_MONTH_NAMES) else None
    found = re.fullmatch("([A-Za-z][A-Za-z0-9]*)[ -]'?([0-9]{2})", text)
    is_known = found is not None and found[1].upper() in _PARTS_OF_YEAR
    return f"{found[1]} 20{found[2]}" if found and is_known else None


def _similar_period_name(name: object) -> str | None:
    similar = difflib.get_close_matches(str(name).strip().lower().replace(" ", "-"), RELATIVE_PERIODS, n=1)
    return f"did you mean {similar[0]!r}?" if similar else None


def day_label(day: dt.date) -> str:
    """Format a day: ``1 Jan 2025``."""
    return f"{day.day} {month_label(day)}"


def days_label(period: Period) -> str:
    """Format the days of a period, or its months if they are whole."""
    first, last = period.start_date, period.end_date
    if first == month_start(first) and last == month_end(last):
        months = dict.fromkeys((month_label(first), month_label(last)))
        return " to ".join(months)
    if first == last:
        return day_label(first)
    start = f"{first.day}" if (first.year, first.month) == (last.year, last.month) else day_label(first)
    return f"{start} to {day_label(last)}"


def period_label(period: Period) -> str:
    """Format a period for sentences: ``Jan 2025 to Jun 2026 (America/New_York)``."""
    return f"{days_label(period)} ({period.time_zone})"


def month_label(day: dt.date) -> str:
    """Format the month of a day: ``Jan 2025``."""
    return f"{month_name(day)} {day.year:04}"


def month_name(day: dt.date) -> str:
    """Return the month name of a day in any locale: ``Jan``."""
    return _MONTH_NAMES[day.month - 1]
