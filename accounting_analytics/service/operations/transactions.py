"""The transaction of a line, as both operations that show one select and show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accounting_analytics.service import tables
from accounting_analytics.service.rendering import number, timestamp
from accounting_analytics.service.units import joined

if TYPE_CHECKING:
    from accounting_analytics.service.stored import AnyRow

_LINES = tables.line_entries.c
_TRANSACTIONS = tables.transactions.c

COLUMNS = (
    _LINES.pk,
    _LINES.id,
    _LINES.journal_entry_pk,
    _LINES.datetime,
    _LINES.debit_credit,
    _LINES.high,
    _LINES.low,
    tables.journal_entries.c.id.label("journal_entry_id"),
    _TRANSACTIONS.id.label("transaction_id"),
    _TRANSACTIONS.description.label("transaction_description"),
    _TRANSACTIONS.personal,
    _TRANSACTIONS.posted_status,
    _TRANSACTIONS.review_status,
    _TRANSACTIONS.source_account_id,
)
"""Columns of a line and its transaction."""


def transaction_fields(row: AnyRow, ledger_id: str, scale: int) -> dict[str, Any]:
    """Transaction of a row of these columns; its amount has the sign of its line."""
    fields = {
        "id": row.transaction_id,
        "amount": number(joined(row.high, row.low), scale),
        "datetime": timestamp(row.datetime),
        "description": row.transaction_description,
        "journal_entry_id": row.journal_entry_id,
        "ledger_id": ledger_id,
        "line_entry_id": row.id,
        "personal": row.personal,
        "posted_status": row.posted_status,
        "review_status": row.review_status,
    }
    if row.source_account_id is not None:
        fields["source_account_id"] = row.source_account_id
    return fields
