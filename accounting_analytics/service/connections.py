"""Connections to SQLite files and PostgreSQL servers: access, how transactions begin, and what errors mean."""

from __future__ import annotations

import os
import sqlite3
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError

from accounting_analytics.core.errors import ConfigurationError, InputError, OperationRefusedError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.exc import DBAPIError

WRITES = "writes"
"""Execution option of a connection that takes the write lock when it begins."""

_BUSY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    *("40001", "40P01", "53300", "55P03", "57014", "57P03"),  # of PostgreSQL: conflicts, time-outs, connections
}
_FULL = {
    sqlite3.SQLITE_FULL,
    # a quota or a limit of the file size; and a full disk when shared memory is created or extended
    *(sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN),
    "53100",
}
_PRIMARY_CODE = 0xFF
"""Mask of an extended result code of SQLite; its lowest byte is the primary code."""

_PRIVATE_MODE = 0o600
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


def connect_file(path: Path, lock_seconds: float) -> Engine:
    """Connect to a file that exists; a writer waits so long for another one."""
    url = URL.create("sqlite+pysqlite", database=path.absolute().as_uri(), query={"mode": "rw", "uri": "true"})
    engine = create_engine(url, hide_parameters=True, pool_size=16, max_overflow=48, pool_timeout=60)
    event.listen(engine, "connect", partial(_configure_file, lock_seconds))
    event.listen(engine, "begin", _begin_in_file)
    return engine


def ensure_file(path: Path, *, create: bool) -> None:
    """Refuse a file that cannot be read and written; a missing one is created, and only its owner can read it.

    An existing one is not opened: the locks that this program has on it would be lost when it is closed.
    """
    if str(path) == ":memory:":
        raise ConfigurationError(
            ":memory: names no file for SQLite, which would forget the books; name another file; nothing was written"
        )
    if not create and not (path.exists() and path.stat().st_size):
        problem = "is empty; create books with" if path.exists() else "does not exist; create it with"
        raise InputError(f"the database {path} {problem}: accounting-analytics instances create")
    if path.is_file() and os.access(path, os.R_OK | os.W_OK):
        folder = path.absolute().parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigurationError(
                f"database {path} cannot be opened: files beside it cannot be created in {folder}: permission denied"
            )
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE_MODE))
    except OSError as error:
        raise ConfigurationError(f"database {path} cannot be opened: {error.strerror}") from error


def use_write_ahead_log(engine: Engine, name: str) -> None:
    """Set the journal mode, which is stored in the file and cannot change within a transaction."""
    raw = engine.raw_connection()
    try:
        raw.cursor().execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise unusable_file(name, error) from error
    finally:
        raw.close()


def beside(database: Path, suffix: str) -> Path:
    """File beside a database: ``.token`` of its first instance, ``-wal`` and ``-shm`` of SQLite while it is open."""
    return database.with_name(f"{database.name}{suffix}")


def unusable_file(name: str, error: BaseException | None) -> InputError:
    """Error about a file that SQLite cannot use, because its disk is full, it is damaged, or not a database."""
    if is_full(error):
        return ConfigurationError(
            f"database {name} cannot be opened, because its disk is full: {error}; nothing was changed, make space on "
            "that disk and try again"
        )
    return InputError(
        f"{name} cannot be used as a database of the service: {error}; nothing was changed, give another file, or "
        "replace this one by a backup of it (accounting-analytics restore)"
    )


def find_damage(connection: Connection, limit: int, *, quick: bool = False) -> list[str]:
    """Problems that SQLite finds in its file; a quick check leaves out that indexes have the rows of tables.

    A server checks its own files.
    """
    if connection.dialect.name != "sqlite":
        return []
    try:
        rows = connection.exec_driver_sql(f"PRAGMA {'quick' if quick else 'integrity'}_check({limit})").scalars().all()
    except DatabaseError as error:
        return [str(error.orig)]
    return [row for row in rows if row != "ok"]


def find_dangling_rows(connection: Connection, limit: int) -> list[str]:
    """Rows whose foreign key refers to a row that does not exist; a server always enforces its keys."""
    if connection.dialect.name != "sqlite":
        return []
    rows = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(limit)
    return [f"row {key} of {table} refers to a row of {parent} that does not exist" for table, key, parent, _ in rows]


def _configure_file(lock_seconds: float, connection: sqlite3.Connection, _: object) -> None:
    # transactions begin in _begin, never implicitly in the driver
    connection.isolation_level = None
    for pragma in (f"PRAGMA busy_timeout = {int(lock_seconds * 1000)}", *_PRAGMAS):
        connection.execute(pragma)


def _begin_in_file(connection: Connection) -> None:
    """Begin: a reader sees one snapshot from its first statement on, a writer takes the write lock immediately."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get(WRITES) else "BEGIN")


def connect_server(address: str, lock_seconds: float) -> Engine:
    """Connect to a server; a writer waits so long for another one."""
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
    """Address without passwords, of which the query of an address may have one too."""
    return url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)


def unusable_server(url: URL, error: DBAPIError) -> ConfigurationError:
    """Error about a server that cannot be used, with the first line of its reason, without passwords."""
    reason = str(error.orig).strip().splitlines()[0]
    for secret in {url.password, url.query.get("password")} - {None}:
        reason = reason.replace(str(secret), "***")
    return ConfigurationError(f"the database {address_without_passwords(url)} cannot be used: {reason}")


def _begin_on_server(lock_seconds: float, connection: Connection) -> None:
    """Begin: a reader sees one snapshot, a writer takes the write lock before it reads anything."""
    if connection.get_execution_options().get(WRITES):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {_STATEMENT_MILLISECONDS}")


def is_full(error: BaseException | None) -> bool:
    """Whether a driver says that the disk is full, or a file cannot grow."""
    return not _FULL.isdisjoint(_codes(error))


def refusal(error: BaseException | None) -> OperationRefusedError | None:
    """Refusal of an operation for an error of the driver: busy or full; None for any other error."""
    if is_full(error):
        return OperationRefusedError(
            "the disk of the database is full; nothing was changed, try again when there is space on it",
            status=507,
            error_code="insufficient_storage",
        )
    return None if _BUSY.isdisjoint(_codes(error)) else busy()


def busy() -> OperationRefusedError:
    """Return the refusal while others hold a lock for too long, or there are too many connections."""
    return OperationRefusedError(
        "the books are busy; nothing was changed, try again in a moment",
        status=503,
        error_code="busy",
        headers={"retry-after": "1"},
    )


def _codes(error: BaseException | None) -> set[int | str | None]:
    code = getattr(error, "sqlite_errorcode", 0)
    return {code, code & _PRIMARY_CODE, getattr(error, "sqlstate", None)}
