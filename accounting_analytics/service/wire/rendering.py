"""JSON of what the service answers: exact numbers, ISO instants, and the resources of the interface."""

from __future__ import annotations

import datetime as dt
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

import msgspec

from accounting_analytics.service.wire.stored_records import instant
from accounting_analytics.service.wire.units import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.service.wire.stored_records import StoredLedger


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
    return _in_utc(instant(stored))


def ledger_fields(ledger: StoredLedger) -> dict[str, Any]:
    """Ledger as the answer of creating it."""
    return nested_ledger_fields(ledger) | {"parent_id": ledger.parent_id, "created_at": _in_utc(ledger.created_at)}


def nested_ledger_fields(ledger: StoredLedger) -> dict[str, Any]:
    """Ledger inside another object: no parent_id, and a creation time without zone designator."""
    fields = {name: getattr(ledger, name) for name in _NESTED_LEDGER_FIELDS}
    return fields | {"created_at": ledger.created_at.replace(tzinfo=None).isoformat()}


def error_fields(message: str, error_code: str, facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Body of an error answer."""
    return {"message": message, "data": facts, "display_message": message, "error_code": error_code}


def _in_utc(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
