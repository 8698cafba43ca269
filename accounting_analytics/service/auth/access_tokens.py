"""Access tokens of an instance: issue, list, revoke, and find the instance of a token.

A token is shown once, when it is issued; the database stores only its SHA-256. A revoked or expired token is refused
from the next request on.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Table, bindparam, insert, or_, select, update

from accounting_analytics.errors import InputError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.store import INSTANCE_COLUMNS
from accounting_analytics.service.wire.identifiers import check_text, is_valid_id
from accounting_analytics.service.wire.stored_values import Instance, instant, now

if TYPE_CHECKING:
    import datetime as dt
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


MAX_LIFETIME = 10 * 365 * 86_400
"""Longest lifetime of a token that expires, in seconds."""

_MICROSECONDS_PER_SECOND = 1_000_000
_TOKENS = tables.tokens.c

HAS_NOT_EXPIRED = or_(_TOKENS.expires_at.is_(None), _TOKENS.expires_at > bindparam("now"))
"""Condition that a token has not expired at the microsecond `now`."""

# built once: every request needs it
_VALID_TOKEN = (
    select(*INSTANCE_COLUMNS, _TOKENS.secret_hash)
    .join_from(tables.tokens, tables.instances)
    .where(_TOKENS.key == bindparam("key"), _TOKENS.revoked_at.is_(None), HAS_NOT_EXPIRED)
)


@dataclass(frozen=True)
class AccessToken:
    """An access token without its secret.

    Attributes
    ----------
    key : str
        The part of the token before the dot; identifies it when it is revoked.
    instance_id : str
        Instance that it gives access to.
    label : str
        Name for people.
    client_id : str or None
        OAuth client that it was issued to.
    created_at, expires_at, revoked_at : datetime or None
        None: never.
    """

    key: str
    instance_id: str
    label: str
    client_id: str | None
    created_at: dt.datetime
    expires_at: dt.datetime | None
    revoked_at: dt.datetime | None


def issue_token(store: Store, instance_id: str, *, lifetime: float | None = None, label: str = "") -> str:
    """Return a new access token of an instance.

    Parameters
    ----------
    store : Store
        The database.
    instance_id : str
        Instance that it gives access to.
    lifetime : float, optional
        Seconds until it expires; by default it never does.
    label : str
        Name for people, shown in lists.

    Raises
    ------
    InputError
        There is no such instance, or the lifetime is not allowed.
    """
    instance = store.instance(instance_id)
    with store.writing() as connection:
        return add_token(connection, instance.pk, lifetime=lifetime, label=label)


def list_tokens(store: Store, instance_id: str | None = None) -> list[AccessToken]:
    """Access tokens of an instance, or of all, oldest first; includes expired and revoked ones."""
    query = select(
        _TOKENS.key,
        tables.instances.c.id.label("instance_id"),
        _TOKENS.label,
        _TOKENS.client_id,
        _TOKENS.created_at,
        _TOKENS.expires_at,
        _TOKENS.revoked_at,
    ).join_from(tables.tokens, tables.instances)
    return [AccessToken(**row) for row in list_rows(store, query, _TOKENS, instance_id)]


def revoke_token(store: Store, key: str) -> None:
    """Revoke an access token by its key (or by the whole token); this cannot be undone.

    Raises
    ------
    InputError
        There is no such token.
    """
    key = token_key(key)
    with store.writing() as connection:
        revoke(connection, tables.tokens, _TOKENS.key == key, f"there is no access token with the key {key!r}")


def token_key(token: str) -> str:
    """Key of an access token, which may be shown: the part before the dot."""
    return token.partition(".")[0]


def instance_of_token(connection: Connection, token: str) -> Instance | None:
    """Instance of an access token; None if the token is unknown, expired or revoked."""
    key, _, secret = token.partition(".")
    if not is_valid_id(key):
        return None
    return find_instance(connection, _VALID_TOKEN, {"key": key, "now": now()}, secret)


def add_token(
    connection: Connection,
    instance_pk: int,
    *,
    lifetime: float | None = None,
    label: str = "",
    client_id: str | None = None,
) -> str:
    """Write a new access token in the transaction of `connection`, and return it."""
    created = now()
    key, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    if client_id is not None:  # the audit log has keys, and expired tokens of clients are deleted
        key = f"{client_id}-{key}"
    row = {
        "key": key,
        "instance_pk": instance_pk,
        "client_id": client_id,
        "secret_hash": hash_secret(secret),
        "label": check_text(label, "the label"),
        "created_at": created,
        "expires_at": None if lifetime is None else created + int(check_lifetime(lifetime) * _MICROSECONDS_PER_SECOND),
    }
    connection.execute(insert(tables.tokens), row)
    return f"{key}.{secret}"


def check_lifetime(seconds: float) -> float:
    """Return the lifetime of a token if it is allowed.

    Raises
    ------
    InputError
        It is not positive, or too long.
    """
    if not 0 < seconds <= MAX_LIFETIME:
        msg = f"a lifetime is more than 0 and at most {MAX_LIFETIME} seconds, not {seconds}; nothing was issued"
        raise InputError(msg)
    return seconds
