"""JSON of what the service answers: exact numbers, ISO instants, and the resources of the interface."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

import msgspec

from accounting_analytics.service.stored import instant
from accounting_analytics.service.units import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.service.stored import StoredLedger

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


def number(units: int, scale: int) -> msgspec.Raw:
    """Exact JSON number of minor units."""
    return msgspec.Raw(number_text(units, scale))


def timestamp(stored: int) -> str:
    """ISO 8601 text, in UTC, of stored microseconds; with a fraction only where there is one."""
    second, fraction = divmod(stored, _MICROSECONDS_A_SECOND)
    text = f"{_day(second // _SECONDS_A_DAY)}{_time(second % _SECONDS_A_DAY)}"
    return f"{text}.{fraction:06d}Z" if fraction else f"{text}Z"


@lru_cache(maxsize=65536)
def _day(number_of_days: int) -> str:
    return instant(number_of_days * _SECONDS_A_DAY * _MICROSECONDS_A_SECOND).date().isoformat()


@lru_cache(maxsize=86400)
def _time(second: int) -> str:
    return f"T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


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
