"""Access tokens and OAuth clients of an instance: issued, listed, revoked, and the instance that a secret belongs to.

A secret is shown once, or written to a private file, when it is issued; the database stores only its SHA-256. A revoked
or expired token is refused from the next request on.
"""

from __future__ import annotations

import hmac
import secrets
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, bindparam, delete, insert, or_, select, update

from accounting_analytics.atomic_files import remove_temporary_files, replace_file
from accounting_analytics.errors import ConfigurationError, InputError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.store import INSTANCE_COLUMNS, Store, read_instance
from accounting_analytics.service.wire.identifiers import check_text, is_valid_id
from accounting_analytics.service.wire.stored_values import Instance, instant, now

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


_INSTANTS = frozenset({"created_at", "expires_at", "revoked_at"})


def _hash_secret(secret: str) -> bytes:
    """SHA-256 of a secret, the only form that the database stores."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _instance_with_secret(
    connection: Connection, query: Select[*tuple[Any, ...]], parameters: Mapping[str, Any], secret: str
) -> Instance | None:
    """Instance of the row that `query` finds, if the secret matches the row's hash."""
    found = connection.execute(query, parameters).mappings().first()
    # compared in constant time, and also when no row was found
    expected = found["secret_hash"] if found else bytes(sha256().digest_size)
    if not hmac.compare_digest(_hash_secret(secret), expected) or found is None:
        return None
    return Instance(**{name: value for name, value in found.items() if name != "secret_hash"})


def _list_rows(store: Store, query: Any, columns: Any, instance_id: str | None) -> list[dict[str, Any]]:  # noqa: ANN401
    """Rows of an instance, or of all, oldest first; instants instead of microseconds."""
    if instance_id is not None:
        query = query.where(tables.instances.c.pk == store.instance(instance_id).pk)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(columns.created_at)).mappings().all()
    return [
        {name: instant(value) if name in _INSTANTS and value is not None else value for name, value in row.items()}
        for row in rows
    ]


def _revoke(connection: Connection, table: Table, condition: ColumnElement[bool], missing: str) -> None:
    """Revoke the row that meets a condition; `missing` is the message if there is none."""
    if connection.execute(select(table.c.created_at).where(condition)).first() is None:
        raise InputError(missing)
    connection.execute(update(table).where(condition, table.c.revoked_at.is_(None)).values(revoked_at=now()))


_MAX_LIFETIME = 10 * 365 * 86_400
"""Longest lifetime of a token that expires, in seconds."""

_MICROSECONDS_PER_SECOND = 1_000_000
_CLIENTS = tables.clients.c
_TOKENS = tables.tokens.c

_HAS_NOT_EXPIRED = or_(_TOKENS.expires_at.is_(None), _TOKENS.expires_at > bindparam("now"))
"""Condition that a token has not expired at the microsecond `now`."""

# built once: every request needs it
_VALID_TOKEN = (
    select(*INSTANCE_COLUMNS, _TOKENS.secret_hash)
    .join_from(tables.tokens, tables.instances)
    .where(_TOKENS.key == bindparam("key"), _TOKENS.revoked_at.is_(None), _HAS_NOT_EXPIRED)
)


@dataclass(frozen=True)
class AccessToken:
    """An access token without its secret: the key is the part before the dot; an instant of None means never."""

    key: str
    instance_id: str
    label: str
    client_id: str | None
    created_at: dt.datetime
    expires_at: dt.datetime | None
    revoked_at: dt.datetime | None


def issue_token(store: Store, instance_id: str, *, lifetime: float | None = None, label: str = "") -> str:
    """Return a new access token of an instance; without a lifetime in seconds, it never expires."""
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
    return [AccessToken(**row) for row in _list_rows(store, query, _TOKENS, instance_id)]


def revoke_token(store: Store, key: str) -> None:
    """Revoke an access token by its key (or by the whole token); this cannot be undone."""
    key = token_key(key)
    with store.writing() as connection:
        _revoke(connection, tables.tokens, _TOKENS.key == key, f"there is no access token with the key {key!r}")


def token_key(token: str) -> str:
    """Key of an access token, which may be shown: the part before the dot."""
    return token.partition(".")[0]


def instance_of_token(connection: Connection, token: str) -> Instance | None:
    """Instance of an access token; None if the token is unknown, expired or revoked."""
    key, _, secret = token.partition(".")
    if not is_valid_id(key):
        return None
    return _instance_with_secret(connection, _VALID_TOKEN, {"key": key, "now": now()}, secret)


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
        "secret_hash": _hash_secret(secret),
        "label": check_text(label, "the label"),
        "created_at": created,
        "expires_at": None if lifetime is None else created + int(check_lifetime(lifetime) * _MICROSECONDS_PER_SECOND),
    }
    connection.execute(insert(tables.tokens), row)
    return f"{key}.{secret}"


