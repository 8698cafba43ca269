"""Creation, changes and choice of instances, with their required ledgers and access tokens.

A secret is shown once, or written to a private file, when a token is issued; the database stores only its SHA-256. A
revoked token is refused from the next request on.
"""

from __future__ import annotations

import hmac
import secrets
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection, insert, select, update

from accounting_analytics.core.atomic_files import remove_temporary_files, replace_file
from accounting_analytics.core.errors import ConfigurationError, InputError
from accounting_analytics.core.messages import HEADING, is_heading, join_ids, quote
from accounting_analytics.core.money import DEFAULT_SCALE, check_scale
from accounting_analytics.core.periods import LOCALTIME, zone
from accounting_analytics.journals.entries import check_text, is_valid_id
from accounting_analytics.service import tables
from accounting_analytics.service.database import Store, beside, find_instance, read_instance, select_instances
from accounting_analytics.service.ledgers import REQUIRED_LEDGERS, add_ledgers
from accounting_analytics.service.stored_values import Instance, check_header_id, instance_digest, new_id, now

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from accounting_analytics.core.chart_of_accounts import RequiredLedger

TIERS = (1, 2, 3)
_FIRST_PORT = 20_000
_PORTS = 10_000
_TOKENS = tables.tokens.c
_NO_HASH = bytes(sha256().digest_size)


class NewInstance(NamedTuple):
    """An instance to create. Its required ledgers get new ids, unless ids are given.

    Entries and report periods before `entries_start`, a day in the time zone `localtime`, are refused. A later import
    may state fields that are None.
    """

    name: str = "books"
    tier: int = 3
    scale: int = DEFAULT_SCALE
    localtime: str | None = None
    entries_start: dt.date | None = None
    id: str | None = None
    required_ledger_ids: Mapping[RequiredLedger, str] = MappingProxyType({})
    company: str | None = None
    currency: str | None = None


def create_instance(store: Store, new: NewInstance | None = None, *, token_file: Path | None = None) -> str:
    """Create an instance, and a token file if one is named, and return the instance's id."""
    if token_file is None:
        with store.writing() as connection:
            return _add_instance(connection, new or NewInstance()).id
    _check_new_file(token_file)
    with _issuing(store, token_file) as (connection, issue):
        instance = _add_instance(connection, new or NewInstance())
        issue(instance)
    return instance.id


@contextmanager
def first_instance(store: Store, new: NewInstance) -> Iterator[tuple[Connection, Instance]]:
    """Give a writing connection and the first instance of a database, which is created too.

    An access token, which is never shown, is written to a private file beside the database. If the block fails, neither
    instance nor token exists.
    """
    if store.path is None:
        raise ConfigurationError(
            f"the database {store.name} has no instance yet, and no folder beside it for a token file: "
            "create one first with: accounting-analytics service instances create --token-file FILE"
        )
    with _issuing(store, beside(store.path, ".token")) as (connection, issue):
        if connection.execute(select(tables.instances.c.pk).limit(1)).first():
            raise ConfigurationError(f"another program has just created the first instance of {store.name}; try again")
        instance = _add_instance(connection, new)
        issue(instance)
        yield connection, instance


def instance_to_fill(
    store: Store, instance_id: str | None = None, *, scale: int | None = None, time_zone: str | None = None
) -> Instance | NewInstance:
    """Return the instance with an id, or the only one, for an import.

    A database without an instance gets a new one. An existing instance must have the same `scale` and time zone, and
    `time_zone` states the zone if the instance has none.
    """
    if not store.instances():
        digits = DEFAULT_SCALE if scale is None else check_scale(scale)
        new = NewInstance(id=instance_id or new_id("ins"), scale=digits)
        return new._replace(localtime=_zone_to_fill(store, None, time_zone))
    instance = store.instance(choose_instance(store, instance_id))
    if scale not in {None, instance.scale}:
        raise ConfigurationError(
            f"the instance {instance.id} has amounts of {instance.scale} fraction digits, not {scale}: leave out "
            "--scale and ACCOUNTING_ANALYTICS_SCALE; a new database can have others"
        )
    return replace_fields(instance, localtime=_zone_to_fill(store, instance.localtime, time_zone))


