"""Who may ask: access tokens of an instance, and the OAuth clients that get them by themselves.

A secret is shown once, when it is issued; the database keeps its SHA-256 only. What was revoked or has expired opens
nothing, from the next request on.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, insert, or_, select, update

from accounting_analytics.errors import InputError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.identifiers import is_usable, unicode_text
from accounting_analytics.service.wire.stored_records import Instance, instant, now

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.service.storage.store import Store

MAX_LIFETIME = 10 * 365 * 86_400
"""Seconds that a token may live at most, if it is to expire at all."""

INSTANCE_COLUMNS = [column for column in tables.instances.c if column.name != "created_at"]
_MICROSECONDS_A_SECOND = 1_000_000
_TOKENS = tables.tokens.c
_CLIENTS = tables.clients.c


@dataclass(frozen=True)
class AccessToken:
    """An access token as it may be shown: everything but its secret.

    Attributes
    ----------
    key : str
        The part of the token before the dot; names it when it is revoked.
    instance_id : str
        The instance it opens.
    label : str
        Name for people.
    client_id : str or None
        OAuth client it was issued to.
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


@dataclass(frozen=True)
class OAuthClient:
    """An OAuth client as it may be shown: everything but its secret."""

    client_id: str
    instance_id: str
    label: str
    created_at: dt.datetime
    revoked_at: dt.datetime | None


class ClientCredentials(NamedTuple):
    """What a new OAuth client signs in with; the secret cannot be shown again."""

    client_id: str
    client_secret: str

    def __repr__(self) -> str:
        return f"ClientCredentials(client_id={self.client_id!r}, client_secret='***')"


def issue_token(store: Store, instance_id: str, *, lifetime: float | None = None, label: str = "") -> str:
    """Return a new access token of an instance.

    Parameters
    ----------
    store : Store
        The database.
    instance_id : str
        The instance it opens.
    lifetime : float, optional
        Seconds until it expires; it never does when left out.
    label : str
        Name for people, shown in lists.

    Raises
    ------
    InputError
        There is no such instance, or no token can live that long.
    """
    instance = store.instance(instance_id)
    with store.writing() as connection:
        return add_token(connection, instance.pk, lifetime=lifetime, label=label)


def list_tokens(store: Store, instance_id: str | None = None) -> list[AccessToken]:
    """Access tokens of an instance, or of all, oldest first; those that expired or were revoked too."""
    query = select(
        _TOKENS.key,
        tables.instances.c.id.label("instance_id"),
        _TOKENS.label,
        _TOKENS.client_id,
        _TOKENS.created_at,
        _TOKENS.expires_at,
        _TOKENS.revoked_at,
    ).join_from(tables.tokens, tables.instances)
    return [AccessToken(**row) for row in _listed(store, query, _TOKENS, instance_id)]


def revoke_token(store: Store, key: str) -> None:
    """Revoke an access token by its key (or by the whole token); once revoked, it stays so.

    Raises
    ------
    InputError
        There is no such token.
    """
    key = key.partition(".")[0]
    with store.writing() as connection:
        _revoke(connection, tables.tokens, _TOKENS.key == key, f"there is no access token with the key {key!r}")


def issue_client(store: Store, instance_id: str, *, label: str = "") -> ClientCredentials:
    """Return the credentials of a new OAuth client, whose tokens open one instance.

    Raises
    ------
    InputError
        There is no such instance.
    """
    instance = store.instance(instance_id)
    credentials = ClientCredentials(f"client_{secrets.token_hex(8)}", secrets.token_urlsafe(32))
    row = {
        "client_id": credentials.client_id,
        "instance_pk": instance.pk,
        "secret_hash": _hashed(credentials.client_secret),
        "label": unicode_text(label, "the label"),
        "created_at": now(),
    }
    with store.writing() as connection:
        connection.execute(insert(tables.clients), row)
    return credentials


def list_clients(store: Store, instance_id: str | None = None) -> list[OAuthClient]:
    """OAuth clients of an instance, or of all, oldest first; those that were revoked too."""
    query = select(
        _CLIENTS.client_id,
        tables.instances.c.id.label("instance_id"),
        _CLIENTS.label,
        _CLIENTS.created_at,
        _CLIENTS.revoked_at,
    ).join_from(tables.clients, tables.instances)
    return [OAuthClient(**row) for row in _listed(store, query, _CLIENTS, instance_id)]


