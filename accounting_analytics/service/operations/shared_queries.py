"""Lookup of ledgers, tags, days and transactions in the instance of a request.

The ids of other instances are unknown, and refused with 404.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from msgspec import UNSET, Struct, UnsetType
from sqlalchemy import ColumnElement, Connection, Select, func, select

from accounting_analytics.core.errors import OperationRefusedError
from accounting_analytics.core.periods import LOCALTIME, Period
from accounting_analytics.journals.entries import is_valid_id
from accounting_analytics.service import tables
from accounting_analytics.service.database import select_ledgers
from accounting_analytics.service.interface import NestedLedger, PeriodQuery, Transaction, number
from accounting_analytics.service.requests import refuse_value
from accounting_analytics.service.stored_values import Instance, StoredLedger

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Call(NamedTuple):
    """A call of an operation, with a database transaction, the instance and the caller.

    The actor is the key of the access token. The user is the one that the header modified-by states. The key signs page
    tokens.
    """

    connection: Connection
    instance: Instance
    actor: str
    modified_by: str | None = None
    page_token_key: bytes = b""


def requested_period(instance: Instance, query: PeriodQuery) -> Period:
    """Return the days of a request. Refuse days in the wrong order, or before the instance's first day."""
    if query.end_date < query.start_date:
        refuse_value(["query", "end_date"], "end_date is before start_date")
    if instance.entries_start is not None and query.start_date < instance.entries_start:
        message = f"the books of this instance begin on {instance.entries_start}; start_date must not be earlier"
        refuse_value(["query", "start_date"], message, "before_entries_start")
    zone = instance.time_zone if query.time_zone == LOCALTIME else query.time_zone
    return Period(query.start_date, query.end_date, zone)


def has_all_tags(connection: Connection, instance: Instance, tag_ids: Sequence[str]) -> list[ColumnElement[bool]]:
    """Return a condition that a line has all tags, or no condition without tags. Refuse unknown tags."""
    if not tag_ids:
        return []
    line_tags = tables.line_entry_tags.c
    keys = _tag_keys(connection, instance, tag_ids)
    count = select(func.count()).where(line_tags.line_entry_pk == tables.line_entries.c.pk, line_tags.tag_pk.in_(keys))
    return [count.scalar_subquery() == len(keys)]


class LineRow(Struct, frozen=True, gc=False):
    """A line with its journal entry and transaction. Debits are positive.

    Without a transaction its fields are None. The texts are those of ``LINE_TEXTS`` of
    :mod:`accounting_analytics.journals.entries`.
    """

    pk: int
    id: str
    units: int
    datetime: dt.datetime
    debit_credit: str
    description: str
    journal_entry_pk: int
    journal_entry_id: str
    journal_entry_description: str
    transaction_id: str
    transaction_description: str
    personal: bool
    posted_status: str
    review_status: str
    source_account_id: str | None
    categorization_method: str


def select_lines() -> Select[*tuple[Any, ...]]:
    """Return a query of the fields of :class:`LineRow`. The caller joins the three tables."""
    entries, transactions = tables.journal_entries.c, tables.transactions.c
    columns = {
        **transactions,
        "transaction_description": transactions.description,
        "transaction_id": transactions.id,
        "journal_entry_id": entries.id,
        "journal_entry_description": entries.description,
        **tables.line_entries.c,
    }
    return select(*(columns[name] for name in LineRow.__struct_fields__))


def transaction_of_line(row: LineRow, ledger_id: str, scale: int) -> Transaction:
    """Return a line's transaction. Its amount has the sign of the line."""
    return Transaction(
        id=row.transaction_id,
        amount=number(row.units, scale),
        datetime=row.datetime,
        description=row.transaction_description,
        journal_entry_id=row.journal_entry_id,
        ledger_id=ledger_id,
        line_entry_id=row.id,
        personal=row.personal,
        posted_status=row.posted_status,
        review_status=row.review_status,
        source_account_id=row.source_account_id,
    )


def _tag_keys(connection: Connection, instance: Instance, tag_ids: Sequence[str]) -> list[int]:
    tags = tables.tags.c
    valid_ids = {tag_id for tag_id in tag_ids if is_valid_id(tag_id)}
    keys = connection.execute(select(tags.pk).where(tags.instance_pk == instance.pk, tags.id.in_(valid_ids))).scalars()
    found = list(keys)
    if len(found) < len(set(tag_ids)):
        refuse_unknown("tag")
    return found


def refuse_unknown(resource: str) -> NoReturn:
    """Refuse a ledger, transaction or tag that does not exist, with 404."""
    raise OperationRefusedError(
        f"the {resource} does not exist in this instance", status=404, error_code=f"{resource}_not_found"
    )


def find_ledger(connection: Connection, instance: Instance, ledger_id: str) -> StoredLedger:
    """Return the ledger with an id. Refuse an unknown id with 404."""
    query = select_ledgers(instance).where(tables.ledgers.c.id == ledger_id)
    row = connection.execute(query).first() if is_valid_id(ledger_id) else None
    if row is None:
        refuse_unknown("ledger")
    return StoredLedger(*row)


def expand_parent(
    connection: Connection, instance: Instance, ledger: StoredLedger, paths: Iterable[str]
) -> NestedLedger | UnsetType | None:
    """Return the parent of a ledger, with the ancestors that the expand paths request."""
    levels = max((path.count("parent") for path in paths), default=0)
    return _parent(connection, instance, ledger, levels)


def _parent(
    connection: Connection, instance: Instance, ledger: StoredLedger, levels: int
) -> NestedLedger | UnsetType | None:
    if not levels:
        return UNSET
    if ledger.parent_id is None:
        return None
    parent = find_ledger(connection, instance, ledger.parent_id)
    return NestedLedger.from_stored(parent, _parent(connection, instance, parent, levels - 1))
