"""Large queries: their rows as plain tuples, streamed from the database, and their ids in batches."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from accounting_analytics.service.storage.database import database_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Select

_IDS_PER_QUERY = 500


def id_batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Ids of one query each: a database limits the parameters of a query."""
    return (ids[start : start + _IDS_PER_QUERY] for start in range(0, len(ids), _IDS_PER_QUERY))


def plain_batches(
    connection: Connection, query: Select[*tuple[Any, ...]], parameters: Mapping[str, Any] | None = None
) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of a query as plain tuples, a few thousand per batch and never all of them in memory.

    Values are as the driver returns them: a Boolean may be 0 or 1.
    """
    return database_of(connection).stream_rows(connection, query, parameters)


def plain_rows(
    connection: Connection, query: Select[*tuple[Any, ...]], parameters: Mapping[str, Any] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Rows of a query as plain tuples, one by one."""
    return chain.from_iterable(plain_batches(connection, query, parameters))