def _zone_to_fill(store: Store, known: str | None, stated: str | None) -> str:
    """Return the stated time zone. Refuse a missing zone, and two different zones."""
    name = None if stated is None else zone(stated).key
    if known is None and name is None:
        raise ConfigurationError(
            f"nothing states in which time zone the days of {store.name} are counted, and none is assumed; nothing was "
            "imported. Give it once, it is kept with the books: --time-zone America/New_York, or UTC (time_zone=), or "
            "set ACCOUNTING_ANALYTICS_TIME_ZONE"
        )
    if name not in {None, known} and known is not None:
        raise ConfigurationError(
            f"the days of {store.name} are counted in {known}, and this import states {name}; nothing was imported. "
            f"Give --time-zone {known}, or leave out --time-zone and ACCOUNTING_ANALYTICS_TIME_ZONE; books in another "
            "zone need a new database"
        )
    return str(known or name)


def describe_instance(
    connection: Connection, instance: Instance, *, localtime: str | None, company: str | None, currency: str | None
) -> Instance:
    """Store the time zone, company and currency of an instance. None changes nothing."""
    stated = {
        "localtime": localtime,
        "company": check_heading(company, "company"),
        "currency": check_heading(currency, "currency"),
    }
    known = {name: value for name, value in stated.items() if value is not None}
    if known:
        connection.execute(update(tables.instances).where(tables.instances.c.pk == instance.pk).values(known))
    return read_instance(connection, instance.id)


def check_heading(text: str | None, name: str) -> str | None:
    """Return a company or currency. Refuse a text that cannot be a heading."""
    if text is not None and not is_heading(text):
        raise InputError(f"{name} is {quote(text)}; it must be {HEADING}")
    return text


def choose_instance(store: Store, instance_id: str | None = None) -> str:
    """Return the given instance, else the only instance. Refuse several instances."""
    ids = [instance.id for instance in store.instances()]
    if instance_id in ids or (instance_id is None and len(ids) == 1):
        return instance_id or ids[0]
    if not ids:
        raise ConfigurationError(
            f"the database {store.name} has no instance; create one with: accounting-analytics service instances create"
        )
    problem = "has several instances" if instance_id is None else f"has no instance {instance_id!r}"
    raise ConfigurationError(f"the database {store.name} {problem}; choose one (--instance): {join_ids(ids)}")


def set_tier(store: Store, instance_id: str, tier: int) -> None:
    """Change the subscription tier of an instance, from the next request on."""
    _check_tier(tier)
    with store.writing() as connection:
        instance = read_instance(connection, instance_id)
        connection.execute(update(tables.instances).where(tables.instances.c.pk == instance.pk).values(tier=tier))


def _check_tier(tier: int) -> int:
    if tier not in TIERS:
        raise InputError(f"tier must be one of {', '.join(map(str, TIERS))}, not {tier!r}")
    return tier


def _add_instance(connection: Connection, new: NewInstance) -> Instance:
    """Write a new instance with its required ledgers."""
    if new.localtime == LOCALTIME:
        raise InputError("the time zone of an instance must be an IANA name such as 'America/New_York'")
    instance_id = new_id("ins") if new.id is None else check_header_id(new.id, "instance")
    row = {
        "id": instance_id,
        "name": check_text(new.name, "the name of an instance"),
        "tier": _check_tier(new.tier),
        "scale": check_scale(new.scale),
        "localtime": None if new.localtime is None else zone(new.localtime).key,
        "company": check_heading(new.company, "company"),
        "currency": check_heading(new.currency, "currency"),
        "entries_start": new.entries_start,
        "created_at": now(),
    }
    if find_instance(connection, instance_id):
        raise InputError(f"there is already an instance {instance_id!r}; nothing was changed")
    connection.execute(insert(tables.instances), row)
    instance = read_instance(connection, instance_id)
    ids = new.required_ledger_ids
    required = [replace(ledger, id=ids.get(kind)) for kind, ledger in REQUIRED_LEDGERS.items()]
    add_ledgers(connection, instance, required, is_required=True)
    return instance


@dataclass(frozen=True)
class AccessToken:
    """An access token without its secret. Its key is the part before the dot.

    A valid token was never revoked.
    """

    key: str
    instance_id: str
    created_at: dt.datetime
    revoked_at: dt.datetime | None


