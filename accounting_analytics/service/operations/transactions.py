"""The transaction of a line, as both operations that show one select and show it."""

from __future__ import annotations

from typing import NamedTuple

from accounting_analytics.service import tables
from accounting_analytics.service.rendering import quoted

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


def transaction_text(line: TransactionLine, ledger_id: str, amount: str, moment: str) -> str:
    """Fields of a transaction, as the inside of a JSON object.

    Parameters
    ----------
    line : TransactionLine
        A line that has a transaction.
    ledger_id : str
        Its ledger, as JSON.
    amount : str
        Its amount, with the sign of the line on its ledger.
    moment : str
        Its instant.
    """
    source = "" if line.source_account_id is None else f',"source_account_id":{quoted(line.source_account_id)}'
    return (
        f'"id":{quoted(line.transaction_id or "")},"amount":{amount},"datetime":"{moment}",'
        f'"description":{quoted(line.transaction_description)},"journal_entry_id":{quoted(line.journal_entry_id)},'
        f'"ledger_id":{ledger_id},"line_entry_id":{quoted(line.id)},"personal":{"true" if line.personal else "false"},'
        f'"posted_status":{quoted(line.posted_status)},"review_status":{quoted(line.review_status)}{source}'
    )
