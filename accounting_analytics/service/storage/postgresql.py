"""Books in a PostgreSQL database: its address, transactions, the only write lock."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, make_url, select
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
    ProgrammingError,
)

from accounting_analytics.errors import ConfigurationError, InputError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import BATCH_ROWS, WRITES, bind_engines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Select, Table

WRITE_LOCK = 0x4C415331
"""Advisory lock that every writer holds ("LAS1")."""

_SCHEMES = ("postgresql://", "postgresql+psycopg://", "postgres://")
_VERSION = "schema_version"
_HIDDEN = "***"
_STATEMENT_MILLISECONDS = 60_000
_BUSY_STATES = frozenset({"40001", "40P01", "53300", "55P03", "57014", "57P03"})
_DISK_FULL = "53100"
_UNREACHABLE_STATES = ("08", "57P01", "57P02")


class PostgreSQL:
    """Books in a PostgreSQL database."""

    path: Path | None = None

    def __init__(self, name: str, engine: Engine) -> None:
        self.name = name
        reader, self.writer = bind_engines(self, engine)
        self.reader: Engine = reader.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @classmethod
    def accepts(cls, address: str) -> bool:
        """Whether an address has a scheme of PostgreSQL."""
        return address.startswith(_SCHEMES)

    @classmethod
    def open(cls, address: str, lock_seconds: float, *, create: bool) -> Self:
        """Open the database at an address such as ``postgresql://host/books``."""
        url = _parse(address)
        try:
            engine = create_engine(
                url, hide_parameters=True, pool_size=8, max_overflow=24, pool_timeout=60, pool_pre_ping=True
            )
        except (ImportError, NoSuchModuleError) as error:
            msg = "PostgreSQL needs its driver: pip install 'accounting-analytics[postgresql]'"
            raise ConfigurationError(msg) from error
        event.listen(engine, "begin", partial(_begin, lock_seconds))
        # the query of an address may have a password too, so it is not shown
        database = cls(url.set(drivername="postgresql", query={}).render_as_string(hide_password=True), engine)
        try:
            _ensure_tables(database, create=create)
        except (OperationalError, ProgrammingError) as error:
            engine.dispose()
            msg = f"the database {database.name} cannot be used: {_reason(error, url)}"
            raise ConfigurationError(msg) from None
        except InputError:
            engine.dispose()
            raise
        return database

    def insert_rows(self, connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many rows with COPY."""
        import psycopg  # noqa: PLC0415 (an optional dependency)

        columns = ", ".join(column.name for column in table.columns)
        statement = f"COPY {table.name} ({columns}) FROM STDIN"
        try:
            with connection.connection.cursor() as cursor, cursor.copy(statement) as copy:  # type: ignore[attr-defined]
                for row in rows:
                    copy.write_row(row)
        except psycopg.Error as error:  # raised by the driver itself, without SQLAlchemy
            raise DBAPIError.instance(statement, None, error, psycopg.Error, dialect=connection.dialect) from error

    def stream_rows(
        self, connection: Connection, query: Select[*tuple[Any, ...]], parameters: Mapping[str, Any] | None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Rows of a query through a server-side cursor: without one, the server sends all rows together."""
        options = {"stream_results": True, "max_row_buffer": BATCH_ROWS}
        with connection.execute(query, parameters, execution_options=options) as result:
            yield from map(list, result.partitions(BATCH_ROWS))

    def find_damage(self, connection: Connection, limit: int) -> Iterator[str]:  # noqa: ARG002 (of the protocol)
        """Return nothing: the server checks its own files."""
        return iter(())

    def find_dangling_rows(self, connection: Connection, limit: int) -> Iterator[str]:  # noqa: ARG002 (of the protocol)
        """Return nothing: the server always enforces foreign keys."""
        return iter(())

    def is_busy(self, error: DBAPIError) -> bool:
        """Whether another transaction was in the way, or the server has too many connections."""
        return _state(error) in _BUSY_STATES

    def is_full(self, error: DBAPIError) -> bool:
        """Whether the disk of the server is full."""
        return _state(error) == _DISK_FULL

    def is_unreachable(self, error: DBAPIError) -> bool:
        """Whether the server cannot be reached or closed the connection."""
        if error.connection_invalidated:
            return True
        if not isinstance(error, OperationalError | InterfaceError):
            return False
        state = _state(error)  # an error without a state comes from the connection, not from the server
        return state is None or state.startswith(_UNREACHABLE_STATES)


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _parse(address: str) -> URL:
    try:
        return make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        msg = "the address of a PostgreSQL database is written postgresql://user@host:port/name"
        raise ConfigurationError(msg) from None


def _reason(error: DBAPIError, url: URL) -> str:
    """First line of the driver's message, without passwords."""
    reason = str(error.orig).strip().splitlines()[0]
    for secret in {url.password, url.query.get("password")} - {None}:
        reason = reason.replace(str(secret), _HIDDEN)
    return reason


def _begin(lock_seconds: float, connection: Connection) -> None:
    """Begin: a reader sees one snapshot, a writer takes the write lock before it reads anything."""
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {_STATEMENT_MILLISECONDS}")
    if connection.get_execution_options().get(WRITES):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITE_LOCK})")


def _ensure_tables(database: PostgreSQL, *, create: bool) -> None:
    """Create the tables in an empty database; refuse one with other tables, or whose encoding is not UTF-8.

    A database with the tables is only read: opening it waits for no writer.
    """
    name = database.name
    with database.reader.begin() as connection:
        if connection.exec_driver_sql("SHOW server_encoding").scalar() != "UTF8":
            msg = f"the database {name} does not store its text in UTF-8; create one with ENCODING 'UTF8'"
            raise InputError(msg)
        if _has_tables(connection, name):
            return
    if not create:
        msg = f"the database {name} is empty; create books with: accounting-analytics instances create"
        raise InputError(msg)
    with database.writer.begin() as connection:
        if not _has_tables(connection, name):  # another process may have created them
            tables.metadata.create_all(connection)
            version = str(tables.SCHEMA_VERSION).encode()
            connection.execute(insert(tables.settings), {"name": _VERSION, "value": version})


def _has_tables(connection: Connection, name: str) -> bool:
    """Whether the database has the tables of this version; False for an empty one, any other content is refused."""
    existing = set(inspect(connection).get_table_names())
    if not existing:
        return False
    settings = tables.settings.c
    version = None
    if set(tables.metadata.tables) <= existing:
        version = connection.execute(select(settings.value).where(settings.name == _VERSION)).scalar()
    if version is None or bytes(version) != str(tables.SCHEMA_VERSION).encode():
        msg = (
            f"the database {name} contains something other than the books of this version of the service; "
            "nothing was changed, give an empty database"
        )
        raise InputError(msg)
    return True
