"""The database of a service: read snapshots and write transactions.

It is an SQLite file, or is on a PostgreSQL server. There is one writer at a time, and readers never wait:
:meth:`Store.reading` gives a consistent snapshot, :meth:`Store.writing` holds the write lock and commits its block
completely or not at all.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import URL, Connection, Engine, Select, create_engine, event, insert, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as TooManyConnectionsError

from accounting_analytics.core.atomic_files import PRIVATE_MODE
from accounting_analytics.core.errors import ConfigurationError, InputError, OperationRefusedError
from accounting_analytics.service import tables
from accounting_analytics.service.stored_values import Instance, StoredLedger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

LOCK_SECONDS = 10.0
_VERSION_NAME = "schema_version"
_PAGE_KEY_NAME = "page_token_key"
_PAGE_KEY_BYTES = 32
_IDS_PER_QUERY = 500
_Id = TypeVar("_Id", str, int)

WRITES = "writes"
"""Execution option of a connection that takes the write lock when its transaction begins."""

_BUSY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    *("40001", "40P01", "53300", "55P03", "57014", "57P03"),  # PostgreSQL: conflicts, timeouts, too many connections
}
_FULL = {
    sqlite3.SQLITE_FULL,
    # a quota or file size limit is reached, or the disk is full when shared memory is created or extended
    *(sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN),
    "53100",
}
_PRIMARY_CODE = 0xFF
"""Mask for extended result codes of SQLite, whose lowest byte is the primary code."""

_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -32768",
)  # no memory map: reading beyond the end of a file that was truncated would kill the process

SERVER_SCHEMES = ("postgresql://", "postgresql+psycopg://", "postgres://")
_WRITE_LOCK = 0x4C415331
"""Advisory lock that every writer holds ("LAS1")."""

_STATEMENT_MILLISECONDS = 60_000


class Store:
    """Books of any number of instances in one database, as a context manager that closes the database.

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
        self.name = str(path) if path else address_without_passwords(engine.url)

    @classmethod
    def open(cls, database: str | Path, *, lock_seconds: float = LOCK_SECONDS, create: bool = True) -> Self:
        """Open a database: an SQLite file, created if it does not exist, or an address ``postgresql://...``.

        A writer waits at most `lock_seconds` for another writer. Without `create`, an empty database is refused.
        """
        address = str(database)
        if address.startswith(SERVER_SCHEMES):
            store = cls(connect_server(address, lock_seconds), lock_seconds)
        elif "://" in address:
            scheme = address.partition("://")[0]
            raise ConfigurationError(
                f"a database is a file or an address postgresql://user@host/name; {scheme[:20]!r} is not known"
            )
        else:
            path = Path(database)
            ensure_file(path, create=create)
            store = cls(connect_file(path, lock_seconds), lock_seconds, path)
        with ExitStack() as on_error:
            on_error.callback(store.close)  # also after an interrupt: the database must not stay locked
            try:
                store._ensure_tables(create=create)
            except DBAPIError as error:
                if is_busy(error.orig):
                    raise busy() from error
                if store.path is None:
                    raise unusable_server(store._engine.url, error) from None
                raise unusable_file(store.name, error.orig) from error
            on_error.pop_all()
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
        """Give a connection that reads one snapshot. Refuse with 503 if the database is busy."""
        with _refusals(), self._engine.connect() as connection:
            connection.begin()  # closing ends the transaction: there is nothing to commit
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection with the write lock, and commit at the end of the block.

        The transaction is rolled back if the block raises. It is refused with 503 if another writer holds the lock for
        too long, and with 507 if the disk is full.
        """
        if not self._writer.acquire(timeout=self._lock_seconds):
            raise busy()
        try:
            with _refusals(), self._begin_writing() as connection:
                yield connection
        finally:
            self._writer.release()

    def _begin_writing(self) -> AbstractContextManager[Connection]:
        return self._engine.execution_options(**{WRITES: True}).begin()

    def page_token_key(self) -> bytes:
        """Return the secret that signs page tokens of this database."""
        with self.reading() as connection:
            return _setting(connection, _PAGE_KEY_NAME)

    def instances(self) -> list[Instance]:
        """Return all instances, oldest first."""
        with self.reading() as connection:
            rows = connection.execute(select_instances().order_by(tables.instances.c.pk))
            return [Instance(*row) for row in rows]

    def instance(self, instance_id: str) -> Instance:
        """Return the instance with an id. Refuse an unknown id."""
        with self.reading() as connection:
            return read_instance(connection, instance_id)

    def ledgers(self, instance_id: str) -> list[StoredLedger]:
        """Return the ledgers of an instance by (sort_code, id)."""
        with self.reading() as connection:
            return read_ledgers(connection, read_instance(connection, instance_id))

    def _ensure_tables(self, *, create: bool) -> None:
        """Create the tables of an empty database, or refuse it without `create`.

        An SQLite file gets a write-ahead log.
        """
        with self._engine.connect() as connection:
            is_empty = not has_books(connection, self.name)
        if is_empty and not create:
            raise InputError(f"{self.name} is empty; create books with: accounting-analytics service instances create")
        if self.path:
            use_write_ahead_log(self._engine, self.name)
        if is_empty:
            with self._begin_writing() as connection:
                if not has_books(connection, self.name):  # otherwise another process has created the tables
                    tables.metadata.create_all(connection)
                    values = {
                        _VERSION_NAME: b"%d" % tables.VERSION,
                        _PAGE_KEY_NAME: secrets.token_bytes(_PAGE_KEY_BYTES),
                    }
                    rows = [{"name": name, "value": value} for name, value in values.items()]
                    connection.execute(insert(tables.settings), rows)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn errors of a busy or full database into refusals."""
    try:
        yield
    except TooManyConnectionsError as error:
        raise busy() from error
    except DBAPIError as error:
        refused = refusal(error.orig)
        if refused is None:
            raise
        raise refused from error


