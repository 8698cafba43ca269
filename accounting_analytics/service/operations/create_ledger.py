"""Creating a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.service.bookkeeping.new_ledgers import NewLedger, add_ledgers
from accounting_analytics.service.operations.idempotency_keys import KeyedRequest, respond_once
from accounting_analytics.service.operations.ledger_lookup import expand_parent
from accounting_analytics.service.wire.json_values import encode
from accounting_analytics.service.wire.response_models import Ledger

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from accounting_analytics.service.wire.requests import CreateLedgerBody, CreateLedgerQuery
    from accounting_analytics.service.wire.stored_values import Instance


def create_ledger(
    connection: Connection,
    instance: Instance,
    query: CreateLedgerQuery,
    body: CreateLedgerBody,
    *,
    actor: str,
    idempotency_key: str | None = None,
) -> bytes:
    """Create a ledger and return it as JSON, with its parent if expanded; with a key that was used, only return it."""

    def respond() -> bytes:
        return encode(_create(connection, instance, query, body, actor))

    if idempotency_key is None:
        return respond()
    request = KeyedRequest.from_request(idempotency_key, query.model_dump_json() + body.model_dump_json())
    return respond_once(connection, instance, request, respond)


def _create(
    connection: Connection, instance: Instance, query: CreateLedgerQuery, body: CreateLedgerBody, actor: str
) -> Ledger:
    ledger = add_ledgers(connection, instance, [NewLedger(**body.model_dump())], actor=actor)[-1]
    return Ledger.from_stored(ledger, expand_parent(connection, instance, ledger, query.expand))
