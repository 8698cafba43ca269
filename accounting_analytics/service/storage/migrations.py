"""Versions of the tables, and the steps that migrate the books of an older version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Table, bindparam, select, update
from sqlalchemy.schema import CreateColumn

from accounting_analytics.errors import InputError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.audit_rows import (
    BEFORE,
    NewAuditRow,
    Posted,
    begin_audit,
    read_posted,
    record,
    row_digest,
    sum_digests,
)
from accounting_analytics.service.wire.stored_values import MIGRATE_DATABASE

_AUDIT = tables.audit.c
_ENTRIES = tables.journal_entries.c


def prove_audit(connection: Connection) -> None:
    """Give numbers to the audit rows of every instance, and record the books as they are.

    The rows of before get the actor :data:`.audit_rows.BEFORE`; the row that follows them has the digest of all
    entries and the names of all ledgers at this moment.
    """
    _add_columns(connection, tables.audit, "number", "actor", "digest")
    _add_columns(connection, tables.journal_entries, "digest")
    tables.audit_by_number.create(connection)
    tables.audit_heads.create(connection)
    for instance_pk in connection.execute(select(tables.instances.c.pk)).scalars().all():
        begin_audit(connection, instance_pk)
        rows = _number_rows(connection, instance_pk)
        posted = _digest_entries(connection, instance_pk)
        names = select(tables.ledgers.c.id, tables.ledgers.c.name).where(tables.ledgers.c.instance_pk == instance_pk)
        ledgers = {row.id: row.name for row in connection.execute(names.order_by(tables.ledgers.c.pk))}
        after = {"rows": str(rows), **posted.to_after()}
        record(connection, instance_pk, NewAuditRow(MIGRATE_DATABASE, ledgers, after))


def _add_columns(connection: Connection, table: Table, *names: str) -> None:
    for name in names:
        column = CreateColumn(table.c[name]).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {column}")


def _number_rows(connection: Connection, instance_pk: int) -> int:
    """Give numbers to the rows of an instance in the order they were written, and return how many there are."""
    rows = connection.execute(select(tables.audit).where(_AUDIT.instance_pk == instance_pk).order_by(_AUDIT.pk))
    previous, at, number = b"", 0, 0
    proven = []
    for number, row in enumerate(rows.mappings(), 1):
        new = {**row, "number": number, "actor": BEFORE}
        previous, at = row_digest(previous, new), max(at, new["at"])
        proven.append({"key": new["pk"], "number": number, "digest": previous})
    if proven:
        statement = update(tables.audit).where(_AUDIT.pk == bindparam("key")).values(actor=BEFORE)
        connection.execute(statement.values(number=bindparam("number"), digest=bindparam("digest")), proven)
    heads = update(tables.audit_heads).where(tables.audit_heads.c.instance_pk == instance_pk)
    connection.execute(heads.values(number=number, at=at))
    return number


def _digest_entries(connection: Connection, instance_pk: int) -> Posted:
    """Store the digest of every entry of an instance as it was posted."""
    store = update(tables.journal_entries).where(_ENTRIES.pk == bindparam("key")).values(digest=bindparam("new"))
    count, first, last, digest = 0, 0, 0, 0
    for batch in read_posted(connection, instance_pk):
        connection.execute(store, [{"key": entry.key, "new": entry.digest} for entry in batch])
        digest = sum_digests([digest, *(entry.digest for entry in batch)])
        count, first, last = count + len(batch), first or batch[0].key, batch[-1].key
    return Posted(count, first, last, digest)


OLDEST_VERSION = 2
"""Oldest version that can be migrated."""

Step = Callable[[Connection], None]


class Migration(NamedTuple):
    """Versions of a database before and after its migration, equal if there was nothing to do, and its backup."""

    before: int
    after: int
    backup: str | None = None


STEPS: tuple[Step, ...] = (tables.audit_of_transaction.create, tables.idempotency_keys.create, prove_audit)
"""The step from the oldest version to the next one, and so on; a later change appends one and changes none.

A step changes the tables and, where needed, their rows, so that they are as :mod:`.tables` describes them: a test
compares a migrated database with a new one.
"""

VERSION = OLDEST_VERSION + len(STEPS)
"""Version of the tables that this program needs."""


def is_current(name: str, version: int, steps: Sequence[Step] = STEPS) -> bool:
    """Whether a database has the version that is needed; refuse one that is newer, or too old to migrate."""
    needed = OLDEST_VERSION + len(steps)
    if version > needed:
        raise InputError(
            f"{name} has version {version} of the database, and this program needs version {needed}: a newer program "
            "has written it; nothing was changed, update this program"
        )
    if version < OLDEST_VERSION:
        raise InputError(
            f"{name} has version {version} of the database, and this program needs version {needed} and migrates from "
            f"version {OLDEST_VERSION} on; nothing was changed, import the books again"
        )
    return version == needed


def apply_steps(connection: Connection, version: int, steps: Sequence[Step] = STEPS) -> int:
    """Apply the steps that a database of a version does not have, and return the version it has then.

    The caller begins the transaction, stores the version in it and commits all of it: a database is never between two
    versions.
    """
    for step in steps[version - OLDEST_VERSION :]:
        step(connection)
    return OLDEST_VERSION + len(steps)
