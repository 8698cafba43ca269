"""The store: read snapshots and write transactions of one database, and the instances and ledgers in it.

There is one writer at a time, and readers never wait: :meth:`Store.reading` gives a consistent snapshot,
:meth:`Store.writing` holds the write lock, and what is written in its block is committed completely or not at all.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import Connection, Engine, Select, insert, inspect, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as TooManyConnectionsError

from accounting_analytics.core.errors import ConfigurationError, InputError, OperationRefusedError
from accounting_analytics.service import connections, tables
from accounting_analytics.service.values import AuditRow, Instance, StoredLedger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOCK_SECONDS = 10.0
_VERSION_NAME = "schema_version"
_PAGE_KEY_NAME = "page_token_key"
_PAGE_KEY_BYTES = 32
_IDS_PER_QUERY = 500
_Id = TypeVar("_Id", str, int)


class Store:
    """Books of any number of instances in one database; a context manager that closes itself.

    Get one with :meth:`Store.open`. Every method may be called from any thread.

    Attributes
    ----------
    path : Path or None
        File of the database; None for PostgreSQL.
    name : str
        Name of the database in messages, without passwords.
    """

    def __init__(self, engine: Engine, lock_seconds: float, path: Path | None = None) -> None:
        self._engine = engine
        self._lock_seconds = lock_seconds
        self._writer = threading.Lock()
        self.path = path
        self.name = str(path) if path else connections.address_without_passwords(engine.url)

    @classmethod
    def open(cls, database: str | Path, *, lock_seconds: float = LOCK_SECONDS, create: bool = True) -> Self:
        """Open a database: an SQLite file, created if it does not exist, or an address ``postgresql://...``.

        A writer waits at most `lock_seconds` for another one. Without `create`, an empty database is refused.
        """
        address = str(database)
        if address.startswith(connections.SERVER_SCHEMES):
            store = cls(connections.connect_server(address, lock_seconds), lock_seconds)
        elif "://" in address:
            scheme = address.partition("://")[0]
            raise ConfigurationError(
                f"a database is a file or an address postgresql://user@host/name; {scheme[:20]!r} is not known"
            )
        else:
            path = Path(database)
            connections.ensure_file(path, create=create)
            store = cls(connections.connect_file(path, lock_seconds), lock_seconds, path)
        try:
            store._ensure_tables(create=create)
        except DBAPIError as error:
            store.close()
            if store.path:
                raise connections.unusable_file(store.name, error.orig) from error
            raise connections.unusable_server(store._engine.url, error) from None
        except OperationRefusedError as error:
            store.close()
            if store.path and isinstance(error.__cause__, DBAPIError) and connections.is_full(error.__cause__.orig):
                raise connections.unusable_file(store.name, error.__cause__.orig) from error
            raise
        except BaseException:  # also when interrupted: the database must not stay locked
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close every connection to the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one snapshot until the block ends; 503 if the database is busy."""
        with _refusals(), self._engine.connect() as connection:
            connection.begin()  # ended by closing: there is nothing to commit
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection that holds the write lock; committed when the block ends, rolled back when it raises.

        503 if another writer held the lock for too long, 507 if the disk is full.
        """
        if not self._writer.acquire(timeout=self._lock_seconds):
            raise connections.busy()
        try:
            with _refusals(), self._engine.execution_options(**{connections.WRITES: True}).begin() as connection:
                yield connection
        finally:
            self._writer.release()

    def page_token_key(self) -> bytes:
        """Return the secret that page tokens of this database are signed with."""
        with self.reading() as connection:
            return _setting(connection, _PAGE_KEY_NAME)

    def instances(self) -> list[Instance]:
        """All instances, oldest first."""
        with self.reading() as connection:
            rows = connection.execute(select_instances().order_by(tables.instances.c.pk))
            return [Instance(*row) for row in rows]

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
        with self.reading() as connection:
            instance = read_instance(connection, instance_id)
            query = select(*(audit.c[field.name] for field in fields(AuditRow)))
            query = query.where(audit.c.instance_pk == instance.pk).order_by(audit.c.number)
            return [AuditRow(*row) for row in connection.execute(query)]

    def _ensure_tables(self, *, create: bool) -> None:
        """Create the tables in an empty database; a database with the tables is only read."""
        with self._engine.connect() as connection:
            is_empty = not has_books(connection, self.name)
        if is_empty and not create:
            raise InputError(f"{self.name} is empty; create books with: accounting-analytics instances create")
        if self.path:
            connections.use_write_ahead_log(self._engine, self.name)
        if is_empty:
            with self.writing() as connection:
                if not has_books(connection, self.name):  # otherwise another process has created them
                    tables.metadata.create_all(connection)
                    values = {
                        _VERSION_NAME: b"%d" % tables.VERSION,
                        _PAGE_KEY_NAME: secrets.token_bytes(_PAGE_KEY_BYTES),
                    }
                    rows = [{"name": name, "value": value} for name, value in values.items()]
                    connection.execute(insert(tables.settings), rows)


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise errors about a busy or full database as refusals."""
    try:
        yield
    except TooManyConnectionsError as error:
        raise connections.busy() from error
    except DBAPIError as error:
        refused = connections.refusal(error.orig)
        if refused is None:
            raise
        raise refused from error


