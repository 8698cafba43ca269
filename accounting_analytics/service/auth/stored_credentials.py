"""What access tokens and OAuth clients have in common: hashed secrets, lists without them, revocation."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Table, select, update

from accounting_analytics.errors import InputError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.stored_values import Instance, instant, now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.service.storage.store import Store

_INSTANTS = frozenset({"created_at", "expires_at", "revoked_at"})


def hash_secret(secret: str) -> bytes:
    """SHA-256 of a secret, the only form that the database stores."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def find_instance(connection: Connection, query: Any, parameters: Mapping[str, Any], secret: str) -> Instance | None:  # noqa: ANN401 (a select of any columns)
    """Instance of the row that `query` finds, if the secret matches the row's hash."""
    found = connection.execute(query, parameters).mappings().first()
    # compared in constant time, and also when no row was found
    expected = found["secret_hash"] if found else bytes(sha256().digest_size)
    if not hmac.compare_digest(hash_secret(secret), expected) or found is None:
        return None
    return Instance(**{name: value for name, value in found.items() if name != "secret_hash"})


def list_rows(store: Store, query: Any, columns: Any, instance_id: str | None) -> list[dict[str, Any]]:  # noqa: ANN401
    """Rows of an instance, or of all, oldest first; instants instead of microseconds."""
    if instance_id is not None:
        query = query.where(tables.instances.c.pk == store.instance(instance_id).pk)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(columns.created_at)).mappings().all()
    return [
        {name: instant(value) if name in _INSTANTS and value is not None else value for name, value in row.items()}
        for row in rows
    ]


def revoke(connection: Connection, table: Table, condition: ColumnElement[bool], missing: str) -> None:
    """Revoke the row that meets a condition; `missing` is the message if there is none."""
    if connection.execute(select(table.c.created_at).where(condition)).first() is None:
        raise InputError(missing)
    connection.execute(update(table).where(condition, table.c.revoked_at.is_(None)).values(revoked_at=now()))
