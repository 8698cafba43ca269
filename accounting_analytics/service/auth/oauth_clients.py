"""OAuth clients: programs that get access tokens of one instance with their own client id and secret."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, and_, delete, insert, select, update

from accounting_analytics.service.auth.access_tokens import (
    HAS_NOT_EXPIRED,
    add_token,
    find_instance,
    hash_secret,
    list_rows,
    revoke,
)
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.store import INSTANCE_COLUMNS
from accounting_analytics.service.wire.identifiers import check_text, is_valid_id
from accounting_analytics.service.wire.stored_values import Instance, now

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.service.storage.store import Store

_CLIENTS = tables.clients.c
_TOKENS = tables.tokens.c


@dataclass(frozen=True)
class OAuthClient:
    """An OAuth client without its secret."""

    client_id: str
    instance_id: str
    label: str
    created_at: dt.datetime
    revoked_at: dt.datetime | None


class IssuedClient(NamedTuple):
    """Credentials of a new OAuth client; the secret cannot be shown again."""

    client_id: str
    client_secret: str

    def __repr__(self) -> str:
        return f"IssuedClient(client_id={self.client_id!r}, client_secret='***')"


def issue_client(store: Store, instance_id: str, *, label: str = "") -> IssuedClient:
    """Return the credentials of a new OAuth client, whose tokens give access to one instance.

    Raises
    ------
    InputError
        There is no such instance.
    """
    instance = store.instance(instance_id)
    with store.writing() as connection:
        return add_client(connection, instance.pk, label=label)


def add_client(connection: Connection, instance_pk: int, *, label: str = "") -> IssuedClient:
    """Write a new OAuth client in the transaction of `connection`, and return its credentials."""
    credentials = IssuedClient(f"client_{secrets.token_hex(8)}", secrets.token_urlsafe(32))
    row = {
        "client_id": credentials.client_id,
        "instance_pk": instance_pk,
        "secret_hash": hash_secret(credentials.client_secret),
        "label": check_text(label, "the label"),
        "created_at": now(),
    }
    connection.execute(insert(tables.clients), row)
    return credentials


def list_clients(store: Store, instance_id: str | None = None) -> list[OAuthClient]:
    """OAuth clients of an instance, or of all, oldest first; includes revoked ones."""
    query = select(
        _CLIENTS.client_id,
        tables.instances.c.id.label("instance_id"),
        _CLIENTS.label,
        _CLIENTS.created_at,
        _CLIENTS.revoked_at,
    ).join_from(tables.clients, tables.instances)
    return [OAuthClient(**row) for row in list_rows(store, query, _CLIENTS, instance_id)]


def revoke_client(store: Store, client_id: str) -> None:
    """Revoke an OAuth client and all its tokens.

    Raises
    ------
    InputError
        There is no such client.
    """
    with store.writing() as connection:
        revoke(connection, tables.clients, _CLIENTS.client_id == client_id, f"there is no OAuth client {client_id!r}")
        valid = and_(_TOKENS.client_id == client_id, _TOKENS.revoked_at.is_(None))
        connection.execute(update(tables.tokens).where(valid).values(revoked_at=now()))


def are_valid_credentials(connection: Connection, client_id: str, client_secret: str) -> bool:
    """Whether an OAuth client with these credentials exists and is not revoked; reads only."""
    return _instance_of_client(connection, client_id, client_secret) is not None


def issue_client_token(connection: Connection, client_id: str, client_secret: str, *, lifetime: float) -> str | None:
    """Return a new access token for an OAuth client; None if the credentials are wrong or revoked.

    Expired tokens of the client are deleted, so that the table does not grow with every renewal.
    """
    instance = _instance_of_client(connection, client_id, client_secret)
    if instance is None:
        return None
    connection.execute(delete(tables.tokens).where(_TOKENS.client_id == client_id, ~HAS_NOT_EXPIRED), {"now": now()})
    return add_token(connection, instance.pk, lifetime=lifetime, client_id=client_id)


def _instance_of_client(connection: Connection, client_id: str, client_secret: str) -> Instance | None:
    """Instance of an OAuth client; None if the credentials are wrong or revoked."""
    if not is_valid_id(client_id):
        return None
    query = (
        select(*INSTANCE_COLUMNS, _CLIENTS.secret_hash)
        .join_from(tables.clients, tables.instances)
        .where(_CLIENTS.client_id == client_id, _CLIENTS.revoked_at.is_(None))
    )
    return find_instance(connection, query, {}, client_secret)
