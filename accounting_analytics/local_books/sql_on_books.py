"""SQL on books by DuckDB in memory, read only.

The tables and views are those of the export with the format ``duckdb``. A query can reach nothing but the books: the
connection opens no files and no network, and it holds a copy.
"""

from __future__ import annotations

import re
import threading
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.column_conversion import BOOLEAN
from accounting_analytics.core.duckdb_settings import exact_name
from accounting_analytics.core.errors import AmountError, InputError
from accounting_analytics.core.extras import import_extra
from accounting_analytics.core.messages import printable, quote, shorten
from accounting_analytics.core.money import to_floats
from accounting_analytics.exports.star_schema.build import all_views, build_star_schema, connect
from accounting_analytics.exports.star_schema.tables import STAR_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from accounting_analytics.exports.books_to_export import ExportedBooks


_HADOOP_GLOB = re.compile(r"[*?\[\]{}]")
"""Characters of a path that Hadoop reads as a pattern, unless a backslash is before them."""


def scan_files(engine: str, files: Sequence[Path], schema: pa.Schema) -> Any:  # noqa: ANN401 (of engines)
    """Read files that have the columns of `schema` as a frame of an engine."""
    if engine not in list(_SCANS):
        raise InputError(f"engine must be one of 'pandas', {', '.join(map(repr, _SCANS))}, not {quote(engine)}")
    return _SCANS[engine]([str(file.absolute()) for file in files], schema)


def _scan_polars(files: list[str], schema: pa.Schema) -> Any:  # noqa: ANN401 (a polars.LazyFrame)
    polars: Any = import_extra("polars", "scale", "a scan by polars")
    columns = polars.from_arrow(schema.empty_table()).schema
    return polars.scan_parquet(files, schema=columns, glob=False, hive_partitioning=False)


def _scan_duckdb(files: list[str], _schema: pa.Schema) -> Any:  # noqa: ANN401 (a DuckDB relation)
    connection = duckdb.connect()
    return connection.read_parquet([exact_name(file) for file in files], hive_partitioning=False)


def _scan_pyarrow(files: list[str], schema: pa.Schema) -> pa.Table:
    return ds.dataset(files, schema=schema, format="parquet").to_table()


def _scan_pyspark(files: list[str], schema: pa.Schema) -> Any:  # noqa: ANN401 (of Spark)
    import_extra("pyspark", "spark", "a scan by Spark")
    from pyspark.sql import SparkSession  # noqa: PLC0415 (an extra)
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 (an extra)

    spark = SparkSession.builder.getOrCreate()  # the active session, which reads the folder
    return spark.read.schema(from_arrow_schema(schema)).parquet(*(_HADOOP_GLOB.sub(r"\\\g<0>", file) for file in files))


_SCANS: dict[str, Callable[[list[str], Any], Any]] = {
    "polars": _scan_polars,
    "duckdb": _scan_duckdb,
    "pyspark": _scan_pyspark,
    "pyarrow": _scan_pyarrow,
}


_ALLOWED = "write one SELECT, WITH, FROM, DESCRIBE, SUMMARIZE or SHOW statement; nothing was run"
_LOCK = """
set python_enable_replacements = false;
set enable_external_access = false;
set lock_configuration = true;
"""
_TABLES = sorted(table.name for table in STAR_SCHEMA)
_MAX_REASON = 300
_NULLABLE: dict[str, Any] = {
    "bool": BOOLEAN,
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "Int64"),
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), "UInt64"),
}
"""Dtypes of columns with nulls."""


