"""Creating a ledger; a request that is sent again with the same idempotency key gets the response of the first one."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, insert, select

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service.bookkeeping.new_ledgers import NewLedger, add_ledgers
from accounting_analytics.service.operations.resource_lookup import expand_parent
from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.json_values import encode
from accounting_analytics.service.wire.response_models import Ledger
from accounting_analytics.service.wire.stored_values import MICROSECONDS_PER_DAY, now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from accounting_analytics.service.wire.requests import CreateLedgerBody, CreateLedgerQuery
    from accounting_analytics.service.wire.stored_values import Instance

IDEMPOTENCY_HEADER = "idempotency-key"
MAX_KEY_LENGTH = 200
KEY_PATTERN = rf"^[!-~]{{1,{MAX_KEY_LENGTH}}}$"

_KEY = re.compile(KEY_PATTERN)
_KEYS = tables.idempotency_keys.c


class KeyedRequest(NamedTuple):
    """A key and the SHA-256 of the request that was sent with it."""

    key: str
    request_hash: bytes

    @classmethod
    def from_request(cls, key: str, request: str) -> KeyedRequest:
        """Key of a request, which is given as text."""
        return cls(key, sha256(request.encode("utf-8", "surrogatepass")).digest())


class RunningKeys:
    """Keys whose requests are running in this process; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[tuple[int, str]] = set()

    @contextmanager
    def hold(self, instance_pk: int, key: str | None) -> Iterator[None]:
        """Refuse other requests with the key during the block; without a key none.

        Raises
        ------
        OperationRefusedError
            409: a request with the key is running.
        """
        if key is None:
            yield
            return
        held = (instance_pk, key)
        with self._lock:
            if held in self._running:
                raise _still_running()
            self._running.add(held)
        try:
            yield
        finally:
            self._running.remove(held)


def parse_key(values: Sequence[str]) -> str | None:
    """Key of the values of its header; None without the header.

    Raises
    ------
    OperationRefusedError
        422: it was sent more than once, or it is not 1 to 200 printable ASCII characters without spaces.
    """
    if not values:
        return None
    if len(values) == 1 and _KEY.fullmatch(values[0]):
        return values[0]
    msg = f"{IDEMPOTENCY_HEADER} is sent once and has 1 to {MAX_KEY_LENGTH} printable ASCII characters without spaces"
    detail = [{"loc": ["header", IDEMPOTENCY_HEADER], "msg": msg, "type": "value_error"}]
    raise OperationRefusedError(msg, status=422, error_code="validation_error", detail=detail)


def respond_once(
    connection: Connection, instance: Instance, request: KeyedRequest, respond: Callable[[], bytes]
) -> bytes:
    """Response that was stored with a key; for a new key the one of `respond`, stored in the same transaction.

    Keys are kept for 24 hours. A refused request stores nothing, so its key may be used again.

    Raises
    ------
    OperationRefusedError
        422: the key was used for another request.
    """
    connection.execute(
        delete(tables.idempotency_keys).where(
            _KEYS.instance_pk == instance.pk, _KEYS.created_at <= now() - MICROSECONDS_PER_DAY
        )
    )
    query = select(_KEYS.request_hash, _KEYS.response).where(_KEYS.instance_pk == instance.pk, _KEYS.key == request.key)
    if found := connection.execute(query).first():
        if bytes(found.request_hash) != request.request_hash:
            raise _other_request()
        return bytes(found.response)
    response = respond()
    row = {**request._asdict(), "instance_pk": instance.pk, "response": response, "created_at": now()}
    connection.execute(insert(tables.idempotency_keys), row)
    return response


def _still_running() -> OperationRefusedError:
    msg = "a request with this idempotency key is still running; send it again when that one has ended"
    return OperationRefusedError(msg, status=409, error_code="idempotency_key_in_use")


def _other_request() -> OperationRefusedError:
    msg = "this idempotency key was used for another request in the last 24 hours; nothing was changed, use a new key"
    detail = [{"loc": ["header", IDEMPOTENCY_HEADER], "msg": msg, "type": "idempotency_key_reused"}]
    return OperationRefusedError(msg, status=422, error_code="idempotency_key_reused", detail=detail)


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
