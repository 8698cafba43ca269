"""What is particular to PostgreSQL: the address, transactions, the one write lock."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, ProgrammingError

from accounting_analytics.errors import ConfigurationError, InputError
from accounting_analytics.service import tables
from accounting_analytics.service.database import WRITES, Database

WRITE_LOCK = 0x4C415331
"""Advisory lock that every writer holds ("LAS1")."""

_SCHEMES = ("postgresql://", "postgresql+psycopg://", "postgres://")
_VERSION = "schema_version"
_HIDDEN = "***"


def is_address(database: object) -> bool:
    """Whether a database is named by the address of a PostgreSQL database, and not by a file."""
    return str(database).startswith(_SCHEMES)


def open_database(address: str, lock_seconds: float) -> Database:
    """Open the database at an address such as ``postgresql://host/books``; an empty one gets the tables."""
    url, name = _url(address)
    try:
        engine = create_engine(
            url, hide_parameters=True, pool_size=8, max_overflow=24, pool_timeout=60, pool_pre_ping=True
        )
    except (ImportError, NoSuchModuleError) as error:
        msg = "PostgreSQL needs its driver: pip install 'accounting-analytics[postgresql]'"
        raise ConfigurationError(msg) from error
    event.listen(engine, "begin", partial(_begin, lock_seconds))
    writer = engine.execution_options(**{WRITES: True})
    try:
        _prepare(writer, name)
    except (OperationalError, ProgrammingError) as error:
        engine.dispose()
        reason = str(error.orig).strip().splitlines()[0]
        if url.password:
            reason = reason.replace(str(url.password), _HIDDEN)
        msg = f"the database {name} cannot be used: {reason}"
        raise ConfigurationError(msg) from None
    except InputError:
        engine.dispose()
        raise
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return Database(name, None, reader, writer)


def _url(address: str) -> tuple[Any, str]:
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        msg = "the address of a PostgreSQL database is written postgresql://user@host:port/name"
        raise ConfigurationError(msg) from None
    return url, url.set(drivername="postgresql").render_as_string(hide_password=True)


def _begin(lock_seconds: float, connection: Connection) -> None:
    """Begin: a reader sees one snapshot, a writer takes the one write lock before it looks at anything."""
    if connection.get_execution_options().get(WRITES):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITE_LOCK})")


def _prepare(writer: Engine, name: str) -> None:
    """Make the tables in an empty database; refuse one with tables of something else."""
    version = str(tables.SCHEMA_VERSION).encode()
    settings = tables.settings.c
    with writer.begin() as connection:
        there = set(inspect(connection).get_table_names())
        if not there:
            tables.metadata.create_all(connection)
            connection.execute(insert(tables.settings), {"name": _VERSION, "value": version})
            return
        of_service = set(tables.metadata.tables) <= there
        found = (
            connection.execute(select(settings.value).where(settings.name == _VERSION)).scalar() if of_service else None
        )
        if found is None or bytes(found) != version:
            msg = (
                f"the database {name} holds something else than the books of this version of the service; "
                "nothing was changed, give an empty database"
            )
            raise InputError(msg)