def issue_token(store: Store, instance_id: str) -> str:
    """Issue an access token of an instance, valid until it is revoked."""
    with store.writing() as connection:
        return _add_token(connection, read_instance(connection, instance_id))


def save_new_token(store: Store, instance_id: str, path: Path) -> None:
    """Issue an access token into a new private file, or not at all."""
    _check_new_file(path)
    with _issuing(store, path) as (connection, issue):
        issue(read_instance(connection, instance_id))


def list_tokens(store: Store, instance_id: str | None = None) -> list[AccessToken]:
    """Return the access tokens of one instance or of all, including revoked tokens."""
    query = (
        select(_TOKENS.key, tables.instances.c.id, _TOKENS.created_at, _TOKENS.revoked_at)
        .join_from(tables.tokens, tables.instances)
        .order_by(_TOKENS.created_at)
    )
    if instance_id is not None:
        query = query.where(tables.instances.c.pk == store.instance(instance_id).pk)
    with store.reading() as connection:
        return [AccessToken(*row) for row in connection.execute(query)]


def revoke_token(store: Store, key: str) -> None:
    """Revoke an access token by its key or whole text. This cannot be undone."""
    is_key = _TOKENS.key == token_key(key)
    with store.writing() as connection:
        if connection.execute(select(_TOKENS.key).where(is_key)).first() is None:
            raise InputError(f"there is no access token with the key {token_key(key)!r}")
        is_valid = _TOKENS.revoked_at.is_(None)
        connection.execute(update(tables.tokens).where(is_key, is_valid).values(revoked_at=now()))


def token_key(token: str) -> str:
    """Return the key of a token, the part that may be shown."""
    return token.partition(".")[0]


def instance_of_token(connection: Connection, token: str) -> Instance | None:
    """Return the instance of a token, or None if the token is unknown or revoked."""
    key, _, secret = token.partition(".")
    if not is_valid_id(key):
        return None
    query = (
        select_instances()
        .add_columns(_TOKENS.secret_hash)
        .join(tables.tokens)
        .where(_TOKENS.key == key, _TOKENS.revoked_at.is_(None))
    )
    *instance, secret_hash = connection.execute(query).first() or (None, _NO_HASH)
    # the comparison takes constant time, and is also made if no row was found
    return Instance(*instance) if hmac.compare_digest(_hash_secret(secret), secret_hash) else None


def _hash_secret(secret: str) -> bytes:
    """Hash a secret. The database stores only the hash."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _add_token(connection: Connection, instance: Instance) -> str:
    """Write a new access token to the database, and return it.

    The open transaction is not committed.
    """
    key, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    row = {
        "key": key,
        "instance_pk": instance.pk,
        "secret_hash": _hash_secret(secret),
        "created_at": now(),
    }
    connection.execute(insert(tables.tokens), row)
    return f"{key}.{secret}"


def _check_new_file(path: Path) -> None:
    """Refuse an existing file.

    A file may hold the only copy of a secret.
    """
    if path.exists():
        raise ConfigurationError(f"{path} exists already; nothing was issued, give a new file")
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(f"there is no folder {path.absolute().parent} for {path.name}; nothing was issued")


@contextmanager
def _issuing(store: Store, path: Path) -> Iterator[tuple[Connection, Callable[[Instance], None]]]:
    """Give a writing connection, and a function that saves a token. Both succeed or both fail."""
    with ExitStack() as on_error:

        def issue(instance: Instance) -> None:
            token = _add_token(connection, instance)
            try:
                remove_temporary_files(path)  # temporary files contain secrets
                replace_file(path, lambda file: file.write(f"{token}\n".encode()), private=True)
            except OSError as error:
                raise ConfigurationError(
                    f"the secret cannot be written to {path}: {error.strerror}; nothing was issued"
                ) from error
            on_error.callback(path.unlink, missing_ok=True)

        with store.writing() as connection:
            yield connection, issue
        on_error.pop_all()


def port_of(instance: Instance) -> int:
    """Return the port of an instance. It is always the same, and other instances seldom have it."""
    return _FIRST_PORT + int(instance_digest(instance.id), 16) % _PORTS
