"""Creating a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.service.operations.lookup import parent_fields
from accounting_analytics.service.posting import NewLedger
from accounting_analytics.service.rendering import encode, ledger_fields
from accounting_analytics.service.store import add_ledger

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from accounting_analytics.service.requests import CreateLedgerBody, CreateLedgerQuery
    from accounting_analytics.service.stored import Instance


def create_ledger(
    connection: Connection, instance: Instance, query: CreateLedgerQuery, body: CreateLedgerBody
) -> bytes:
    """Create a ledger and return it as JSON; its parent only where asked for."""
    ledger = add_ledger(connection, instance, NewLedger(**body.model_dump()))
    levels = max((path.count("parent") for path in query.expand), default=0)
    return encode(ledger_fields(ledger) | parent_fields(connection, instance, ledger, levels))