def has_books(connection: Connection, name: str) -> bool:
    """Return whether the tables exist. Refuse a database with other tables or another version."""
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
    """Read a setting, or return empty bytes if it is missing."""
    settings = tables.settings.c
    return bytes(connection.execute(select(settings.value).where(settings.name == name)).scalar() or b"")


def select_instances() -> Select[*tuple[Any, ...]]:
    """Return the query of all instances, with the fields of :class:`Instance`."""
    return select(*(tables.instances.c[field.name] for field in fields(Instance)))


def find_instance(connection: Connection, instance_id: str) -> Instance | None:
    """Find the instance with an id, or return None."""
    row = connection.execute(select_instances().where(tables.instances.c.id == instance_id)).first()
    return Instance(*row) if row else None


def read_instance(connection: Connection, instance_id: str) -> Instance:
    """Return the instance with an id. Refuse an unknown id."""
    instance = find_instance(connection, instance_id)
    if instance is None:
        raise InputError(f"there is no instance {instance_id!r} in this database; nothing was changed")
    return instance


def select_ledgers(instance: Instance) -> Select[*tuple[Any, ...]]:
    """Return the query of an instance's ledgers, with the fields of :class:`StoredLedger`."""
    parents = tables.ledgers.alias()
    columns = {**tables.ledgers.c, "parent_id": parents.c.id}
    return (
        select(*(columns[field.name] for field in fields(StoredLedger)))
        .join_from(tables.ledgers, parents, tables.ledgers.c.parent_pk == parents.c.pk, isouter=True)
        .where(tables.ledgers.c.instance_pk == instance.pk)
    )


def read_ledgers(connection: Connection, instance: Instance) -> list[StoredLedger]:
    """Return the ledgers of an instance by (sort_code, id)."""
    query = select_ledgers(instance).order_by(tables.ledgers.c.sort_code, tables.ledgers.c.id)
    return [StoredLedger(*row) for row in connection.execute(query)]


def id_batches(ids: Sequence[_Id]) -> Iterator[Sequence[_Id]]:
    """Split ids into batches, because databases limit the parameters of a query."""
    return (ids[start : start + _IDS_PER_QUERY] for start in range(0, len(ids), _IDS_PER_QUERY))


def connect_file(path: Path, lock_seconds: float) -> Engine:
    """Connect to an existing file. Writers wait at most `lock_seconds` for the lock."""
    url = URL.create("sqlite+pysqlite", database=path.absolute().as_uri(), query={"mode": "rw", "uri": "true"})
    engine = create_engine(url, hide_parameters=True, pool_size=16, max_overflow=48, pool_timeout=60)
    event.listen(engine, "connect", partial(_configure_file, lock_seconds))
    event.listen(engine, "begin", _begin_in_file)
    return engine


def ensure_file(path: Path, *, create: bool) -> None:
    """Refuse an unusable file. Create a missing file that only its owner can read.

    An existing file is not opened, because closing it would release the locks that this program has on the file.
    """
    if not create and not (path.exists() and path.stat().st_size):
        problem = "is empty; create books with" if path.exists() else "does not exist; create it with"
        raise InputError(f"the database {path} {problem}: accounting-analytics service instances create")
    if path.is_file() and os.access(path, os.R_OK | os.W_OK):
        folder = path.absolute().parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigurationError(
                f"database {path} cannot be opened: files beside it cannot be created in {folder}: permission denied"
            )
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_MODE))
    except OSError as error:
        raise ConfigurationError(f"database {path} cannot be opened: {error.strerror}") from error