def revoke_client(store: Store, client_id: str) -> None:
    """Revoke an OAuth client and every token it holds.

    Raises
    ------
    InputError
        There is no such client.
    """
    with store.writing() as connection:
        _revoke(connection, tables.clients, _CLIENTS.client_id == client_id, f"there is no OAuth client {client_id!r}")
        held = and_(_TOKENS.client_id == client_id, _TOKENS.revoked_at.is_(None))
        connection.execute(update(tables.tokens).where(held).values(revoked_at=now()))


def instance_of_token(connection: Connection, token: str) -> Instance | None:
    """Instance that an access token opens; None for one that is none of ours, has expired, or was revoked."""
    key, _, secret = token.partition(".")
    if not is_usable(key):
        return None
    query = (
        select(*INSTANCE_COLUMNS, _TOKENS.secret_hash)
        .join_from(tables.tokens, tables.instances)
        .where(_TOKENS.key == key, _TOKENS.revoked_at.is_(None), _not_expired())
    )
    return _opened(connection, query, secret)


def opens_instance(connection: Connection, client_id: str, client_secret: str) -> bool:
    """Whether credentials of an OAuth client are ours and not revoked; reads only."""
    return _instance_of_client(connection, client_id, client_secret) is not None


def token_of_client(connection: Connection, client_id: str, client_secret: str, *, lifetime: float) -> str | None:
    """Return a new access token for an OAuth client; None when the credentials are none of ours, or revoked.

    Tokens of the client that have expired are forgotten, so that renewing them for years fills no table.
    """
    instance = _instance_of_client(connection, client_id, client_secret)
    if instance is None:
        return None
    connection.execute(delete(tables.tokens).where(_TOKENS.client_id == client_id, ~_not_expired()))
    return add_token(connection, instance.pk, lifetime=lifetime, client_id=client_id)


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
    row = {
        "key": key,
        "instance_pk": instance_pk,
        "client_id": client_id,
        "secret_hash": _hashed(secret),
        "label": unicode_text(label, "the label"),
        "created_at": created,
        "expires_at": None if lifetime is None else created + int(check_lifetime(lifetime) * _MICROSECONDS_A_SECOND),
    }
    connection.execute(insert(tables.tokens), row)
    return f"{key}.{secret}"


def check_lifetime(seconds: float) -> float:
    """Lifetime of a token, if a token can live that long.

    Raises
    ------
    InputError
        It is not positive, or too long.
    """
    if not 0 < seconds <= MAX_LIFETIME:
        msg = f"a token lives for more than 0 and at most {MAX_LIFETIME} seconds, not {seconds}; nothing was issued"
        raise InputError(msg)
    return seconds


def _instance_of_client(connection: Connection, client_id: str, client_secret: str) -> Instance | None:
    """Instance of an OAuth client; None when the credentials are none of ours, or revoked."""
    if not is_usable(client_id):
        return None
    query = (
        select(*INSTANCE_COLUMNS, _CLIENTS.secret_hash)
        .join_from(tables.clients, tables.instances)
        .where(_CLIENTS.client_id == client_id, _CLIENTS.revoked_at.is_(None))
    )
    return _opened(connection, query, client_secret)


def _opened(connection: Connection, query: Any, secret: str) -> Instance | None:  # noqa: ANN401 (a select of any columns)
    """Instance of the row that `query` finds, if the secret is the one whose hash stands there."""
    found = connection.execute(query).mappings().first()
    # compared in constant time, and also when there is nothing to compare with
    expected = found["secret_hash"] if found else bytes(sha256().digest_size)
    if not hmac.compare_digest(_hashed(secret), expected) or found is None:
        return None
    return Instance(**{name: value for name, value in found.items() if name != "secret_hash"})


def _not_expired() -> ColumnElement[bool]:
    return or_(_TOKENS.expires_at.is_(None), _TOKENS.expires_at > now())


def _revoke(connection: Connection, table: Table, which: ColumnElement[bool], missing: str) -> None:
    if connection.execute(select(table.c.created_at).where(which)).first() is None:
        raise InputError(missing)
    connection.execute(update(table).where(which, table.c.revoked_at.is_(None)).values(revoked_at=now()))


def _listed(store: Store, query: Any, columns: Any, instance_id: str | None) -> list[dict[str, Any]]:  # noqa: ANN401
    """Rows of a list, with instants for microseconds."""
    if instance_id is not None:
        query = query.where(tables.instances.c.pk == store.instance(instance_id).pk)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(columns.created_at)).mappings().all()
    moments = {"created_at", "expires_at", "revoked_at"}
    return [
        {name: instant(value) if name in moments and value is not None else value for name, value in row.items()}
        for row in rows
    ]


def _hashed(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
