"""What is particular to SQLite: opening the file, transactions, durability."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, DBAPIError

from accounting_analytics.errors import ConfigurationError, InputError
from accounting_analytics.service.storage.database import WRITES, Database
from accounting_analytics.service.storage.tables import SCHEMA_VERSION, metadata

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION_ID = 0x4C415331
"""Marks a SQLite file as a database of this service ("LAS1")."""

_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -32768",
    "PRAGMA mmap_size = 1073741824",
)


def open_database(path: Path, lock_seconds: float, *, create: bool) -> Database:
    """Open the database at `path`; a new or empty file gets the schema, only its owner may read it."""
    _create_private(path)
    engine = create_engine(
        URL.create("sqlite+pysqlite", database=str(path)),
        hide_parameters=True,
        pool_size=16,
        max_overflow=48,
        pool_timeout=60,
    )
    event.listen(engine, "connect", partial(_connected, lock_seconds))
    event.listen(engine, "begin", _begin)
    try:
        if not _is_prepared(engine, path):
            _prepare(engine, path, create=create)
    except (DatabaseError, sqlite3.DatabaseError) as error:
        engine.dispose()
        msg = f"{path} cannot be used as a database of the service: {getattr(error, 'orig', error)}"
        raise InputError(msg) from error
    except InputError:
        engine.dispose()
        raise
    return Database(str(path), path, engine, engine.execution_options(**{WRITES: True}))


def is_locked(error: DBAPIError) -> bool:
    """Whether another writer held the lock for too long."""
    return getattr(error.orig, "sqlite_errorname", None) == "SQLITE_BUSY"


def _create_private(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        msg = f"database {path} cannot be opened: {error.strerror}"
        raise ConfigurationError(msg) from error


def _connected(lock_seconds: float, connection: sqlite3.Connection, _: object) -> None:
    # Transactions begin where _begin says, not where the driver guesses.
    connection.isolation_level = None
    for pragma in (f"PRAGMA busy_timeout = {int(lock_seconds * 1000)}", *_PRAGMAS):
        connection.execute(pragma)


def _begin(connection: Connection) -> None:
    """Begin: a reader sees one snapshot from its first statement on, a writer takes the one write lock at once."""
    writes: Any = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _is_prepared(engine: Engine, path: Path) -> bool:
    """Whether the file has the tables of this version; refuses a file that is something else."""
    with engine.connect() as connection, connection.begin():
        if _marks(connection) == (APPLICATION_ID, SCHEMA_VERSION):
            return True
        if connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar():
            msg = f"{path} is not a database of this version of the service; nothing was changed, give another file"
            raise InputError(msg)
    return False


def _prepare(engine: Engine, path: Path, *, create: bool) -> None:
    if not create:
        msg = f"the database {path} is empty; make books with: accounting-analytics instances create"
        raise InputError(msg)
    # the mode stays with the file, and cannot change within a transaction
    with closing(engine.raw_connection()) as raw, closing(raw.cursor()) as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")
    writer = engine.execution_options(**{WRITES: True})
    with writer.connect() as connection, connection.begin():
        if _marks(connection) != (APPLICATION_ID, SCHEMA_VERSION):  # somebody else may have been faster
            metadata.create_all(connection)
            for name, value in zip(_MARKS, (APPLICATION_ID, SCHEMA_VERSION), strict=True):
                connection.exec_driver_sql(f"PRAGMA {name} = {value}")


def _marks(connection: Connection) -> tuple[int | None, ...]:
    return tuple(connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in _MARKS)


_MARKS = ("application_id", "user_version")
