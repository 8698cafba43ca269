"""Creating a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.service.bookkeeping.new_ledgers import NewLedger, add_ledgers
from accounting_analytics.service.operations.requested_records import parent_fields
from accounting_analytics.service.wire.rendering import encode, ledger_fields

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from accounting_analytics.service.wire.requests import CreateLedgerBody, CreateLedgerQuery
    from accounting_analytics.service.wire.stored_records import Instance


def create_ledger(
    connection: Connection, instance: Instance, query: CreateLedgerQuery, body: CreateLedgerBody
) -> bytes:
    """Create a ledger and return it as JSON; its parent only where asked for."""
    ledger = add_ledgers(connection, instance, [NewLedger(**body.model_dump())])[-1]
    levels = max((path.count("parent") for path in query.expand), default=0)
    return encode(ledger_fields(ledger) | parent_fields(connection, instance, ledger, levels))
