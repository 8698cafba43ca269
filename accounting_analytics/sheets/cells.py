"""Cells as spreadsheets write and convert them: guarded text, amounts with any decimal mark, dates in any order.

Text that a spreadsheet would compute or convert is written with an apostrophe, and read back without it. An amount or
a date is read where its meaning is certain, from the cell or from the other cells of its column.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import AmountError
from accounting_analytics.messages import quote
from accounting_analytics.money import MAX_SCALE, parse_amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Cell = str | bool | Decimal | dt.datetime
"""A cell; an empty one is empty text. A CSV file has text only."""
BYTE_ORDER_MARK = "\ufeff"
"""Tells spreadsheets that the file is UTF-8."""

GUARD = "'"
FORMULA_START = "=+-@\t\r\n＝＋－＠"  # noqa: RUF001 (spreadsheets take the wide signs for formulas too)
"""Characters with which a cell begins that a spreadsheet computes."""
_MONTH_NAME = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_CONVERTED = re.compile(
    r"[\d\s.,:/%()$-]*\d[\d\s.,:/%()$-]*(e[+-]?\d+)?"  # 00123, 1e5, 3-4, 12:30
    r"|(true|false)"
    rf"|\d{{1,4}}[\s./-]*{_MONTH_NAME}[\s./-]*\d{{0,4}}|{_MONTH_NAME}[\s./-]*\d{{1,4}}"  # 1-Mar, 1 March 2026, MAR1
    r"|\d+(\.\d+)?\s*[ap]m?",
    re.IGNORECASE,
)

_MINUS, _SPACES = "\N{MINUS SIGN}", re.compile(r"(?<=\d)[\s](?=\d{3}(?!\d))")
_ONE_MARK = re.compile(r"-?(\d+)([.,])(\d+)")
_GROUPED = {
    ".": re.compile(r"-?\d{1,3}(,\d{3})+\.\d+|-?\d{1,3}(,\d{3}){2,}"),
    ",": re.compile(r"-?\d{1,3}(\.\d{3})+,\d+|-?\d{1,3}(\.\d{3}){2,}"),
}
"""Numbers with a mark between groups of three digits, by decimal mark."""
_SHORTENED = re.compile(r"-?\d+([.,]\d+)?e[+-]?\d+", re.IGNORECASE)
_GROUP_DIGITS = 3
_TOO_NARROW = re.compile(r"#+")

_SERIAL = re.compile(r"\d{5}([.,]\d+)?")
_SERIAL_START = dt.datetime(1899, 12, 30, tzinfo=dt.UTC)
_YEAR_FIRST = re.compile(r"(\d{4})([./])(\d{1,2})\2(\d{1,2})(\D.*)?")
_YEAR_LAST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|(?<!-)\d{2})(\D.*)?")  # 26-01-15 may start with the year
_TIME = re.compile(r",?\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?:\s*([ap])m)?", re.IGNORECASE)
EMPTY = "the cell is empty"
_YEARS = range(1000, 9999)
_CENTURY = 2000
_MONTHS = 12
_AS_WRITTEN = (
    "is not as the plan was written (2025-03-10T12:00:00+00:00): a spreadsheet changed the column; format it as "
    "yyyy-mm-dd hh:mm:ss, or make the file again"
)


class Invalid(NamedTuple):
    """A cell without a certain value, and why."""

    reason: str


def cell_text(cell: Cell) -> str:
    """Cell as text; a number without exponent, a boolean as spreadsheets show it."""
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    return str(cell).upper() if isinstance(cell, bool) else str(cell)


def guard(text: str) -> str:
    """Text with a leading apostrophe where a spreadsheet would compute or convert it."""
    return f"{GUARD}{text}" if text.startswith((*FORMULA_START, GUARD)) or is_converted(text) else text


def is_converted(text: str) -> bool:
    """Whether a spreadsheet would silently convert text to a number, a date or a boolean."""
    return _CONVERTED.fullmatch(text) is not None


def unguard(cell: str) -> str:
    """Text of a cell, without the apostrophe of `guard`."""
    return cell.removeprefix(GUARD)


def decimal_marks(cells: Iterable[Cell]) -> frozenset[str]:
    """Decimal marks that the amounts of a file prove: with ``-1,50`` it is the comma, whatever ``1.234`` may mean."""
    return frozenset(mark for cell in cells if isinstance(cell, str) for mark in _proven_mark(_plain(cell)))


def read_amount(cell: Cell, marks: frozenset[str], separator: str | None) -> Decimal | Invalid:
    """Exact amount of a cell, in a file with these decimal marks and this separator."""
    if isinstance(cell, Decimal):
        return _parse(f"{cell:f}")
    if not isinstance(cell, str):
        return Invalid(f"{quote(str(cell))} is not an amount: a spreadsheet changed it; make the file again")
    if _SHORTENED.fullmatch(cell):
        return Invalid(f"{quote(cell)} lacks digits: a spreadsheet shortened it; format the column as 0.00")
    if _TOO_NARROW.fullmatch(cell):
        return Invalid("the column was too narrow when the file was saved; make it wider and save again")
    text = _plain(cell)
    mark = next(iter(_proven_mark(text)), None)
    if mark is None and _ONE_MARK.fullmatch(text):
        mark = _assumed_mark(text, marks, separator)
        if mark is None:
            return Invalid(f"{quote(cell)} may have a decimal mark or a mark of thousands; format the column as 0.00")
    group = "," if mark == "." else "."
    return _parse(text.replace(group, "").replace(mark, ".") if mark else text)


def _plain(text: str) -> str:
    """Remove spaces between groups of digits, and make the minus sign a plain one."""
    return _SPACES.sub("", text.strip()).replace(_MINUS, "-")


def _proven_mark(text: str) -> set[str]:
    """Find the decimal mark of a number, where the number itself proves it."""
    found = {mark for mark, pattern in _GROUPED.items() if pattern.fullmatch(text)}
    one = _ONE_MARK.fullmatch(text)
    if one and (len(one[3]) != _GROUP_DIGITS or len(one[1]) > _GROUP_DIGITS or one[1].startswith("0")):
        return {one[2]}
    return set() if one else found


def _assumed_mark(text: str, marks: frozenset[str], separator: str | None) -> str | None:
    """Find the decimal mark of a number such as 1.234: that of the other amounts, or that of an unchanged file."""
    if len(marks) == 1:
        return next(iter(marks))
    return "." if not marks and "." in text and separator in {",", None} else None


def _parse(text: str) -> Decimal | Invalid:
    try:
        return parse_amount(text, min(len(text.partition(".")[2]), MAX_SCALE)).amount
    except AmountError as error:
        return Invalid(str(error))


def read_instants(cells: Sequence[Cell]) -> list[dt.datetime | Invalid]:
    """Instants of a column; those without a zone are in UTC, as plans are written."""
    orders = _proven_orders(cells)
    return [_read_instant(cell, orders) for cell in cells]


def _read_instant(cell: Cell, orders: frozenset[str]) -> dt.datetime | Invalid:
    """Read an instant of the years for which days before and after it can be calculated."""
    found = _parse_instant(cell, orders)
    if isinstance(found, dt.datetime) and found.year not in _YEARS:
        return Invalid(f"{quote(str(cell))} is not in the years {_YEARS.start} to {_YEARS.stop - 1}")
    return found


def _parse_instant(cell: Cell, orders: frozenset[str]) -> dt.datetime | Invalid:
    """Parse a cell; a number is an instant only in text, because a workbook has dates for those."""
    if isinstance(cell, dt.datetime):
        return _to_second(cell.replace(tzinfo=dt.UTC))
    text = str(cell).strip()
    if _TOO_NARROW.fullmatch(text):
        return Invalid("the column was too narrow when the file was saved; make it wider and save again")
    if isinstance(cell, Decimal):
        return Invalid(f"{quote(text)} {_AS_WRITTEN}")
    if _SERIAL.fullmatch(text):
        return _from_serial(text)
    found = _from_iso(text) or _year_first(text) or _year_last(text, orders)
    return found or Invalid(f"{quote(text)} {_AS_WRITTEN}" if text else EMPTY)


def _to_second(instant: dt.datetime) -> dt.datetime:
    """Round to the nearest second: a spreadsheet stores a fraction of a day."""
    half = dt.timedelta(milliseconds=500)
    return (instant if instant.year == dt.MAXYEAR else instant + half).replace(microsecond=0)


def _from_serial(text: str) -> dt.datetime:
    """Instant of the number of days by which spreadsheets store it."""
    days = Decimal(text.replace(",", "."))
    return _to_second(_SERIAL_START + dt.timedelta(microseconds=int(days * 86_400_000_000)))


def _from_iso(text: str) -> dt.datetime | None:
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)


def _year_first(text: str) -> dt.datetime | None:
    found = _YEAR_FIRST.fullmatch(text)
    return _instant((found[1], found[3], found[4]), found[5]) if found else None


def _year_last(text: str, orders: frozenset[str]) -> dt.datetime | Invalid | None:
    """Instant of a date whose year comes last; between points the day is first, elsewhere the column decides."""
    found = _YEAR_LAST.fullmatch(text)
    if not found:
        return None
    first, mark, second, year, time = found.groups()
    own = _orders(first, mark, second)
    order = own if len(own) == 1 else own & orders
    if len(order) > 1 and first != second:
        return Invalid(
            "it is not certain which number is the day and which the month, and no other date in the column shows it; "
            "format the column as yyyy-mm-dd hh:mm:ss"
        )
    if not order:
        return None
    day, month = (first, second) if "day first" in order else (second, first)
    return _instant((year, month, day), time)


def _proven_orders(cells: Iterable[Cell]) -> frozenset[str]:
    """Orders of day and month that dates of a column prove; both where none does."""
    found = (_YEAR_LAST.fullmatch(cell.strip()) for cell in cells if isinstance(cell, str))
    possible = [_orders(one[1], one[2], one[3]) for one in found if one]
    proven = frozenset().union(*(one for one in possible if len(one) == 1))
    return proven if len(proven) == 1 else frozenset({"day first", "month first"})


def _orders(first: str, mark: str, second: str) -> frozenset[str]:
    """Orders that the numbers of a date allow."""
    day_first = int(second) <= _MONTHS
    month_first = int(first) <= _MONTHS and mark != "."
    return frozenset({*(["day first"] if day_first else []), *(["month first"] if month_first else [])})


def _instant(date: tuple[str, str, str], time: str | None) -> dt.datetime | None:
    """Instant of the digits of a date and the text after it; None where there is not such a day or time."""
    year, month, day = map(int, date)
    clock = _TIME.fullmatch(time) if time and time.strip() else None
    if time and time.strip() and not clock:
        return None
    hour, minute, second = (int(clock[index] or 0) for index in (1, 2, 3)) if clock else (0, 0, 0)
    if clock and clock[4]:
        if not 1 <= hour <= _MONTHS:
            return None
        hour = hour % 12 + (12 if clock[4].lower() == "p" else 0)
    try:
        return dt.datetime(year + (_CENTURY if year < 100 else 0), month, day, hour, minute, second, tzinfo=dt.UTC)  # noqa: PLR2004
    except ValueError:
        return None
