"""Access tokens of an instance: issued, listed, revoked, and the instance that a token belongs to.

A secret is shown once, or written to a private file, when it is issued; the database stores only its SHA-256. A revoked
or expired token is refused from the next request on.
"""

from __future__ import annotations

import datetime as dt
import hmac
import secrets
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert, or_, select, update

from accounting_analytics.core.atomic_files import remove_temporary_files, replace_file
from accounting_analytics.core.errors import ConfigurationError, InputError
from accounting_analytics.service import tables
from accounting_analytics.service.store import Store, read_instance, select_instances
from accounting_analytics.service.values import Instance, check_text, is_valid_id, now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def _hash_secret(secret: str) -> bytes:
    """SHA-256 of a secret, the only form that the database stores."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


_MAX_LIFETIME = 10 * 365 * 86_400
"""Longest lifetime of a token that expires, in seconds."""

_TOKENS = tables.tokens.c
_NO_HASH = bytes(sha256().digest_size)


@dataclass(frozen=True)
class AccessToken:
    """An access token without its secret: the key is the part before the dot; an instant of None means never."""

    key: str
    instance_id: str
    label: str
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
    query = (
        select(_TOKENS.key, tables.instances.c.id, _TOKENS.label)
        .add_columns(_TOKENS.created_at, _TOKENS.expires_at, _TOKENS.revoked_at)
        .join_from(tables.tokens, tables.instances)
        .order_by(_TOKENS.created_at)
    )
    if instance_id is not None:
        query = query.where(tables.instances.c.pk == store.instance(instance_id).pk)
    with store.reading() as connection:
        return [AccessToken(*row) for row in connection.execute(query)]


def revoke_token(store: Store, key: str) -> None:
    """Revoke an access token by its key (or by the whole token); this cannot be undone."""
    key = token_key(key)
    with store.writing() as connection:
        if connection.execute(select(_TOKENS.key).where(_TOKENS.key == key)).first() is None:
            raise InputError(f"there is no access token with the key {key!r}")
        is_valid = _TOKENS.revoked_at.is_(None)
        connection.execute(update(tables.tokens).where(_TOKENS.key == key, is_valid).values(revoked_at=now()))


def token_key(token: str) -> str:
    """Key of an access token, which may be shown: the part before the dot."""
    return token.partition(".")[0]


def instance_of_token(connection: Connection, token: str) -> Instance | None:
    """Instance of an access token; None if the token is unknown, expired or revoked."""
    key, _, secret = token.partition(".")
    if not is_valid_id(key):
        return None
    query = (
        select_instances()
        .add_columns(_TOKENS.secret_hash)
        .join(tables.tokens)
        .where(_TOKENS.key == key, _TOKENS.revoked_at.is_(None))
        .where(or_(_TOKENS.expires_at.is_(None), _TOKENS.expires_at > now()))
    )
    *instance, secret_hash = connection.execute(query).first() or (None, _NO_HASH)
    # compared in constant time, and also when no row was found
    return Instance(*instance) if hmac.compare_digest(_hash_secret(secret), secret_hash) else None


def add_token(connection: Connection, instance_pk: int, *, lifetime: float | None = None, label: str = "") -> str:
    """Write a new access token in the transaction of `connection`, and return it."""
    created = now()
    key, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    row = {
        "key": key,
        "instance_pk": instance_pk,
        "secret_hash": _hash_secret(secret),
        "label": check_text(label, "the label"),
        "created_at": created,
        "expires_at": None if lifetime is None else created + dt.timedelta(seconds=check_lifetime(lifetime)),
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
