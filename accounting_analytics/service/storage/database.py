"""The protocol of a database, everything that differs between SQLite and PostgreSQL, and large queries in batches."""

from __future__ import annotations

from enum import Enum, auto
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

from sqlalchemy import and_, false, or_, true

from accounting_analytics.errors import InputError
from accounting_analytics.service.wire.stored_values import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import ColumnElement, Connection, Engine, Table
    from sqlalchemy.exc import DBAPIError

    from accounting_analytics.periods import Interval

_IDS_PER_QUERY = 500
_Id = TypeVar("_Id", str, int)


def id_batches(ids: Sequence[_Id]) -> Iterator[Sequence[_Id]]:
    """Ids of one query each: a database limits the parameters of a query."""
    return (ids[start : start + _IDS_PER_QUERY] for start in range(0, len(ids), _IDS_PER_QUERY))


def is_within(
    intervals: Sequence[Interval], since: ColumnElement[int], until: ColumnElement[int] | None = None
) -> ColumnElement[bool]:
    """Condition that stored instants are within intervals; an index may serve `since` and `until`, both one column."""
    if not intervals:
        return false()
    end = since if until is None else until
    first, last = intervals[0].start, intervals[-1].end
    bounds = and_(since >= microseconds(first), true() if last is None else end < microseconds(last))
    gaps = [
        or_(since < microseconds(before.end), since >= microseconds(after.start))
        for before, after in pairwise(intervals)
        if before.end is not None
    ]
    return and_(bounds, *gaps)


WRITES = "writes"
"""Execution option of a connection that takes the write lock when it begins."""

VERSION = 6
"""Version of the tables, which every database states; any change of the tables raises it."""

_DATABASE = "database"
STREAMED = {"yield_per": 2000}
"""Execution options of a query whose rows are fetched in batches, and are never all in memory."""


class Failure(Enum):
    """Why a database cannot be used now."""

    BUSY = auto()
    """Another connection held a lock for too long, or there are too many."""
    FULL = auto()
    """A change does not fit on the disk of the database."""
    UNREACHABLE = auto()
    """The server cannot be reached, or closed the connection."""


class Database(Protocol):
    """A kind of database, and one that is open: its name never has a password, its path is None on a server.

    Readers see one snapshot each, writers hold the only write lock.
    """

    name: str
    path: Path | None
    reader: Engine
    writer: Engine

    @classmethod
    def accepts(cls, address: str) -> bool:
        """Whether an address names a database of this kind."""

    @classmethod
    def open(cls, address: str, lock_seconds: float, *, create: bool) -> Self:
        """Open a database; an empty one gets the tables if `create` is set, and is refused otherwise."""

    def close(self) -> None:
        """Close every connection to the database."""

    def insert_rows(self, connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many rows, their values in the order of the table's columns.

        After an IntegrityError, such as an id that is taken, the caller rolls back to its savepoint.
        """

    def find_damage(self, connection: Connection, limit: int, *, quick: bool = False) -> Iterator[str]:
        """Problems that the database finds in its own file, at most `limit`; a quick check finds most of them."""

    def find_dangling_rows(self, connection: Connection, limit: int) -> Iterator[str]:
        """Rows that refer to rows which do not exist, at most `limit`."""

    def failure(self, error: DBAPIError) -> Failure | None:
        """Return what an error of the driver means; None for a defect of this program."""


def bind_engines(database: Database, reader: Engine) -> tuple[Engine, Engine]:
    """Reader and writer engines whose connections know their database."""
    bound = reader.execution_options(**{_DATABASE: database})
    return bound, bound.execution_options(**{WRITES: True})


def database_of(connection: Connection) -> Database:
    """Database of a connection of a store."""
    return cast("Database", connection.get_execution_options()[_DATABASE])


def check_version(name: str, version: int) -> None:
    """Refuse a database with the tables of another version."""
    if version != VERSION:
        raise InputError(
            f"{name} was written by another version of this program; nothing was changed, import the books again "
            "into a new database"
        )
