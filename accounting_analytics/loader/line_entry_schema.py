"""The columns of loaded line entries: name, type, field on the wire, and the ``expand`` value that requests it.

Both page decoders, the schema of windows on disk and the frames follow this table. A new field of a line needs its
place in :class:`~accounting_analytics.client.records.LineEntry`, a row here, and its column in
:class:`~accounting_analytics.schemas.LineEntries`.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from accounting_analytics.money import DEFAULT_SCALE, arrow_type

TEXT = pa.string()
TEXTS = pa.list_(pa.string())
INSTANT = pa.timestamp("us", "UTC")
AMOUNT = arrow_type(DEFAULT_SCALE)
"""Placeholder for amounts; line_schema() sets the scale of the load."""


class Column(NamedTuple):
    """A column of line entries.

    Attributes
    ----------
    name : str
        Its name in tables and frames.
    type : pyarrow.DataType
        Its type; :data:`AMOUNT` takes the scale of the load.
    path : str
        The field of a line on the wire: ``amount``, ``transaction.amount``, or ``tags.id`` for the id of each tag.
        Empty where the column is calculated.
    expansion : str, optional
        What `expand` must name for the field to be sent.
    """

    name: str
    type: pa.DataType
    path: str
    expansion: str | None = None


COLUMNS = (
    Column("id", TEXT, "id"),
    Column("ledger_id", TEXT, "ledger_id"),
    Column("ledger_name", TEXT, "ledger_name"),
    Column("journal_entry_id", TEXT, "journal_entry_id"),
    Column("journal_entry_description", TEXT, "journal_entry_description"),
    Column("datetime", INSTANT, "datetime"),
    Column("amount", AMOUNT, "amount"),
    Column("debit_credit", TEXT, "debit_credit"),
    Column("signed_amount", AMOUNT, ""),
    Column("description", TEXT, "description"),
    Column("transaction_id", TEXT, "transaction_id"),
    Column("related_line_entry_id", TEXT, "related_line_entry_id"),
    Column("editable", pa.bool_(), "editable"),
    Column("opposing_ledger_ids", TEXTS, "opposing_ledger_ids", "opposing_ledger_ids"),
    Column("tag_ids", TEXTS, "tags.id"),
    Column("transaction_amount", AMOUNT, "transaction.amount", "transaction"),
    Column("transaction_description", TEXT, "transaction.description", "transaction"),
    Column("transaction_personal", pa.bool_(), "transaction.personal", "transaction"),
    Column("transaction_posted_status", TEXT, "transaction.posted_status", "transaction"),
    Column("transaction_review_status", TEXT, "transaction.review_status", "transaction"),
    Column("source_account_id", TEXT, "transaction.source_account_id", "transaction"),
    Column("journal_entry_line_entry_ids", TEXTS, "journal_entry.line_entry_ids", "journal_entry"),
)


def requested_columns(expand: frozenset[str]) -> list[Column]:
    """Columns that a load with these expansions has."""
    return [column for column in COLUMNS if column.expansion is None or column.expansion in expand]


def line_schema(expand: frozenset[str], scale: int) -> pa.Schema:
    """Arrow schema of line entries that were requested with these expansions."""
    amount = arrow_type(scale)
    return pa.schema(
        {column.name: amount if column.type == AMOUNT else column.type for column in requested_columns(expand)}
    )
