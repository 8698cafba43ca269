"""Books in an SQLite file: opening it, transactions, durability."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError

from accounting_analytics.errors import InputError
from accounting_analytics.service.storage.database import BATCH_ROWS, WRITES, bind_engines
from accounting_analytics.service.storage.migrations import VERSION, Migration, is_current
from accounting_analytics.service.storage.sqlite_files import BUSY_CODES, check_access, primary_code, token_path
from accounting_analytics.service.storage.sqlite_versions import migrate_file, state_version, version_of_file
from accounting_analytics.service.storage.tables import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Select, Table
    from sqlalchemy.exc import DBAPIError

_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -32768",
    "PRAGMA mmap_size = 1073741824",
)
_CANNOT_GROW = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
"""Codes of a quota or a limit of the file size, and of a full disk when shared memory is extended."""


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
        """Open the file at a path; a new or empty file gets the tables, and only its owner can read it.

        A file of an older version is migrated after a backup.
        """
        path = Path(address)
        if path.exists():
            check_access(path)
        version = version_of_file(path)
        if version is None:
            _check_new(path, create=create)
            check_access(path)
        if version is not None and not is_current(str(path), version):
            migrate_file(path)
        database = cls(path, _connect(path, lock_seconds))
        try:
            _use_write_ahead_log(database)
            if version is None:
                _create_tables(database)
        except (DatabaseError, sqlite3.DatabaseError) as error:
            database.close()
            msg = f"{path} cannot be used as a database of the service: {getattr(error, 'orig', error)}"
            raise InputError(msg) from error
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def migrate(cls, address: str, *, backup_made: bool) -> Migration:  # noqa: ARG003 (of the protocol)
        """Migrate a file of an older version, after a backup that is made here."""
        path = Path(address)
        version = version_of_file(path)
        if version is None:
            raise _nothing_to_open(path)
        return Migration(version, version) if is_current(str(path), version) else migrate_file(path)

    def close(self) -> None:
        """Close every connection to the file."""
        self.reader.dispose()

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
        return primary_code(error.orig) in BUSY_CODES

    def is_full(self, error: DBAPIError) -> bool:
        """Whether the disk is full, or the file or the write-ahead log beside it cannot grow."""
        is_full = primary_code(error.orig) == sqlite3.SQLITE_FULL
        return is_full or getattr(error.orig, "sqlite_errorcode", 0) in _CANNOT_GROW

    def is_unreachable(self, error: DBAPIError) -> bool:  # noqa: ARG002 (of the protocol)
        """Return False: a file has no server."""
        return False


def _check_new(path: Path, *, create: bool) -> None:
    """Refuse to create books where they are not wanted, or where books were lost.

    Raises
    ------
    InputError
        The file must exist, or its token file shows that it had books.
    """
    if not create:
        raise _nothing_to_open(path)
    if token_path(path).exists():
        msg = (
            f"{path} {'is empty' if path.exists() else 'does not exist'}, but {token_path(path)} belongs to books that "
            "were in it; nothing was changed: restore a backup of them, or move the token file away to begin new books"
        )
        raise InputError(msg)


def _nothing_to_open(path: Path) -> InputError:
    if path.exists():
        return InputError(f"the database {path} is empty; create books with: accounting-analytics instances create")
    return InputError(f"database {path} does not exist; create it with: accounting-analytics instances create")


def _connect(path: Path, lock_seconds: float) -> Engine:
    engine = create_engine(
        URL.create("sqlite+pysqlite", database=str(path)),
        hide_parameters=True,
        pool_size=16,
        max_overflow=48,
        pool_timeout=60,
    )
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
    with database.writer.connect() as connection, connection.begin():
        # another process may have created them
        if not connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar():
            metadata.create_all(connection)
            state_version(connection, VERSION)
