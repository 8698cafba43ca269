"""What is particular to PostgreSQL: the address, transactions, the one write lock."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError, ProgrammingError

from accounting_analytics.errors import ConfigurationError, InputError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import WRITES, Database

WRITE_LOCK = 0x4C415331
"""Advisory lock that every writer holds ("LAS1")."""

_SCHEMES = ("postgresql://", "postgresql+psycopg://", "postgres://")
_VERSION = "schema_version"
_HIDDEN = "***"
_STATEMENT_MILLISECONDS = 60_000


def is_address(database: object) -> bool:
    """Whether a database is named by the address of a PostgreSQL database, and not by a file."""
    return str(database).startswith(_SCHEMES)


def open_database(address: str, lock_seconds: float, *, create: bool) -> Database:
    """Open the database at an address such as ``postgresql://host/books``; an empty one gets the tables if asked."""
    url, name = _url(address)
    try:
        engine = create_engine(
            url, hide_parameters=True, pool_size=8, max_overflow=24, pool_timeout=60, pool_pre_ping=True
        )
    except (ImportError, NoSuchModuleError) as error:
        msg = "PostgreSQL needs its driver: pip install 'accounting-analytics[postgresql]'"
        raise ConfigurationError(msg) from error
    event.listen(engine, "begin", partial(_begin, lock_seconds))
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    writer = engine.execution_options(**{WRITES: True})
    try:
        _prepare(reader, writer, name, create=create)
    except (OperationalError, ProgrammingError) as error:
        engine.dispose()
        reason = str(error.orig).strip().splitlines()[0]
        for secret in {url.password, url.query.get("password")} - {None}:
            reason = reason.replace(str(secret), _HIDDEN)
        msg = f"the database {name} cannot be used: {reason}"
        raise ConfigurationError(msg) from None
    except InputError:
        engine.dispose()
        raise
    return Database(name, None, reader, writer)


def _url(address: str) -> tuple[Any, str]:
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        msg = "the address of a PostgreSQL database is written postgresql://user@host:port/name"
        raise ConfigurationError(msg) from None
    # a password may also stand among the parameters: none of them is shown
    return url, url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)


def _begin(lock_seconds: float, connection: Connection) -> None:
    """Begin: a reader sees one snapshot, a writer takes the one write lock before it looks at anything."""
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {_STATEMENT_MILLISECONDS}")
    if connection.get_execution_options().get(WRITES):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITE_LOCK})")


def is_locked(error: DBAPIError) -> bool:
    """Whether another writer held the lock for too long."""
    return getattr(error.orig, "sqlstate", None) == "55P03"


def _prepare(reader: Engine, writer: Engine, name: str, *, create: bool) -> None:
    """Make the tables in an empty database; refuse one with tables of something else, or whose text is not Unicode.

    A database that is prepared is only looked at: opening it waits for no writer.
    """
    with reader.begin() as connection:
        if connection.exec_driver_sql("SHOW server_encoding").scalar() != "UTF8":
            msg = f"the database {name} does not keep its text in UTF-8; make one with ENCODING 'UTF8'"
            raise InputError(msg)
        if _is_prepared(connection, name):
            return
    if not create:
        msg = f"the database {name} is empty; make books with: accounting-analytics instances create"
        raise InputError(msg)
    with writer.begin() as connection:
        if not _is_prepared(connection, name):  # somebody else may have been faster
            tables.metadata.create_all(connection)
            version = str(tables.SCHEMA_VERSION).encode()
            connection.execute(insert(tables.settings), {"name": _VERSION, "value": version})


def _is_prepared(connection: Connection, name: str) -> bool:
    """Whether the tables of this version are there, and not an empty database; refuses anything else."""
    settings = tables.settings.c
    there = set(inspect(connection).get_table_names())
    if not there:
        return False
    of_service = set(tables.metadata.tables) <= there
    found = connection.execute(select(settings.value).where(settings.name == _VERSION)).scalar() if of_service else None
    if found is None or bytes(found) != str(tables.SCHEMA_VERSION).encode():
        msg = (
            f"the database {name} holds something else than the books of this version of the service; "
            "nothing was changed, give an empty database"
        )
        raise InputError(msg)
    return True
