"""JSON of what the service answers: exact numbers, ISO instants, and the resources of the interface."""

from __future__ import annotations

import datetime as dt
import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

import msgspec

from accounting_analytics.service.stored import MICROSECONDS_A_DAY, instant
from accounting_analytics.service.units import number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accounting_analytics.service.stored import StoredLedger

_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SECONDS_A_DAY = 86_400
_MICROSECONDS_A_SECOND = 1_000_000

_NESTED_LEDGER_FIELDS = (
    "id",
    "name",
    "debit_credit",
    "editable",
    "financial_account_type",
    "is_required",
    "report_cash_flow",
    "sort_code",
    "sub_type",
    "type",
)

encode = msgspec.json.Encoder().encode
"""JSON of plain values, with :func:`number` for amounts."""

quoted = encode_basestring
"""JSON string of text, for what is written out by hand."""


def needs_no_escape(text: str) -> bool:
    """Whether text stands in a JSON string as it is."""
    return _ESCAPED.search(text) is None


def number(units: int, scale: int) -> msgspec.Raw:
    """Exact JSON number of minor units."""
    return msgspec.Raw(number_text(units, scale))


def timestamp(stored: int) -> str:
    """ISO 8601 text, in UTC, of stored microseconds; with a fraction only where there is one."""
    second, fraction = divmod(stored, _MICROSECONDS_A_SECOND)
    text = _DAYS[second // _SECONDS_A_DAY] + _TIMES[second % _SECONDS_A_DAY]
    return f"{text[:-1]}.{fraction:06d}Z" if fraction else text


class _Texts(dict[int, str]):
    """Texts of whole numbers, each made once."""

    def __init__(self, text_of: Callable[[int], str]) -> None:
        super().__init__()
        self._text_of = text_of

    def __missing__(self, number: int) -> str:
        text = self[number] = self._text_of(number)
        return text


# at most four million days and 86,400 seconds of them exist, and books have a few thousand
_DAYS = _Texts(lambda day: instant(day * MICROSECONDS_A_DAY).date().isoformat())
_TIMES = _Texts(lambda second: f"T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z")


def ledger_fields(ledger: StoredLedger) -> dict[str, Any]:
    """Ledger as the answer of creating it."""
    created = ledger.created_at.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    return nested_ledger_fields(ledger) | {"parent_id": ledger.parent_id, "created_at": created}


def nested_ledger_fields(ledger: StoredLedger) -> dict[str, Any]:
    """Ledger inside another object: no parent_id, and a creation time without zone designator."""
    fields = {name: getattr(ledger, name) for name in _NESTED_LEDGER_FIELDS}
    return fields | {"created_at": ledger.created_at.replace(tzinfo=None).isoformat()}


def error_fields(message: str, error_code: str, facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Body of an error answer."""
    return {"message": message, "data": facts, "display_message": message, "error_code": error_code}