class BooksQueries:
    """Books as the tables of the star schema, and SQL on them.

    Parameters
    ----------
    books : ExportedBooks
        Line entries, ledgers, report and proofs of the days that the tables have.
    notes : iterable of str
        Notes of every answer.
    """

    def __init__(self, books: ExportedBooks, *, notes: Iterable[str] = ()) -> None:
        self._notes = tuple(notes)
        self._lock = threading.Lock()  # DuckDB refuses two queries at the same time on one connection
        self._connection = connect()
        build_star_schema(self._connection, books)
        self._connection.execute(_LOCK)

    def query(self, text: str) -> pd.DataFrame:
        """Run one statement, which may only read.

        Decimals become float64, and a number that would lose digits is refused. Instants are in UTC.
        """
        require_type(text, str, "query", _ALLOWED)
        with self._lock:
            self._require_one_select(text)
            self._connection.execute("begin transaction read only")  # a SELECT may also contain an INSERT
            try:
                relation = self._connection.sql(text)
                return self._frame(relation.to_arrow_table(), relation.columns, relation.types)
            except duckdb.Error as error:
                raise InputError(_describe(error)) from None
            finally:
                self._connection.execute("rollback")

    def _require_one_select(self, text: str) -> None:
        try:
            statements = self._connection.extract_statements(text)
        except duckdb.Error as error:
            raise InputError(_describe(error)) from None
        if len(statements) != 1:
            raise InputError(f"the query has {len(statements)} statements; {_ALLOWED}")
        kind = statements[0].type
        if kind == duckdb.StatementType.MULTI:
            raise InputError(
                "name the columns of the PIVOT, as in PIVOT cash_flow ON month IN ('2026-01'); nothing was run"
            )
        if kind != duckdb.StatementType.SELECT:
            raise InputError(f"{kind.name} is not a query, and local books are read only; {_ALLOWED}")

    def _frame(self, rows: pa.Table, names: list[str], types: list[Any]) -> pd.DataFrame:
        """Convert an answer to a frame. Repeated column names get a number: ``id_1``."""
        columns: dict[str, pd.Series[Any]] = {}
        for position, (name, dtype) in enumerate(zip(names, types, strict=True)):
            unique = next(candidate for candidate in _numbered(name) if candidate not in columns)
            columns[unique] = _series(unique, rows.column(position), is_whole=str(dtype).endswith("HUGEINT"))
        frame = pd.DataFrame(columns)
        frame.attrs["notes"] = self._notes
        return frame


@cache
def _views() -> list[str]:
    return [name for name, *_ in all_views()]


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(1))


def _series(name: str, values: pa.ChunkedArray, *, is_whole: bool) -> pd.Series[Any]:
    """Convert a column to this package's dtypes. Integers of 128 bits become int64."""
    try:
        if is_whole:
            values = values.cast(pa.int64())
        if pa.types.is_decimal(values.type):
            return pd.Series(to_floats(values))
    except (AmountError, pa.ArrowInvalid):
        raise InputError(
            f"column {quote(name)} of the answer has a number of more digits than this frame carries exactly; write "
            "cast(... as varchar) for its digits, or round(...) it in the query"
        ) from None
    kind = values.type
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        values = values.cast(pa.timestamp("us"), safe=False)
    column: pd.Series[Any] = values.to_pandas(integer_object_nulls=True)
    return column.astype(_NULLABLE.get(str(kind), column.dtype)) if values.null_count else column


def _describe(error: duckdb.Error) -> str:
    """Write DuckDB's message on one text line, with advice.

    The query is left out.
    """
    reason = str(error).partition("\n\nLINE ")[0]
    reason = shorten(printable(reason.replace("\n", "; "), " "), limit=_MAX_REASON)
    return "; ".join(filter(None, [f"the query failed: {reason}", _hint(error)]))


def _hint(error: duckdb.Error) -> str:
    if isinstance(error, duckdb.ParserException):
        return _ALLOWED
    if isinstance(error, duckdb.CatalogException) and "Table with name" in str(error):
        return f"the tables and views are {', '.join([*_TABLES, *_views()])}"
    if isinstance(error, duckdb.BinderException):
        return "DESCRIBE and the name of a table or view, such as DESCRIBE line_entries, lists its columns"
    if isinstance(error, duckdb.PermissionException):
        return "a query reads the tables of the books only, not files or addresses"
    return ""
