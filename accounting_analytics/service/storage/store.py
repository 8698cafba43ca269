"""The store: read snapshots and write transactions of one database, and the instances, ledgers and audit rows in it.

There is one writer at a time, and readers never wait: :meth:`Store.reading` gives a consistent snapshot,
:meth:`Store.writing` holds the write lock, and what is written in its block is committed completely or not at all.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Self

from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as TooManyConnectionsError

from accounting_analytics.errors import ConfigurationError, InputError, OperationRefusedError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import Database, Failure
from accounting_analytics.service.storage.postgresql import PostgreSQL
from accounting_analytics.service.storage.sqlite import SQLite
from accounting_analytics.service.wire.stored_values import AuditRow, Instance, StoredLedger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_KINDS: tuple[type[Database], ...] = (PostgreSQL, SQLite)


def _kind(address: str) -> type[Database]:
    for kind in _KINDS:
        if kind.accepts(address):
            return kind
    scheme = address.partition("://")[0]
    raise ConfigurationError(
        f"a database is a file or an address postgresql://user@host/name; {scheme[:20]!r} is not known"
    )


LOCK_SECONDS = 10.0
INSTANCE_COLUMNS = [column for column in tables.instances.c if column.name != "created_at"]
_PAGE_KEY = "page_token_key"
_PAGE_KEY_BYTES = 32
_NOTHING_CHANGED = "nothing was changed"
_MAY_HAVE_CHANGED = "a change may or may not have been made: check the books"
_RETRY = {"retry-after": "1"}
_PARENTS = tables.ledgers.alias()
SELECT_LEDGERS = (
    select(*({**tables.ledgers.c, "parent_id": _PARENTS.c.id}[field.name] for field in fields(StoredLedger)))
    .join_from(tables.ledgers, _PARENTS, tables.ledgers.c.parent_pk == _PARENTS.c.pk, isouter=True)
    .where(tables.ledgers.c.instance_pk == bindparam("instance"))
)
"""Ledgers of the instance with the key `instance`; :meth:`StoredLedger.from_row` reads a row."""

_SORTED_LEDGERS = SELECT_LEDGERS.order_by(tables.ledgers.c.sort_code, tables.ledgers.c.id)
_SELECT_PAGE_KEY = select(tables.settings.c.value).where(tables.settings.c.name == _PAGE_KEY)


class Store:
    """Books of any number of instances in one database; a context manager that closes itself.

    Get one with :meth:`Store.open`. Every method may be called from any thread.
    """

    def __init__(self, database: Database, lock_seconds: float) -> None:
        self._database = database
        self._lock_seconds = lock_seconds
        self._writer = threading.Lock()

    @property
    def name(self) -> str:
        """Name of the database in messages."""
        return self._database.name

    @property
    def path(self) -> Path | None:
        """File of the database; None for PostgreSQL."""
        return self._database.path

    @classmethod
    def open(cls, database: str | Path, *, lock_seconds: float = LOCK_SECONDS, create: bool = True) -> Self:
        """Open a database: an SQLite file, created if it does not exist, or an address ``postgresql://...``.

        A writer waits at most `lock_seconds` for another one. Without `create`, an empty database is refused.
        """
        store = cls(_kind(str(database)).open(str(database), lock_seconds, create=create), lock_seconds)
        store._ensure_page_token_key()
        return store

    def close(self) -> None:
        """Close every connection to the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one snapshot until the block ends; 503 if the database cannot be read."""
        with self._refusals(_NOTHING_CHANGED), self._database.reader.connect() as connection:
            connection.begin()  # ended by closing: there is nothing to commit
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection that holds the write lock; committed when the block ends, rolled back when it raises.

        503 if another writer held the lock for too long, 507 if the disk is full.
        """
        if not self._writer.acquire(timeout=self._lock_seconds):
            raise _refusal(Failure.BUSY)
        try:
            with self._refusals(_MAY_HAVE_CHANGED), self._database.writer.begin() as connection:
                yield connection
        finally:
            self._writer.release()

    def page_token_key(self) -> bytes:
        """Return the secret that page tokens of this database are signed with."""
        with self.reading() as connection:
            return bytes(connection.execute(_SELECT_PAGE_KEY).scalar_one())

    def instances(self) -> list[Instance]:
        """All instances, oldest first."""
        with self.reading() as connection:
            rows = connection.execute(select(*INSTANCE_COLUMNS).order_by(tables.instances.c.pk))
            return [Instance(**row) for row in rows.mappings()]

    def instance(self, instance_id: str) -> Instance:
        """Instance with an id; refuse an id that there is not."""
        with self.reading() as connection:
            return read_instance(connection, instance_id)

    def ledgers(self, instance_id: str) -> list[StoredLedger]:
        """Ledgers of an instance by (sort_code, id)."""
        with self.reading() as connection:
            return read_ledgers(connection, read_instance(connection, instance_id))

    def audit(self, instance_id: str) -> list[AuditRow]:
        """Audit rows of an instance, oldest first."""
        audit = tables.audit
        columns = [audit.c[field.name] for field in fields(AuditRow)]
        with self.reading() as connection:
            instance = read_instance(connection, instance_id)
            rows = connection.execute(select(*columns).where(audit.c.instance_pk == instance.pk).order_by(audit.c.pk))
            return [AuditRow.from_row(dict(row)) for row in rows.mappings()]

    @contextmanager
    def _refusals(self, state: str) -> Iterator[None]:
        """Raise errors about a busy or unreachable database as refusals, with what an unreachable one may have done."""
        try:
            yield
        except TooManyConnectionsError as error:
            raise _refusal(Failure.BUSY) from error
        except DBAPIError as error:
            failure = self._database.failure(error)
            if failure is None:
                raise
            raise _refusal(failure, state) from error

    def _ensure_page_token_key(self) -> None:
        with self.reading() as connection:
            if connection.execute(_SELECT_PAGE_KEY).first():
                return
        with self.writing() as connection:
            if connection.execute(_SELECT_PAGE_KEY).first() is None:  # another process may have written it meanwhile
                row = {"name": _PAGE_KEY, "value": secrets.token_bytes(_PAGE_KEY_BYTES)}
                connection.execute(insert(tables.settings), row)


