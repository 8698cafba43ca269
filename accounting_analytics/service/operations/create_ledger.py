"""Creating a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from accounting_analytics.service.bookkeeping.ledgers import NewLedger, add_ledgers
from accounting_analytics.service.operations.resource_lookup import expand_parent
from accounting_analytics.service.wire.response_models import Ledger

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from accounting_analytics.service.wire.requests import CreateLedgerBody, CreateLedgerQuery
    from accounting_analytics.service.wire.stored_values import Instance


def create_ledger(
    connection: Connection, instance: Instance, query: CreateLedgerQuery, body: CreateLedgerBody, *, actor: str
) -> Ledger:
    """Create a ledger and return it, with its parent if expanded."""
    ledger = add_ledgers(connection, instance, [NewLedger(**asdict(body))], actor=actor)[-1]
    return Ledger.from_stored(ledger, expand_parent(connection, instance, ledger, query.expand))
