"""Amounts and dates as programs and banks write them; the format of a column is the one that fits all its cells."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING

from accounting_analytics.errors import AmountError
from accounting_analytics.messages import quote
from accounting_analytics.money import parse_amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accounting_analytics.sheets.cells import Cell

DATE_FORMATS = (
    "%Y-%m-%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d.%m.%y",
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y%m%d",
)
"""Formats of dates, as of :meth:`datetime.datetime.strptime`, that are tried where a mapping names none."""

_CLOCK = re.compile(r"[T ]+\d{1,2}:\d{2}.*$")
_CODE = re.compile(r"^[A-Z]{3}(?=[\s\d(+-])\s*|\s*(?<=[\s\d)])[A-Z]{3}$")
_GROUPS = {
    ".": re.compile(r"[+-]?(?:\d+|\d{1,3}(?:[,'\u2019 ]\d{2,3})*[,'\u2019 ]\d{3})?(?:\.\d*)?"),
    ",": re.compile(r"[+-]?(?:\d+|\d{1,3}(?:[.'\u2019 ]\d{3})+)?(?:,\d*)?"),
}


def read_amount(cell: Cell, decimal: str, scale: int) -> Decimal:
    """Exact amount of a cell with a decimal mark; zero if the cell is empty.

    Currency signs and codes, separators of thousands, and parentheses or a minus after a negative amount are known.
    """
    if isinstance(cell, Decimal):
        return parse_amount(cell, scale).amount
    if not isinstance(cell, str):
        raise AmountError(f"{quote(cell)} is not an amount")
    text = "".join(one for one in unicodedata.normalize("NFKC", cell).strip() if unicodedata.category(one) != "Sc")
    text = _CODE.sub("", text.strip()).strip().replace("\N{MINUS SIGN}", "-")
    if not text or text == "-":
        return Decimal(0)
    negative = text.startswith("(") and text.endswith(")")
    text = text[1:-1].strip() if negative else text
    if text.endswith("-"):
        negative, text = not negative, text[:-1].strip()
    text = re.sub(r"^([+-])\s+", r"\1", text)
    if not _GROUPS[decimal].fullmatch(text) or not any(map(str.isdigit, text)):
        raise AmountError(f"{quote(cell)} is not an amount with the decimal mark {decimal!r}")
    plain = re.sub("[^0-9+,-]" if decimal == "," else "[^0-9+.-]", "", text).replace(",", ".")
    amount = parse_amount(plain, scale)
    if amount.rounding_noise_removed:
        raise AmountError(f"{quote(cell)} does not fit {scale} fraction digits")
    return amount.amount.copy_negate() if negative and amount.amount else amount.amount


def find_decimal(cells: Iterable[Cell], scale: int) -> str:
    """Decimal mark with which most amounts can be read."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    return max(".,", key=lambda decimal: sum(_is_amount(text, decimal, scale) for text in texts))


def _is_amount(text: str, decimal: str, scale: int) -> bool:
    try:
        read_amount(text, decimal, scale)
    except AmountError:
        return False
    return True


def read_date(cell: Cell, date_format: str) -> dt.date:
    """Day of a cell; a time after it is left out."""
    if isinstance(cell, dt.datetime):
        return cell.date()
    text = _CLOCK.sub("", str(cell).strip())
    try:
        return dt.datetime.strptime(text, date_format).date()  # noqa: DTZ007 (a day has no zone)
    except ValueError:
        raise ValueError(
            f"{quote(str(cell))} is not a date like {dt.date(2025, 1, 31).strftime(date_format)}"
        ) from None


def find_date_format(cells: Sequence[Cell], formats: Sequence[str] = ()) -> str:
    """Format that fits most cells, the first of the given ones; without given ones it must be the only one."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    counts = {one: sum(_is_date(text, one) for text in texts) for one in formats or DATE_FORMATS}
    best = max(counts.values())
    fitting = [one for one, count in counts.items() if count == best]
    if formats or not best:
        return fitting[0]
    for text in texts:
        days = {read_date(text, one): one for one in fitting if _is_date(text, one)}
        if len(days) > 1:
            named = " or ".join(f"{day} ({one})" for day, one in days.items())
            raise ValueError(f"dates such as {quote(text)} can be {named}: give one (--date-format)")
    return fitting[0]


def _is_date(text: str, date_format: str) -> bool:
    try:
        read_date(text, date_format)
    except ValueError:
        return False
    return True