def find_instance(connection: Connection, instance_id: str) -> Instance | None:
    """Instance with an id, if there is one."""
    row = connection.execute(select(*INSTANCE_COLUMNS).where(tables.instances.c.id == instance_id)).mappings().first()
    return Instance(**row) if row else None


def read_instance(connection: Connection, instance_id: str) -> Instance:
    """Instance with an id; refuse an id that there is not."""
    instance = find_instance(connection, instance_id)
    if instance is None:
        raise InputError(f"there is no instance {instance_id!r} in this database; nothing was changed")
    return instance


def read_ledgers(connection: Connection, instance: Instance) -> list[StoredLedger]:
    """Ledgers of an instance by (sort_code, id)."""
    return [StoredLedger.from_row(row) for row in connection.execute(_SORTED_LEDGERS, {"instance": instance.pk})]


_REFUSALS = {
    Failure.BUSY: (503, "busy", _RETRY, "the books are busy; nothing was changed, try again in a moment"),
    Failure.FULL: (
        507,
        "insufficient_storage",
        {},
        "the disk of the database is full; nothing was changed, try again when there is space on it",
    ),
    Failure.UNREACHABLE: (
        503,
        "database_unreachable",
        _RETRY,
        "the database of the service cannot be reached; {state}, then try again",
    ),
}
"""Status, error code, headers and message of the refusal for each failure."""


def _refusal(failure: Failure, state: str = _NOTHING_CHANGED) -> OperationRefusedError:
    """Error about a database that cannot be used, with what an operation may have changed before."""
    status, error_code, headers, message = _REFUSALS[failure]
    return OperationRefusedError(message.format(state=state), status=status, error_code=error_code, headers=headers)
