"""Books in an SQLite file: opening it, transactions, durability, its version."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import URL, Connection, Engine, Select, Table, create_engine, event
from sqlalchemy.exc import DatabaseError, DBAPIError

from accounting_analytics.errors import AccountingAnalyticsError, ConfigurationError, InputError
from accounting_analytics.service.storage.database import (
    BATCH_ROWS,
    VERSION,
    WRITES,
    Failure,
    bind_engines,
    check_version,
)
from accounting_analytics.service.storage.sqlite_files import (
    BUSY_CODES,
    FilesInUse,
    check_access,
    check_log_belongs,
    in_use,
    is_full,
    is_unused,
    journal_path,
    primary_code,
    read_only,
    read_only_mode,
    roll_back_unfinished,
    shm_path,
    size_of,
    token_path,
    wal_path,
)
from accounting_analytics.service.storage.tables import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -32768",
)  # no memory map: reading beyond the end of a file that was truncated would kill the process
_POOL: dict[str, Any] = {"hide_parameters": True, "pool_size": 16, "max_overflow": 48, "pool_timeout": 60}
_READ_LOCK_SECONDS = 10.0
_EMPTY_SIZE = 4096
"""Size of a file with a header and no tables."""
_FAILURES = {
    **dict.fromkeys(BUSY_CODES, Failure.BUSY),
    # a file that was truncated, or that the disk cannot read, is damaged too
    **dict.fromkeys((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR), Failure.DAMAGED),
}
"""What the primary codes of errors mean."""


class SQLite:
    """Books in an SQLite file."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self.name = str(path)
        self.path: Path | None = path
        self.reader, self.writer = bind_engines(self, engine)
        self.had_log = False
        self._files: FilesInUse | None = None
        self._on_close = ExitStack()

    @classmethod
    def accepts(cls, address: str) -> bool:
        """Whether an address is the path of a file."""
        return "://" not in address

    @classmethod
    def open(cls, address: str, lock_seconds: float, *, create: bool) -> Self:
        """Open the file at a path; a new or empty file gets the tables, and only its owner can read it."""
        path = Path(address)
        _check_files(path)
        had_log = size_of(wal_path(path)) > 0 and not FilesInUse.include(path)
        version, is_new = version_of_file(path), not path.exists()
        if version is None:
            _check_new(path, create=create)
            check_access(path)
        else:
            check_version(str(path), version)
        database = cls(path, _connect(address, lock_seconds))
        database.had_log = had_log
        with ExitStack() as on_error, database._closed_on_errors():
            if is_new:
                on_error.callback(_remove_unused, path)
            _use_write_ahead_log(database)
            if version is None:
                _create_tables(database)
            database._watch(path)
            on_error.pop_all()
        return database

    @classmethod
    def open_read_only(cls, address: str) -> Self:
        """Open the file at a path, which is not changed; no file is created beside it."""
        path = Path(address)
        _check_files(path, writable=False)
        with ExitStack() as resources:
            readable = resources.enter_context(_readable(path))
            version = version_of_file(readable, name=str(path), read_ends=False)
            if version is None:
                raise _nothing_to_open(path)
            check_version(str(path), version)
            query = read_only_mode(readable) | {"uri": "true"}
            database = cls(path, _connect(readable.absolute().as_uri(), _READ_LOCK_SECONDS, query))
            with database._closed_on_errors():
                database._watch(readable, unchanged=is_unused(readable))
            database._on_close.push(resources.pop_all())
        return database

    def close(self) -> None:
        """Close every connection to the file."""
        self.reader.dispose()
        if self._files is not None:
            self._files.close()
        self._on_close.close()

    def is_in_place(self) -> bool:
        """Whether the file and its write-ahead log are still those that were opened."""
        return self._files is None or self._files.are_in_place()

    def _watch(self, path: Path, *, unchanged: bool = False) -> None:
        """Remember the files once a connection, which stays open, has created those beside the database."""
        with self.reader.begin() as connection:
            connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar()
        self._files = FilesInUse(path, unchanged=unchanged)

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

    def failure(self, error: DBAPIError) -> Failure | None:
        """Return what the code of an error means."""
        if is_full(error.orig):
            return Failure.FULL
        return _FAILURES.get(primary_code(error.orig))