def has_books(connection: Connection, name: str) -> bool:
    """Whether a database has the tables of this version; refuse other tables and another version."""
    existing = inspect(connection).get_table_names()
    if not existing:
        return False
    version = _setting(connection, _VERSION_NAME) if tables.settings.name in existing else b""
    if not version.isdigit():
        raise InputError(
            f"{name} contains something other than the books of the service; nothing was changed, give another one"
        )
    if int(version) != tables.VERSION:
        raise InputError(
            f"{name} was written by another version of this program; nothing was changed, import the books again "
            "into a new database"
        )
    return True


def _setting(connection: Connection, name: str) -> bytes:
    """Value of a setting; empty if it is missing."""
    settings = tables.settings.c
    return bytes(connection.execute(select(settings.value).where(settings.name == name)).scalar() or b"")


def select_instances() -> Select[*tuple[Any, ...]]:
    """Query of the fields of :class:`Instance`."""
    return select(*(tables.instances.c[field.name] for field in fields(Instance)))


def find_instance(connection: Connection, instance_id: str) -> Instance | None:
    """Instance with an id, if there is one."""
    row = connection.execute(select_instances().where(tables.instances.c.id == instance_id)).first()
    return Instance(*row) if row else None


def read_instance(connection: Connection, instance_id: str) -> Instance:
    """Instance with an id; refuse an id that there is not."""
    instance = find_instance(connection, instance_id)
    if instance is None:
        raise InputError(f"there is no instance {instance_id!r} in this database; nothing was changed")
    return instance


def select_ledgers(instance: Instance) -> Select[*tuple[Any, ...]]:
    """Query of the fields of :class:`StoredLedger`."""
    parents = tables.ledgers.alias()
    columns = {**tables.ledgers.c, "parent_id": parents.c.id}
    return (
        select(*(columns[field.name] for field in fields(StoredLedger)))
        .join_from(tables.ledgers, parents, tables.ledgers.c.parent_pk == parents.c.pk, isouter=True)
        .where(tables.ledgers.c.instance_pk == instance.pk)
    )


def read_ledgers(connection: Connection, instance: Instance) -> list[StoredLedger]:
    """Ledgers of an instance by (sort_code, id)."""
    query = select_ledgers(instance).order_by(tables.ledgers.c.sort_code, tables.ledgers.c.id)
    return [StoredLedger(*row) for row in connection.execute(query)]


def id_batches(ids: Sequence[_Id]) -> Iterator[Sequence[_Id]]:
    """Ids of one query each: a database limits the parameters of a query."""
    return (ids[start : start + _IDS_PER_QUERY] for start in range(0, len(ids), _IDS_PER_QUERY))
