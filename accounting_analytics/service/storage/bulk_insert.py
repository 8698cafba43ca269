"""Writing many rows at once, by the quickest way of each database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import IntegrityError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Table


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows whose values stand in the order of the table's columns.

    Raises
    ------
    IntegrityError
        A rule of the table is broken, such as an id that is taken; roll back to where you were.
    """
    if connection.dialect.name == "postgresql":
        _copy(connection, table, rows)
    else:
        places = ", ".join("?" * len(table.columns))
        connection.exec_driver_sql(f"INSERT INTO {table.name} VALUES ({places})", list(rows))  # noqa: S608 (our own names)


def _copy(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    from psycopg import errors  # noqa: PLC0415 (there only where PostgreSQL is used)

    columns = ", ".join(column.name for column in table.columns)
    statement = f"COPY {table.name} ({columns}) FROM STDIN"
    try:
        with connection.connection.cursor() as cursor, cursor.copy(statement) as copy:  # type: ignore[attr-defined]
            for row in rows:
                copy.write_row(row)
    except errors.IntegrityError as error:
        raise IntegrityError(statement, None, error) from error
