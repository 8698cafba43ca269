"""The transaction of a line, as both operations that show one select and show it."""

from __future__ import annotations

from typing import NamedTuple

from accounting_analytics.service import tables
from accounting_analytics.service.rendering import quoted, timestamp
from accounting_analytics.service.units import joined, number_text

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
    _TRANSACTIONS.categorization_method,
)
"""Columns of a line and its transaction."""


class TransactionLine(NamedTuple):
    """A row of these columns; without a transaction, its part is None."""

    pk: int
    id: str
    journal_entry_pk: int
    datetime: int
    debit_credit: str
    high: int
    low: int
    journal_entry_id: str
    transaction_id: str | None
    transaction_description: str
    personal: bool
    posted_status: str
    review_status: str
    source_account_id: str | None
    categorization_method: str


def transaction_text(line: TransactionLine, ledger_id: str, scale: int) -> str:
    """Fields of a transaction, as the inside of a JSON object; its amount has the sign of its line.

    Parameters
    ----------
    line : TransactionLine
        A line that has a transaction.
    ledger_id : str
        Its ledger, as JSON.
    scale : int
        Fraction digits.
    """
    source = "" if line.source_account_id is None else f',"source_account_id":{quoted(line.source_account_id)}'
    return (
        f'"id":{quoted(line.transaction_id or "")},"amount":{number_text(joined(line.high, line.low), scale)},'
        f'"datetime":"{timestamp(line.datetime)}","description":{quoted(line.transaction_description)},'
        f'"journal_entry_id":{quoted(line.journal_entry_id)},"ledger_id":{ledger_id},"line_entry_id":{quoted(line.id)},'
        f'"personal":{"true" if line.personal else "false"},"posted_status":{quoted(line.posted_status)},'
        f'"review_status":{quoted(line.review_status)}{source}'
    )
