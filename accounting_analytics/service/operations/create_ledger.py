"""Creating a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from accounting_analytics.service.interface import Ledger
from accounting_analytics.service.ledgers import NewLedger, add_ledgers
from accounting_analytics.service.operations.shared_queries import expand_parent

if TYPE_CHECKING:
    from accounting_analytics.service.interface import CreateLedgerBody, CreateLedgerQuery
    from accounting_analytics.service.operations.shared_queries import Call


def create_ledger(call: Call, query: CreateLedgerQuery, body: CreateLedgerBody) -> Ledger:
    """Create a ledger and return it, with its parent if expanded."""
    ledger = add_ledgers(call.connection, call.instance, [NewLedger(**asdict(body))], actor=call.actor)[-1]
    return Ledger.from_stored(ledger, expand_parent(call.connection, call.instance, ledger, query.expand))
