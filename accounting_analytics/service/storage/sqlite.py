"""Books in an SQLite file: opening it, transactions, durability."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError

from accounting_analytics.errors import ConfigurationError, InputError
from accounting_analytics.service.storage.database import BATCH_ROWS, WRITES, bind_engines
from accounting_analytics.service.storage.tables import SCHEMA_VERSION, metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Select, Table
    from sqlalchemy.exc import DBAPIError

APPLICATION_ID = 0x4C415331
"""Identifies an SQLite file as a database of this service ("LAS1")."""

_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -32768",
    "PRAGMA mmap_size = 1073741824",
)
_HEADER = ("application_id", "user_version")
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_CANNOT_GROW = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
"""Codes of a quota or a limit of the file size, and of a full disk when shared memory is extended."""

_PRIMARY_CODE = 0xFF
"""Mask of an extended result code; its lowest byte is the primary code."""


class SQLite:
    """Books in an SQLite file."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self.name = str(path)
        self.path: Path | None = path
        self.reader, self.writer = bind_engines(self, engine)

    @classmethod
    def accepts(cls, address: str) -> bool:
        """Whether an address is the path of a file."""
        return "://" not in address

    @classmethod
    def open(cls, address: str, lock_seconds: float, *, create: bool) -> Self:
        """Open the file at a path; a new or empty file gets the tables, and only its owner can read it."""
        path = Path(address)
        if not create and not path.exists():
            msg = f"database {path} does not exist; create it with: accounting-analytics instances create"
            raise InputError(msg)
        _create_private(path)
        engine = create_engine(
            URL.create("sqlite+pysqlite", database=str(path)),
            hide_parameters=True,
            pool_size=16,
            max_overflow=48,
            pool_timeout=60,
        )
        event.listen(engine, "connect", partial(_configure, lock_seconds))
        event.listen(engine, "begin", _begin)
        database = cls(path, engine)
        try:
            if not _has_tables(engine, path):
                _create_tables(database, path, create=create)
        except (DatabaseError, sqlite3.DatabaseError) as error:
            engine.dispose()
            msg = f"{path} cannot be used as a database of the service: {getattr(error, 'orig', error)}"
            raise InputError(msg) from error
        except InputError:
            engine.dispose()
            raise
        return database

    def insert_rows(self, connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many rows with one prepared statement."""
        values = ", ".join("?" * len(table.columns))
        connection.exec_driver_sql(f"INSERT INTO {table.name} VALUES ({values})", list(rows))  # noqa: S608 (our own names)

    def stream_rows(
        self, connection: Connection, query: Select[*tuple[Any, ...]], parameters: Mapping[str, Any] | None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Rows of a query, fetched from the driver's cursor."""
        with connection.execute(query, parameters) as result:
            cursor = result.cursor
            while cursor is not None and (rows := cursor.fetchmany(BATCH_ROWS)):
                yield list(rows)

    def find_damage(self, connection: Connection, limit: int) -> Iterator[str]:
        """Problems that SQLite's integrity check finds in the file."""
        try:
            rows = connection.exec_driver_sql(f"PRAGMA integrity_check({limit})").scalars().all()
        except DatabaseError as error:
            yield str(error.orig)
            return
        yield from (row for row in rows if row != "ok")

    def find_dangling_rows(self, connection: Connection, limit: int) -> Iterator[str]:
        """Rows whose foreign key refers to a row that does not exist."""
        for table, key, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(limit):
            yield f"row {key} of {table} refers to a row of {parent} that does not exist"

    def is_busy(self, error: DBAPIError) -> bool:
        """Whether another connection held the lock for too long."""
        return getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY_CODE in _BUSY

    def is_full(self, error: DBAPIError) -> bool:
        """Whether the disk is full, or the file or the write-ahead log beside it cannot grow."""
        code = getattr(error.orig, "sqlite_errorcode", 0)
        return code & _PRIMARY_CODE == sqlite3.SQLITE_FULL or code in _CANNOT_GROW

    def is_unreachable(self, error: DBAPIError) -> bool:  # noqa: ARG002 (of the protocol)
        """Return False: a file has no server."""
        return False


def _create_private(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        msg = f"database {path} cannot be opened: {error.strerror}"
        raise ConfigurationError(msg) from error


def _configure(lock_seconds: float, connection: sqlite3.Connection, _: object) -> None:
    # transactions begin in _begin, never implicitly in the driver
    connection.isolation_level = None
    for pragma in (f"PRAGMA busy_timeout = {int(lock_seconds * 1000)}", *_PRAGMAS):
        connection.execute(pragma)


def _begin(connection: Connection) -> None:
    """Begin: a reader sees one snapshot from its first statement on, a writer takes the write lock immediately."""
    writes: Any = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _has_tables(engine: Engine, path: Path) -> bool:
    """Whether the file has the tables of this version; False for an empty file, any other content is refused."""
    with engine.connect() as connection, connection.begin():
        if _read_header(connection) == (APPLICATION_ID, SCHEMA_VERSION):
            return True
        if connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar():
            msg = f"{path} is not a database of this version of the service; nothing was changed, give another file"
            raise InputError(msg)
    return False


def _create_tables(database: SQLite, path: Path, *, create: bool) -> None:
    if not create:
        msg = f"the database {path} is empty; create books with: accounting-analytics instances create"
        raise InputError(msg)
    # the journal mode is stored in the file, and cannot change within a transaction
    with closing(database.reader.raw_connection()) as raw, closing(raw.cursor()) as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")
    with database.writer.connect() as connection, connection.begin():
        if _read_header(connection) != (APPLICATION_ID, SCHEMA_VERSION):  # another process may have created them
            metadata.create_all(connection)
            for name, value in zip(_HEADER, (APPLICATION_ID, SCHEMA_VERSION), strict=True):
                connection.exec_driver_sql(f"PRAGMA {name} = {value}")


def _read_header(connection: Connection) -> tuple[int | None, ...]:
    return tuple(connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in _HEADER)
