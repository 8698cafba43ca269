"""Rows as the driver gives them: plain tuples, for the two answers that read thousands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Select

_FETCHED_AT_ONCE = 2000


def plain_rows(connection: Connection, query: Select[*tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Rows of a query as plain tuples.

    Text and whole numbers come as they are; a yes/no comes as the driver has it, so take ``bool()`` of it.
    """
    with connection.execute(query) as result:
        cursor = result.cursor
        while cursor is not None and (rows := cursor.fetchmany(_FETCHED_AT_ONCE)):
            yield from rows
