"""The transaction of a line, as both operations that show one select and show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire import json_columns
from accounting_analytics.service.wire.rendering import number, timestamp
from accounting_analytics.service.wire.units import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class LineColumns(NamedTuple):
    """Lines and their transactions as columns of JSON: texts as they stand between quotes, amounts in units."""

    pk: Sequence[int]
    id: pa.Array
    units: pa.Array
    datetime: pa.Array
    debit_credit: pa.Array
    description: pa.Array
    journal_entry_id: pa.Array
    journal_entry_description: pa.Array
    transaction_id: pa.Array
    transaction_description: pa.Array
    personal: pa.Array
    posted_status: pa.Array
    review_status: pa.Array
    source_account_id: pa.Array


_TEXTS = [name for name in LineColumns._fields if name not in {"pk", "units", "datetime", "personal"}]


def line_columns(lines: Sequence[tuple[Any, ...]]) -> LineColumns:
    """Columns of at least one line, each a :class:`TransactionLine` or a row like it."""
    columns = dict(zip(TransactionLine._fields, zip(*lines, strict=True), strict=True))
    return LineColumns(
        pk=columns["pk"],
        units=json_columns.units(columns["high"], columns["low"]),
        datetime=json_columns.timestamps(columns["datetime"]),
        personal=pc.if_else(pa.array(map(bool, columns["personal"]), pa.bool_()), "true", "false"),
        **{name: json_columns.texts(columns[name]) for name in _TEXTS},
    )


def transaction_fields(line: TransactionLine, ledger_id: str, scale: int) -> dict[str, Any]:
    """Transaction of a line that has one; its amount has the sign of the line on its ledger."""
    source = {} if line.source_account_id is None else {"source_account_id": line.source_account_id}
    return {
        "id": line.transaction_id,
        "amount": number(joined(line.high, line.low), scale),
        "datetime": timestamp(line.datetime),
        "description": line.transaction_description,
        "journal_entry_id": line.journal_entry_id,
        "ledger_id": ledger_id,
        "line_entry_id": line.id,
        "personal": bool(line.personal),
        "posted_status": line.posted_status,
        "review_status": line.review_status,
        **source,
    }


def transaction_columns(lines: LineColumns, ledger_id: str, scale: int) -> pa.Array:
    """Transactions of many lines, as the inside of JSON objects; null where a line has none.

    Parameters
    ----------
    lines : LineColumns
        Lines of one ledger.
    ledger_id : str
        That ledger, as JSON.
    scale : int
        Fraction digits of amounts, which have the sign of the line on its ledger.
    """
    source = json_columns.joined(',"source_account_id":"', lines.source_account_id, '"')
    return json_columns.joined(
        '"id":"',
        lines.transaction_id,
        '","amount":',
        json_columns.numbers(lines.units, scale),
        ',"datetime":"',
        lines.datetime,
        '","description":"',
        lines.transaction_description,
        '","journal_entry_id":"',
        lines.journal_entry_id,
        f'","ledger_id":{ledger_id},"line_entry_id":"',
        lines.id,
        '","personal":',
        lines.personal,
        ',"posted_status":"',
        lines.posted_status,
        '","review_status":"',
        lines.review_status,
        '"',
        pc.coalesce(source, ""),
    )