def _check_files(path: Path, *, writable: bool = True) -> None:
    """Refuse a file that cannot be accessed, or that is beside the log of another one."""
    if str(path) == ":memory:":
        raise ConfigurationError(
            ":memory: names no file for SQLite, which would forget the books; name another file; nothing was written"
        )
    if path.exists():
        check_access(path, writable=writable)
    if size_of(path) and not FilesInUse.include(path):
        check_log_belongs(path)


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """Give the path, or that of a temporary copy, which can be read without creating a file beside the database."""
    if is_unused(path) or shm_path(path).exists():
        yield path
        return
    # a program was killed: its log can be read only with an index of it, and its unfinished transaction must be undone
    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        for beside in (Path, wal_path, journal_path):
            if beside(path).exists():
                shutil.copyfile(beside(path), beside(copy))
        yield copy


def _check_new(path: Path, *, create: bool) -> None:
    """Refuse to create books where they are not wanted, or where a token file or a log shows that books were lost."""
    if not create:
        raise _nothing_to_open(path)
    beside = [token_path(path)] if size_of(path) else [token_path(path), wal_path(path)]
    left = next(filter(size_of, beside), None)
    if left is not None:
        raise InputError(
            f"{path} {'is empty' if path.exists() else 'does not exist'}, but {left} belongs to books that were in it; "
            f"nothing was changed: restore a backup of them, or move {left.name} away to begin new books"
        )


def _nothing_to_open(path: Path) -> InputError:
    if path.exists():
        return InputError(f"the database {path} is empty; create books with: accounting-analytics instances create")
    return InputError(f"database {path} does not exist; create it with: accounting-analytics instances create")


def _connect(database: str, lock_seconds: float, query: Mapping[str, str] | None = None) -> Engine:
    engine = create_engine(URL.create("sqlite+pysqlite", database=database, query=query or {}), **_POOL)
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


def _remove_unused(path: Path) -> None:
    """Remove a file that this program created and could not give its tables, unless another program has begun books."""
    if size_of(path) <= _EMPTY_SIZE and not size_of(wal_path(path)):
        for created in (path, wal_path(path), shm_path(path)):
            created.unlink(missing_ok=True)


def _create_tables(database: SQLite) -> None:
    with database.writer.connect() as connection, connection.begin():
        # another process may have created them
        if not connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar():
            metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")


APPLICATION_ID = 0x4C415331
"""Identifies an SQLite file as a database of this service ("LAS1")."""


def version_of_file(path: Path, *, name: str | None = None, read_ends: bool = True) -> int | None:
    """Version that a file states, None if it is missing or empty; refuse one that is damaged or of another program.

    The header, the list of tables, and, unless a check of the whole file follows, the first and last row of each are
    read, which takes the same time for any size. An unfinished transaction of a killed program is undone before.
    """
    if not size_of(path):
        return None
    try:
        roll_back_unfinished(path)
        with read_only(path) as connection:
            version = _version(connection, name or str(path))
            if read_ends:
                _read_ends(connection)
    except sqlite3.DatabaseError as error:
        if primary_code(error) in BUSY_CODES:  # another program restores it
            raise in_use(path) from error
        raise unusable(name or str(path), error) from error
    return version


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


def _version(connection: sqlite3.Connection, name: str) -> int | None:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id == APPLICATION_ID:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return int(version)
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        return None
    raise InputError(f"{name} is a database of another program; nothing was changed, give another file")


def _read_ends(connection: sqlite3.Connection) -> None:
    """Read the first and the last row of each table; damage there is an error of SQLite."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in tables:
        for order in ("ASC", "DESC"):
            connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid {order} LIMIT 1').fetchall()  # noqa: S608 (its own name)