def check_lifetime(seconds: float) -> float:
    """Return the lifetime of a token; refuse one that is not positive, or too long."""
    if not 0 < seconds <= _MAX_LIFETIME:
        raise InputError(
            f"a lifetime is more than 0 and at most {_MAX_LIFETIME} seconds, not {seconds}; nothing was issued"
        )
    return seconds


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
    """Return the credentials of a new OAuth client, whose tokens give access to one instance."""
    instance = store.instance(instance_id)
    with store.writing() as connection:
        return add_client(connection, instance.pk, label=label)


def add_client(connection: Connection, instance_pk: int, *, label: str = "") -> IssuedClient:
    """Write a new OAuth client in the transaction of `connection`, and return its credentials."""
    credentials = IssuedClient(f"client_{secrets.token_hex(8)}", secrets.token_urlsafe(32))
    row = {
        "client_id": credentials.client_id,
        "instance_pk": instance_pk,
        "secret_hash": _hash_secret(credentials.client_secret),
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
    return [OAuthClient(**row) for row in _list_rows(store, query, _CLIENTS, instance_id)]


def revoke_client(store: Store, client_id: str) -> None:
    """Revoke an OAuth client and all its tokens."""
    with store.writing() as connection:
        _revoke(connection, tables.clients, _CLIENTS.client_id == client_id, f"there is no OAuth client {client_id!r}")
        valid = and_(_TOKENS.client_id == client_id, _TOKENS.revoked_at.is_(None))
        connection.execute(update(tables.tokens).where(valid).values(revoked_at=now()))


def issue_client_token(connection: Connection, client_id: str, client_secret: str, *, lifetime: float) -> str | None:
    """Return a new access token for an OAuth client; None if the credentials are wrong or revoked.

    Expired tokens of the client are deleted, so that the table does not grow with every renewal.
    """
    instance = instance_of_client(connection, client_id, client_secret)
    if instance is None:
        return None
    connection.execute(delete(tables.tokens).where(_TOKENS.client_id == client_id, ~_HAS_NOT_EXPIRED), {"now": now()})
    return add_token(connection, instance.pk, lifetime=lifetime, client_id=client_id)


def instance_of_client(connection: Connection, client_id: str, client_secret: str) -> Instance | None:
    """Instance of an OAuth client; None if the credentials are wrong or revoked."""
    if not is_valid_id(client_id):
        return None
    query = (
        select(*INSTANCE_COLUMNS, _CLIENTS.secret_hash)
        .join_from(tables.clients, tables.instances)
        .where(_CLIENTS.client_id == client_id, _CLIENTS.revoked_at.is_(None))
    )
    return _instance_with_secret(connection, query, {}, client_secret)


def check_new_file(path: Path) -> None:
    """Refuse a file whose folder is missing, or that exists: it may hold the only copy of another secret."""
    if path.exists():
        raise ConfigurationError(f"{path} exists already; nothing was issued, give a new file")
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(f"there is no folder {path.absolute().parent} for {path.name}; nothing was issued")


def write_secret(path: Path, secret: str) -> None:
    """Write a file that only its owner can read, also while it is being written."""
    try:
        remove_temporary_files(path)  # they hold secrets
        replace_file(path, lambda file: file.write(f"{secret}\n".encode()), private=True)
    except OSError as error:
        raise ConfigurationError(
            f"the secret cannot be written to {path}: {error.strerror}; nothing was issued"
        ) from error


@contextmanager
def issuing(store: Store, path: Path) -> Iterator[tuple[Connection, Callable[[str], None]]]:
    """Give a connection that writes, and a function that saves the secret it issues: issued and saved, or neither."""
    with ExitStack() as on_error:

        def save(secret: str) -> None:
            write_secret(path, secret)
            on_error.callback(path.unlink, missing_ok=True)

        with store.writing() as connection:
            yield connection, save
        on_error.pop_all()


def save_new_token(
    store: Store, instance_id: str, path: Path, *, lifetime: float | None = None, label: str = ""
) -> None:
    """Issue an access token into a new private file; it is issued only if it is saved."""
    check_new_file(path)
    with issuing(store, path) as (connection, save):
        instance = read_instance(connection, instance_id)
        save(add_token(connection, instance.pk, lifetime=lifetime, label=label))


def save_new_client(store: Store, instance_id: str, path: Path, *, label: str = "") -> str:
    """Create an OAuth client, save its secret in a new private file, and return its id; both or nothing."""
    check_new_file(path)
    with issuing(store, path) as (connection, save):
        credentials = add_client(connection, read_instance(connection, instance_id).pk, label=label)
        save(credentials.client_secret)
    return credentials.client_id
