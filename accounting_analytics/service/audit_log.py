"""The audit log of an instance: all changes with user, time and ledgers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, insert, select

from accounting_analytics.service import tables
from accounting_analytics.service.database import Store, read_instance, read_ledgers
from accounting_analytics.service.stored_values import (
    CREATE_LEDGER,
    RECATEGORIZE_TRANSACTION,
    RENAME_LEDGER,
    AuditRow,
    Instance,
    now,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping


LOCAL = "local"
"""Actor of a change that a program made in the database, without an access token."""

_AUDIT = tables.audit.c
_COLUMNS = [_AUDIT[field.name] for field in fields(AuditRow)]
_OF_LEDGERS = (RENAME_LEDGER, CREATE_LEDGER)
_MOST_NAMES = 3
_join = "|".join


def record(
    connection: Connection,
    instance: Instance,
    operation: str,
    before: dict[str, str],
    after: dict[str, str],
    *,
    actor: str = LOCAL,
    transaction_id: str | None = None,
    modified_by: str | None = None,
) -> None:
    """Write the next row of an audit log.

    The actor is the key of an access token or :data:`LOCAL`. The user is the name that the client states.
    """
    row = AuditRow(now(), actor, modified_by, operation, transaction_id, before, after)
    connection.execute(insert(tables.audit), {**asdict(row), "instance_pk": instance.pk})


@dataclass(frozen=True)
class AuditedChange:
    """A change of the books: an audit row with the present names of its ledgers, joined by ``|``.

    If more than three ledgers are new, only their number is shown. For an import, the file, its number of entries and
    its SHA-256 are shown.
    """

    datetime: dt.datetime
    modified_by: str | None
    actor: str
    operation: str
    transaction_id: str | None
    before_names: str
    before_ids: str
    after_names: str
    after_ids: str


def list_changes(store: Store, instance_id: str, *, limit: int | None = None) -> tuple[list[AuditedChange], int]:
    """Return the newest changes of an instance, and the total number."""
    with store.reading() as connection:
        instance = read_instance(connection, instance_id)
        is_own = _AUDIT.instance_pk == instance.pk
        total = connection.execute(select(func.count()).select_from(tables.audit).where(is_own)).scalar_one()
        query = select(*_COLUMNS).where(is_own).order_by(_AUDIT.pk.desc()).limit(limit)
        rows = [AuditRow(*row) for row in connection.execute(query)]
        names = {ledger.id: ledger.name for ledger in read_ledgers(connection, instance)}
    return [_change(row, names) for row in rows], total


def _change(row: AuditRow, names: Mapping[str, str]) -> AuditedChange:
    before_names, before_ids = _names_and_ids(row.operation, row.before, names)
    after_names, after_ids = _names_and_ids(row.operation, row.after, names)
    return AuditedChange(
        datetime=row.at,
        modified_by=row.modified_by,
        actor=row.actor,
        operation=row.operation,
        transaction_id=row.transaction_id,
        before_names=before_names,
        before_ids=before_ids,
        after_names=after_names,
        after_ids=after_ids,
    )


def _names_and_ids(operation: str, ledgers: Mapping[str, str], names: Mapping[str, str]) -> tuple[str, str]:
    """Return names and ids of ledgers. For posted entries, return file and count, and the digest."""
    if operation in _OF_LEDGERS:
        names_or_count = ledgers.values() if len(ledgers) <= _MOST_NAMES else [f"{len(ledgers)} ledgers"]
        return _join(names_or_count), _join(ledgers)
    if operation != RECATEGORIZE_TRANSACTION:
        entries = [f"{ledgers['entries']} entries"] if "entries" in ledgers else []
        return _join([*filter(None, [ledgers.get("file")]), *entries]), ledgers.get("sha256", "")
    ids = dict.fromkeys(ledgers.values())
    return _join(names.get(ledger_id, ledger_id) for ledger_id in ids), _join(ids)
