"""Days of files that banks and accounting programs export, in a stated order."""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import day_label, days_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.core.periods import Period
    from accounting_analytics.journals.file_entries import FileErrors

DATE_ORDERS = ("day month year", "month day year", "year month day")

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAY = re.compile(r"(\w+)([./ -]) ?(\w+),?\2 ?(\w+)")
_COMPACT = {"year month day": r"(\d{4})(\d\d)(\d\d)", "day month year": r"(\d\d)(\d\d)(\d{4})"}
_COMPACT["month day year"] = _COMPACT["day month year"]
_WEEKDAY = re.compile(r"(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?[.,]? ", re.IGNORECASE)
_TIME = re.compile(r"(?:T|,? )(\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d+)?)? ?([AaPp][Mm])? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$")
_SHORTEST_NAME = 3
_FIRST_OF_1900 = 69
_NOON = 12
_MAX_MOMENTS = 10_000
_SHOWN = 3


class DayCells:
    """Reader of days, with or without a time, in a stated order of day, month and year."""

    def __init__(self, order: str) -> None:
        self._order = order

    def moment(self, cell: str) -> dt.date | dt.datetime:
        """Read a day, or a day with a time. Refuse another order."""
        found = read_moment(cell, self._order)
        if found is None:
            others = {order: read_moment(cell, order) for order in DATE_ORDERS if order != self._order}
            readings = [f"; by {quote(order)} it is {_shown(moment)}" for order, moment in others.items() if moment]
            raise ValueError(f"{quote(cell)} is not a day by {quote(self._order)}{''.join(readings)}")
        return found


@lru_cache(maxsize=_MAX_MOMENTS)
def read_moment(cell: str, order: str) -> dt.date | dt.datetime | None:
    """Read a day, or a day with a time, in an order, or return None if the cell is neither."""
    time = _TIME.search(cell)
    day = _read_day(cell[: time.start()] if time else cell, order)
    if day is None or time is None:
        return day
    hour, minute, second = (int(part or 0) for part in time.group(1, 2, 3))
    half = (time[4] or "").upper()
    if half:
        hour = hour % _NOON + (_NOON if half == "PM" else 0)
    try:
        return dt.datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=_offset(time[5]))
    except ValueError:
        return None


def _offset(text: str | None) -> dt.tzinfo | None:
    """Read the UTC offset of a time, or return None."""
    if not text:
        return None
    if text.isalpha():
        return dt.UTC
    return dt.datetime.strptime(text.replace(":", "").ljust(5, "0"), "%z").tzinfo


def _read_day(text: str, order: str) -> dt.date | None:
    """Read a day from three parts, or from eight digits.

    A month may be an English name of three letters or more.
    """
    text = _WEEKDAY.sub("", text, count=1)
    compact = re.fullmatch(_COMPACT[order], text)
    match = compact or _DAY.fullmatch(text)
    if match is None:
        return None
    parts = match.groups() if compact else match.group(1, 3, 4)
    named = dict(zip(order.split(), parts, strict=True))
    month = named["month"].lower()
    if not month.isdigit():
        numbers = [number for number, name in enumerate(_MONTHS, start=1) if name.startswith(month)]
        named["month"] = str(numbers[0]) if numbers and len(month) >= _SHORTEST_NAME else ""
    if not all(part.isdigit() and part.isascii() for part in named.values()):
        return None
    year, day = named["year"], named["day"]
    if len(year) not in {2, 4} or len(day) > 2 or len(named["month"]) > 2:  # noqa: PLR2004 (digits of a day)
        return None
    try:
        return dt.date(_full_year(year), int(named["month"]), int(day))
    except ValueError:
        return None


def _full_year(year: str) -> int:
    """Read a year. Two digits mean 1969 to 2068, as in POSIX."""
    if len(year) > 2:  # noqa: PLR2004 (digits of a year)
        return int(year)
    return int(year) + (2000 if int(year) < _FIRST_OF_1900 else 1900)


def _shown(moment: dt.date) -> str:
    return day_label(_day_of(moment))


def day_readings(cells: Sequence[str]) -> str:
    """Describe which days cells mean in each order."""
    found = {order: [read_moment(cell, order) for cell in cells] for order in DATE_ORDERS}
    texts = [
        f"{quote(order)} reads {', '.join(map(_shown, filter(None, days)))}"
        for order, days in found.items()
        if all(days)
    ]
    return "; ".join(texts) or f"none of {', '.join(map(quote, DATE_ORDERS))} reads them"


class ReadDay(NamedTuple):
    """A day, the cell from which it was read, and the text line of the cell."""

    place: str
    cell: str
    day: dt.date


def check_days(days: Sequence[ReadDay], order: str, period: Period | None, errors: FileErrors) -> list[str]:
    """Refuse days outside the period, or days that are sorted only if they are read in another order.

    Sorting is checked only without a period. A note names another order in which all cells are also days.
    """
    if period is not None:
        for read_day in days:
            if not period.start_date <= read_day.day <= period.end_date:
                errors.add(read_day.place, f"{day_label(read_day.day)} is not in the period, {days_label(period)}")
        errors.raise_if_any()
        return []
    notes: list[str] = []
    read = [read_day.day for read_day in days]
    for other in DATE_ORDERS:
        others = _days_by(other, days) if other != order else None
        if others is None:
            continue
        if _is_in_order(others) and not _is_in_order(read):
            shown = [read_day.cell for read_day in days[:_SHOWN]]
            errors.fail(
                f"by date_order {quote(order)} the days go up and down, and by {quote(other)} they are in order "
                f"({', '.join(map(quote, shown))}: {day_readings(shown)}); state the other order, or period= if this "
                "one is right"
            )
        if {*others} != {*read} and not notes:
            notes.append(
                f"the days are {_range(read)} by date_order {quote(order)}, and would be {_range(others)} by "
                f"{quote(other)}: period= compares them with the days of the statement"
            )
    return notes


def _days_by(order: str, days: Sequence[ReadDay]) -> list[dt.date] | None:
    """Read all cells as days, written in the given order.

    Return None if a cell is not a day.
    """
    read = []
    for read_day in days:
        moment = read_moment(read_day.cell, order)
        if moment is None:
            return None
        read.append(_day_of(moment))
    return read


def _range(days: Sequence[dt.date]) -> str:
    """Format the first and the last day."""
    first, last = min(days), max(days)
    return day_label(first) if first == last else f"{day_label(first)} to {day_label(last)}"


def _is_in_order(days: Sequence[dt.date]) -> bool:
    """Return whether days only go up, or only down."""
    return [*days] in (sorted(days), sorted(days, reverse=True))


def _day_of(moment: dt.date) -> dt.date:
    return moment.date() if isinstance(moment, dt.datetime) else moment
