"""Rows of a line entry with its journal entry and transaction, as two operations select them."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import UNSET

from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.json_values import number
from accounting_analytics.service.wire.response_models import Transaction
from accounting_analytics.service.wire.stored_amounts import join_units
from accounting_analytics.service.wire.stored_records import instant

_LINES = tables.line_entries.c
_TRANSACTIONS = tables.transactions.c


class LineEntryRow(NamedTuple):
    """A row of :data:`COLUMNS`; without a transaction, its columns are None."""

    pk: int
    id: str
    journal_entry_pk: int
    datetime: int
    debit_credit: str
    high: int
    low: int
    description: str
    journal_entry_id: str
    journal_entry_description: str
    transaction_id: str | None
    transaction_description: str
    personal: bool
    posted_status: str
    review_status: str
    source_account_id: str | None
    categorization_method: str

    @property
    def units(self) -> int:
        """Signed amount in minor units: debit is positive."""
        return join_units(self.high, self.low)


COLUMNS = (
    _LINES.pk,
    _LINES.id,
    _LINES.journal_entry_pk,
    _LINES.datetime,
    _LINES.debit_credit,
    _LINES.high,
    _LINES.low,
    _LINES.description,
    tables.journal_entries.c.id.label("journal_entry_id"),
    tables.journal_entries.c.description.label("journal_entry_description"),
    _TRANSACTIONS.id.label("transaction_id"),
    _TRANSACTIONS.description.label("transaction_description"),
    _TRANSACTIONS.personal,
    _TRANSACTIONS.posted_status,
    _TRANSACTIONS.review_status,
    _TRANSACTIONS.source_account_id,
    _TRANSACTIONS.categorization_method,
)
"""Columns of a line and its transaction, in the order of :class:`LineEntryRow`."""


def transaction_of_line(row: LineEntryRow, transaction_id: str, ledger_id: str, scale: int) -> Transaction:
    """Transaction of a line; its amount has the sign of the line on its ledger."""
    return Transaction(
        id=transaction_id,
        amount=number(row.units, scale),
        datetime=instant(row.datetime),
        description=row.transaction_description,
        journal_entry_id=row.journal_entry_id,
        ledger_id=ledger_id,
        line_entry_id=row.id,
        personal=bool(row.personal),
        posted_status=row.posted_status,
        review_status=row.review_status,
        source_account_id=UNSET if row.source_account_id is None else row.source_account_id,
    )
