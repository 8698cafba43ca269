"""A database in memory in which the queries of this folder run."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Self

import duckdb

from accounting_analytics.errors import FrameError
from accounting_analytics.messages import shorten

if TYPE_CHECKING:
    import pyarrow as pa

    from accounting_analytics.exports.star_schema.table_definitions import StarTable

WITHOUT_EXTENSIONS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Settings of a DuckDB connection that never downloads anything."""
_CONFIG = WITHOUT_EXTENSIONS | {
    "temp_directory": "",  # texts of the books are in no file but the export
    "threads": 1,  # the queries are short: more threads need more memory and as much time
}


class StarDatabase:
    """An empty database in memory, and the queries of this folder over the tables that were added to it."""

    def __init__(self, scale: int = 0) -> None:
        self._scale = scale
        self._connection = duckdb.connect(config=_CONFIG)
        self._connection.execute("set TimeZone = 'UTC'")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def add(self, **rows: pa.Table) -> None:
        """Add tables, or replace them by others."""
        for name, table in rows.items():
            self._connection.register(name, table)

    def rows(self, name: str, query: str | None = None) -> pa.Table:
        """Run a query, that of the file of this name by default; an amount that is too large to sum is refused."""
        query = query or query_of(name)
        try:
            return self._connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            raise FrameError(f"{name} cannot be calculated ({shorten(str(error))}); nothing was written") from error

    def tables_in(self, query: str) -> set[str]:
        """Names of the tables that a query reads."""
        return self._connection.get_table_names(query)

    def make(self, table: StarTable, query: str | None = None) -> pa.Table:
        """Rows of a table, which is added for the queries of others."""
        rows = table.from_rows(self.rows(table.name, query), self._scale)
        self.add(**{table.name: rows})
        return rows


def query_of(name: str) -> str:
    """Read the query of a table."""
    return files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
