"""Rows as the driver gives them: plain tuples, for the two answers that read thousands."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection, Select

_FETCHED_AT_ONCE = 2000


def plain_batches(
    connection: Connection, query: Select[*tuple[Any, ...]], parameters: Mapping[str, Any] | None = None
) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of a query as plain tuples, a few thousand at a time and never all of them in memory.

    Text and whole numbers come as they are; a yes/no comes as the driver has it, so take ``bool()`` of it.
    """
    if connection.dialect.name == "postgresql":  # which sends all rows at once, if it is not told to wait
        waiting = {"stream_results": True, "max_row_buffer": _FETCHED_AT_ONCE}
        with connection.execute(query, parameters, execution_options=waiting) as result:
            yield from map(list, result.partitions(_FETCHED_AT_ONCE))
        return
    with connection.execute(query, parameters) as result:
        cursor = result.cursor
        while cursor is not None and (rows := cursor.fetchmany(_FETCHED_AT_ONCE)):
            yield list(rows)


def plain_rows(
    connection: Connection, query: Select[*tuple[Any, ...]], parameters: Mapping[str, Any] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Rows of a query as plain tuples, one by one."""
    return chain.from_iterable(plain_batches(connection, query, parameters))
