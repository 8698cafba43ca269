"""Books in an SQLite file: opening it, its version, transactions and durability."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy.exc import DatabaseError, DBAPIError

from accounting_analytics.errors import AccountingAnalyticsError, ConfigurationError, InputError
from accounting_analytics.service.storage.database import (
    VERSION,
    WRITES,
    Failure,
    bind_engines,
    check_version,
)
from accounting_analytics.service.storage.tables import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

APPLICATION_ID = 0x4C415331
"""Identifies an SQLite file as a database of this service ("LAS1")."""

_PRIVATE_MODE = 0o600
_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -32768",
)  # no memory map: reading beyond the end of a file that was truncated would kill the process
_POOL: dict[str, Any] = {"hide_parameters": True, "pool_size": 16, "max_overflow": 48, "pool_timeout": 60}
_PRIMARY_CODE = 0xFF
"""Mask of an extended result code; its lowest byte is the primary code."""

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_CANNOT_GROW = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN})
"""Codes of a quota or a limit of the file size, and of a full disk when shared memory is created or extended."""


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
        if address == ":memory:":
            raise ConfigurationError(
                ":memory: names no file for SQLite, which would forget the books; name another file; nothing was "
                "written"
            )
        if not create and not (path.exists() and path.stat().st_size):
            problem = "is empty; create books with" if path.exists() else "does not exist; create it with"
            raise InputError(f"the database {path} {problem}: accounting-analytics instances create")
        _check_access(path)
        database = cls(path, _connect(path, lock_seconds))
        with database._closed_on_errors():
            with open_file(path) as connection:
                is_new = version_of(connection, path) is None
            _use_write_ahead_log(database)
            if is_new:
                _create_tables(database)
        return database

    def close(self) -> None:
        """Close every connection to the file."""
        self.reader.dispose()

    @contextmanager
    def _closed_on_errors(self) -> Iterator[None]:
        """Close the database if the block fails."""
        try:
            yield
        except (DatabaseError, sqlite3.DatabaseError) as error:
            self.close()
            raise unusable(self.name, getattr(error, "orig", error)) from error
        except BaseException:  # also when interrupted: the file must not stay locked
            self.close()
            raise

    def insert_rows(self, connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many rows with one prepared statement."""
        values = ", ".join("?" * len(table.columns))
        connection.exec_driver_sql(f"INSERT INTO {table.name} VALUES ({values})", list(rows))  # noqa: S608 (our own names)

    def find_damage(self, connection: Connection, limit: int, *, quick: bool = False) -> Iterator[str]:
        """Problems that SQLite finds in the file; a quick check leaves out that indexes have the rows of tables."""
        check = "quick_check" if quick else "integrity_check"
        try:
            rows = connection.exec_driver_sql(f"PRAGMA {check}({limit})").scalars().all()
        except DatabaseError as error:
            yield str(error.orig)
            return
        yield from (row for row in rows if row != "ok")

    def find_dangling_rows(self, connection: Connection, limit: int) -> Iterator[str]:
        """Rows whose foreign key refers to a row that does not exist."""
        for table, key, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(limit):
            yield f"row {key} of {table} refers to a row of {parent} that does not exist"

    def failure(self, error: DBAPIError) -> Failure | None:
        """Return what the code of an error means."""
        if is_full(error.orig):
            return Failure.FULL
        return Failure.BUSY if _primary_code(error.orig) in _BUSY else None


def beside(database: Path, suffix: str) -> Path:
    """File beside a database: ``.token`` of its first instance, ``-wal`` and ``-shm`` of SQLite while it is open."""
    return database.with_name(f"{database.name}{suffix}")


@contextmanager
def open_file(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection to a file that exists."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        yield connection


def version_of(connection: sqlite3.Connection, path: Path) -> int | None:
    """Version of a file; None for one without tables, another version and a file of another program are refused."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id == APPLICATION_ID:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        check_version(str(path), version)
        return int(version)
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        return None
    raise InputError(f"{path} is a database of another program; nothing was changed, give another file")


def is_full(error: BaseException | None) -> bool:
    """Whether the disk is full, or the file or the write-ahead log beside it cannot grow."""
    return _primary_code(error) == sqlite3.SQLITE_FULL or getattr(error, "sqlite_errorcode", 0) in _CANNOT_GROW


def unusable(name: str, error: BaseException) -> AccountingAnalyticsError:
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


def _primary_code(error: BaseException | None) -> int:
    """Return the result code of SQLite without its extension; 0 if the error has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY_CODE


def _check_access(path: Path) -> None:
    """Refuse a file that cannot be read and written; a missing one is created, and only its owner can read it.

    An existing one is not opened: the locks that this program has on it would be lost when it is closed.
    """
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


def _connect(path: Path, lock_seconds: float) -> Engine:
    url = URL.create("sqlite+pysqlite", database=path.absolute().as_uri(), query={"mode": "rw", "uri": "true"})
    engine = create_engine(url, **_POOL)
    event.listen(engine, "connect", partial(_configure, lock_seconds))
    event.listen(engine, "begin", _begin)
    return engine


def _configure(lock_seconds: float, connection: sqlite3.Connection, _: object) -> None:
    # transactions begin in _begin, never implicitly in the driver
    connection.isolation_level = None
    for pragma in (f"PRAGMA busy_timeout = {int(lock_seconds * 1000)}", *_PRAGMAS):
        connection.execute(pragma)


def _begin(connection: Connection) -> None:
    """Begin: a reader sees one snapshot from its first statement on, a writer takes the write lock immediately."""
    writes: Any = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _use_write_ahead_log(database: SQLite) -> None:
    """Set the journal mode, which is stored in the file and cannot change within a transaction."""
    with closing(database.reader.raw_connection()) as raw, closing(raw.cursor()) as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")


def _create_tables(database: SQLite) -> None:
    with database.writer.begin() as connection:
        # another process may have created them
        if not connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar():
            metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
