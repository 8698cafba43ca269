"""Create instances with their required ledgers, change them, and choose the one that a command works on."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection, insert, select, update

from accounting_analytics.core.errors import AccountingAnalyticsError, ConfigurationError, InputError
from accounting_analytics.core.messages import join_ids
from accounting_analytics.core.money import DEFAULT_SCALE, check_scale
from accounting_analytics.core.periods import LOCALTIME, zone
from accounting_analytics.service import tables
from accounting_analytics.service.auth import add_token, issuing
from accounting_analytics.service.connections import beside
from accounting_analytics.service.ledgers import REQUIRED_LEDGERS, add_ledgers
from accounting_analytics.service.store import Store, find_instance, read_instance
from accounting_analytics.service.values import Instance, check_header_id, check_text, new_id, now

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from accounting_analytics.core.chart_of_accounts import RequiredLedger

TIERS = (1, 2, 3)


class NewInstance(NamedTuple):
    """An instance to create; required ledgers without a given id get a new one.

    Entries and report periods before `entries_start`, a day in the zone `localtime`, are refused.
    """

    name: str = "books"
    tier: int = 3
    scale: int = DEFAULT_SCALE
    localtime: str = "UTC"
    entries_start: dt.date | None = None
    id: str | None = None
    required_ledger_ids: Mapping[RequiredLedger, str] = MappingProxyType({})


class FirstInstance(NamedTuple):
    """The instance that was created in a new database, and the private file with its access token."""

    instance_id: str
    token_file: Path


def create_instance(store: Store, new: NewInstance | None = None) -> str:
    """Create an instance with its four required ledgers and return its id."""
    with store.writing() as connection:
        return _add_instance(connection, new or NewInstance()).id


def create_first_instance(
    store: Store, *, localtime: str = "UTC", instance_id: str | None = None, scale: int = DEFAULT_SCALE
) -> FirstInstance | None:
    """Create an instance and its token file in a database without any instance; None if it has one.

    The token is written to the file and never shown.
    """
    if store.instances():
        return None
    if store.path is None:
        raise ConfigurationError(
            f"the database {store.name} has no instance yet, and no folder beside it for a token file: "
            "create one first with: accounting-analytics instances create --token-file FILE"
        )
    path = beside(store.path, ".token")
    with issuing(store, path) as (connection, save):
        if connection.execute(select(tables.instances.c.pk).limit(1)).first():
            return None  # another process created it meanwhile
        instance = _add_instance(connection, NewInstance(scale=scale, localtime=localtime, id=instance_id))
        save(add_token(connection, instance.pk))
    return FirstInstance(instance.id, path)


@contextmanager
def instance_to_fill(store: Store, instance_id: str | None = None, *, scale: int | None = None) -> Iterator[str]:
    """Give the id of the given instance, of the only one, or of a new one in a database without any.

    A `scale` must be that of an instance that exists. If the block fails, a new one is removed with its database and
    its token file.
    """
    digits = DEFAULT_SCALE if scale is None else check_scale(scale)
    created = create_first_instance(store, instance_id=instance_id, scale=digits)
    if created is None:
        yield check_instance_scale(store, choose_instance(store, instance_id), scale)
        return
    try:
        yield created.instance_id
    except BaseException:  # also when interrupted: no instance stays that the import did not fill
        with suppress(AccountingAnalyticsError):  # the error of the block is the one to report
            _remove_unused(store, created)
        raise


def check_instance_scale(store: Store, instance_id: str, scale: int | None) -> str:
    """Return the id of an instance; refuse a scale that is not its own."""
    own = store.instance(instance_id).scale
    if scale not in {None, own}:
        raise ConfigurationError(
            f"the instance {instance_id} has amounts of {own} fraction digits, not {scale}; a new database can have "
            "others"
        )
    return instance_id


def choose_instance(store: Store, instance_id: str | None = None) -> str:
    """Id of the given instance, or of the only one; refuse to choose among several."""
    ids = [instance.id for instance in store.instances()]
    if instance_id in ids or (instance_id is None and len(ids) == 1):
        return instance_id or ids[0]
    if not ids:
        raise ConfigurationError(
            f"the database {store.name} has no instance; create one with: accounting-analytics instances create"
        )
    problem = "has several instances" if instance_id is None else f"has no instance {instance_id!r}"
    raise ConfigurationError(f"the database {store.name} {problem}; choose one (--instance): {join_ids(ids)}")


def set_tier(store: Store, instance_id: str, tier: int) -> None:
    """Change the subscription tier of an instance; the next request has it."""
    _check_tier(tier)
    with store.writing() as connection:
        instance = read_instance(connection, instance_id)
        connection.execute(update(tables.instances).where(tables.instances.c.pk == instance.pk).values(tier=tier))


def _remove_unused(store: Store, created: FirstInstance) -> None:
    """Remove the database of a new instance, unless another program has posted entries meanwhile."""
    with store.writing() as connection:
        is_unused = connection.execute(select(tables.journal_entries.c.pk).limit(1)).first() is None
        if is_unused and store.path is not None:
            created.token_file.unlink(missing_ok=True)
            for file in (store.path, beside(store.path, "-wal"), beside(store.path, "-shm")):
                file.unlink(missing_ok=True)


def _check_tier(tier: int) -> int:
    if tier not in TIERS:
        raise InputError(f"tier must be one of {', '.join(map(str, TIERS))}, not {tier!r}")
    return tier


def _add_instance(connection: Connection, new: NewInstance) -> Instance:
    """Write a new instance with its required ledgers."""
    if new.localtime == LOCALTIME:
        raise InputError("the time zone that 'localtime' means must be an IANA name such as 'America/New_York'")
    instance_id = new_id("ins") if new.id is None else check_header_id(new.id, "instance")
    row = {
        "id": instance_id,
        "name": check_text(new.name, "the name of an instance"),
        "tier": _check_tier(new.tier),
        "scale": check_scale(new.scale),
        "localtime": zone(new.localtime).key,
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