def use_write_ahead_log(engine: Engine, name: str) -> None:
    """Set the journal mode outside of a transaction, because it cannot change within one."""
    raw = engine.raw_connection()
    try:
        raw.cursor().execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise unusable_file(name, error) from error
    finally:
        raw.close()


def beside(database: Path, suffix: str) -> Path:
    """Return the path of a file beside a database.

    The suffix is ``.token`` for the token of the first instance, or ``-wal`` or ``-shm`` for files of SQLite while the
    database is open.
    """
    return database.with_name(f"{database.name}{suffix}")


def unusable_file(name: str, error: BaseException | None) -> InputError:
    """Explain why SQLite cannot use a file: full disk, damage, other content."""
    if is_full(error):
        return ConfigurationError(
            f"database {name} cannot be opened, because its disk is full: {error}; nothing was changed, make space on "
            "that disk and try again"
        )
    return InputError(
        f"{name} cannot be used as a database of the service: {error}; nothing was changed, give another file, or "
        "replace this one by a copy of it"
    )


def find_damage(connection: Connection) -> str | None:
    """Return the first problem of SQLite's quick check. Servers check their databases themselves."""
    if connection.dialect.name != "sqlite":
        return None
    try:
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    except DatabaseError as error:
        return str(error.orig)
    return None if found == "ok" else str(found)


def _configure_file(lock_seconds: float, connection: sqlite3.Connection, _: object) -> None:
    # transactions begin in _begin_in_file, never implicitly in the driver
    connection.isolation_level = None
    for pragma in (f"PRAGMA busy_timeout = {int(lock_seconds * 1000)}", *_PRAGMAS):
        connection.execute(pragma)


def _begin_in_file(connection: Connection) -> None:
    """Begin a transaction.

    A reader gets one snapshot, a writer gets the write lock.
    """
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get(WRITES) else "BEGIN")


def connect_server(address: str, lock_seconds: float) -> Engine:
    """Connect to a server. Writers wait at most `lock_seconds` for the lock."""
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise ConfigurationError(
            "the address of a PostgreSQL database is written postgresql://user@host:port/name"
        ) from None
    try:
        engine = create_engine(
            url, hide_parameters=True, pool_size=8, max_overflow=24, pool_timeout=60, pool_pre_ping=True
        )
    except (ImportError, NoSuchModuleError) as error:
        raise ConfigurationError(
            "PostgreSQL needs its driver: pip install 'accounting-analytics[postgresql]'"
        ) from error
    event.listen(engine, "begin", partial(_begin_on_server, lock_seconds))
    return engine


def address_without_passwords(url: URL) -> str:
    """Return an address without passwords, also without a password in its query."""
    return url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)


def unusable_server(url: URL, error: DBAPIError) -> ConfigurationError:
    """Explain why a server cannot be used, without passwords."""
    reason = str(error.orig).strip().splitlines()[0]
    for secret in {url.password, url.query.get("password")} - {None}:
        reason = reason.replace(str(secret), "***")
    return ConfigurationError(f"the database {address_without_passwords(url)} cannot be used: {reason}")


def _begin_on_server(lock_seconds: float, connection: Connection) -> None:
    """Begin a transaction.

    A reader gets one snapshot, a writer first gets the write lock.
    """
    if connection.get_execution_options().get(WRITES):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {_STATEMENT_MILLISECONDS}")


def is_full(error: BaseException | None) -> bool:
    """Return whether the disk is full, or a file cannot grow."""
    return not _FULL.isdisjoint(_codes(error))


def is_busy(error: BaseException | None) -> bool:
    """Return whether locks or connections are not available in time."""
    return not _BUSY.isdisjoint(_codes(error))


def refusal(error: BaseException | None) -> OperationRefusedError | None:
    """Translate a driver's error into a refusal, if the database is busy or full, else return None."""
    if is_full(error):
        return OperationRefusedError(
            "the disk of the database is full; nothing was changed, try again when there is space on it",
            status=507,
            error_code="insufficient_storage",
        )
    return busy() if is_busy(error) else None


def busy() -> OperationRefusedError:
    """Return the refusal for missing locks or connections."""
    return OperationRefusedError(
        "the books are busy; nothing was changed, try again in a moment",
        status=503,
        error_code="busy",
        headers={"retry-after": "1"},
    )


def _codes(error: BaseException | None) -> set[int | str | None]:
    code = getattr(error, "sqlite_errorcode", 0)
    return {code, code & _PRIMARY_CODE, getattr(error, "sqlstate", None)}
