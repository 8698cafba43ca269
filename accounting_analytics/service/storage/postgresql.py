"""Books in a PostgreSQL database: its address, transactions, the only write lock."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Table,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
)
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
from accounting_analytics.service.storage.database import (
    VERSION,
    WRITES,
    Failure,
    bind_engines,
    check_version,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


WRITE_LOCK = 0x4C415331
"""Advisory lock that every writer holds ("LAS1")."""

_SCHEMES = ("postgresql://", "postgresql+psycopg://", "postgres://")
_VERSION = "schema_version"
_IS_VERSION = tables.settings.c.name == _VERSION
_HIDDEN = "***"
_STATEMENT_MILLISECONDS = 60_000
_FAILURES = {
    **dict.fromkeys(("40001", "40P01", "53300", "55P03", "57014", "57P03"), Failure.BUSY),
    "53100": Failure.FULL,
}
"""What states mean that the server sends with its errors."""

_UNREACHABLE_STATES = ("08", "57P01", "57P02")

_Kind = TypeVar("_Kind", bound="PostgreSQL")


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
        with _opening(cls, address, lock_seconds) as database:
            _ensure_tables(database, create=create)
        return database

    def close(self) -> None:
        """Close every connection to the server."""
        self.reader.dispose()

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

    def find_damage(self, connection: Connection, limit: int, *, quick: bool = False) -> Iterator[str]:  # noqa: ARG002 (of the protocol)
        """Return nothing: the server checks its own files."""
        return iter(())

    def find_dangling_rows(self, connection: Connection, limit: int) -> Iterator[str]:  # noqa: ARG002 (of the protocol)
        """Return nothing: the server always enforces foreign keys."""
        return iter(())

    def failure(self, error: DBAPIError) -> Failure | None:
        """Return what the state of an error means; one without a state comes from the connection."""
        state = getattr(error.orig, "sqlstate", None)
        is_of_connection = isinstance(error, OperationalError | InterfaceError)
        if state in _FAILURES:
            return _FAILURES[state]
        if error.connection_invalidated or (is_of_connection and (not state or state.startswith(_UNREACHABLE_STATES))):
            return Failure.UNREACHABLE
        return None


def _parse(address: str) -> URL:
    try:
        return make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise ConfigurationError(
            "the address of a PostgreSQL database is written postgresql://user@host:port/name"
        ) from None


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


@contextmanager
def _opening(kind: type[_Kind], address: str, lock_seconds: float) -> Iterator[_Kind]:
    """Give a database that is closed again if the block fails; errors of the server are reported without passwords."""
    url = _parse(address)
    try:
        engine = create_engine(
            url, hide_parameters=True, pool_size=8, max_overflow=24, pool_timeout=60, pool_pre_ping=True
        )
    except (ImportError, NoSuchModuleError) as error:
        raise ConfigurationError(
            "PostgreSQL needs its driver: pip install 'accounting-analytics[postgresql]'"
        ) from error
    event.listen(engine, "begin", partial(_begin, lock_seconds))
    # the query of an address may have a password too, so it is not shown
    database = kind(url.set(drivername="postgresql", query={}).render_as_string(hide_password=True), engine)
    try:
        yield database
    except (OperationalError, ProgrammingError) as error:
        database.close()
        raise ConfigurationError(f"the database {database.name} cannot be used: {_reason(error, url)}") from None
    except BaseException:  # also when interrupted: no connection stays open
        database.close()
        raise


def _ensure_tables(database: PostgreSQL, *, create: bool) -> None:
    """Create the tables in an empty database; refuse one with other tables or of another version, or without UTF-8.

    A database with the tables is only read: opening it waits for no writer.
    """
    name = database.name
    with database.reader.begin() as connection:
        if connection.exec_driver_sql("SHOW server_encoding").scalar() != "UTF8":
            raise InputError(f"the database {name} does not store its text in UTF-8; create one with ENCODING 'UTF8'")
        version = _version(connection, name)
    if version is None:
        _create_tables(database, create=create)
    else:
        check_version(f"the database {name}", version)


def _create_tables(database: PostgreSQL, *, create: bool) -> None:
    if not create:
        raise InputError(
            f"the database {database.name} is empty; create books with: accounting-analytics instances create"
        )
    with database.writer.begin() as connection:
        if _version(connection, database.name) is None:  # otherwise another process has created them
            tables.metadata.create_all(connection)
            connection.execute(insert(tables.settings), {"name": _VERSION, "value": str(VERSION).encode()})


def _version(connection: Connection, name: str) -> int | None:
    """Version that a database states; None for an empty one, any other content is refused."""
    existing = set(inspect(connection).get_table_names())
    if not existing:
        return None
    version = None
    if tables.settings.name in existing:
        version = connection.execute(select(tables.settings.c.value).where(_IS_VERSION)).scalar()
    if version is None or not bytes(version).isdigit():
        raise InputError(
            f"the database {name} contains something other than the books of the service; nothing was changed, "
            "give an empty database"
        )
    return int(bytes(version))
