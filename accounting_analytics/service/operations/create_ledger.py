"""Creating a ledger; a request that is sent again with the same idempotency key gets the response of the first one."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

from sqlalchemy import Connection, and_, delete, insert, select

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service.bookkeeping.ledgers import NewLedger, add_ledgers
from accounting_analytics.service.operations.resource_lookup import expand_parent
from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.requests import CreateLedgerBody, CreateLedgerQuery, refuse_value
from accounting_analytics.service.wire.response_models import Ledger, encode
from accounting_analytics.service.wire.stored_values import MICROSECONDS_PER_DAY, Instance, now

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


IDEMPOTENCY_HEADER = "idempotency-key"
MAX_KEY_LENGTH = 200
KEY_PATTERN = rf"^[!-~]{{1,{MAX_KEY_LENGTH}}}$"

_KEY = re.compile(KEY_PATTERN)
_KEYS = tables.idempotency_keys.c


class RunningKeys:
    """Keys whose requests are running in this process; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[tuple[int, str]] = set()

    @contextmanager
    def hold(self, instance_pk: int, key: str | None) -> Iterator[None]:
        """Refuse other requests with the key during the block with 409; without a key none."""
        if key is None:
            yield
            return
        held = (instance_pk, key)
        with self._lock:
            if held in self._running:
                raise OperationRefusedError(
                    "a request with this idempotency key is still running; send it again when that one has ended",
                    status=409,
                    error_code="idempotency_key_in_use",
                )
            self._running.add(held)
        try:
            yield
        finally:
            self._running.remove(held)


def parse_key(values: Sequence[str]) -> str | None:
    """Key of the values of its header, None without the header; 422 if it was sent twice or has other characters."""
    if not values:
        return None
    if len(values) > 1 or not _KEY.fullmatch(values[0]):
        refuse_value(
            ["header", IDEMPOTENCY_HEADER],
            f"{IDEMPOTENCY_HEADER} is sent once and has 1 to {MAX_KEY_LENGTH} printable ASCII characters "
            "without spaces",
        )
    return values[0]


def create_ledger(
    connection: Connection,
    instance: Instance,
    query: CreateLedgerQuery,
    body: CreateLedgerBody,
    *,
    actor: str,
    idempotency_key: str | None = None,
) -> bytes:
    """Create a ledger and return it as JSON, with its parent if expanded; with a key that was used, only return it.

    A refused request stores nothing, so its key may be used again.
    """
    request = query.model_dump_json() + body.model_dump_json()
    request_hash = sha256(request.encode("utf-8", "surrogatepass")).digest()
    if idempotency_key is not None:
        stored = _stored_response(connection, instance, idempotency_key, request_hash)
        if stored is not None:
            return stored
    ledger = add_ledgers(connection, instance, [NewLedger(**body.model_dump())], actor=actor)[-1]
    response = encode(Ledger.from_stored(ledger, expand_parent(connection, instance, ledger, query.expand)))
    if idempotency_key is not None:
        row = {"instance_pk": instance.pk, "key": idempotency_key, "request_hash": request_hash, "response": response}
        connection.execute(insert(tables.idempotency_keys), row | {"created_at": now()})
    return response


def _stored_response(connection: Connection, instance: Instance, key: str, request_hash: bytes) -> bytes | None:
    """Response to the request that was sent with a key in the last 24 hours, if any; 422 if it was another request."""
    is_old = and_(_KEYS.instance_pk == instance.pk, _KEYS.created_at <= now() - MICROSECONDS_PER_DAY)
    connection.execute(delete(tables.idempotency_keys).where(is_old))
    query = select(_KEYS.request_hash, _KEYS.response).where(_KEYS.instance_pk == instance.pk, _KEYS.key == key)
    found = connection.execute(query).first()
    if found is None:
        return None
    if bytes(found.request_hash) != request_hash:
        refuse_value(
            ["header", IDEMPOTENCY_HEADER],
            "this idempotency key was used for another request in the last 24 hours; nothing was changed, "
            "use a new key",
            "idempotency_key_reused",
            error_code="idempotency_key_reused",
        )
    return bytes(found.response)
