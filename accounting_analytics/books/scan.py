"""Line entries of local books on engines that read them from their Parquet files, without loading them here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from accounting_analytics.duckdb_settings import exact_name
from accounting_analytics.errors import InputError
from accounting_analytics.extras import import_extra
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pyarrow as pa

_HADOOP_GLOB = re.compile(r"[*?\[\]{}]")
"""Characters of a path that Hadoop reads as a pattern, unless a backslash is before them."""


def scan_files(engine: str, files: Sequence[Path], schema: pa.Schema, session: Any) -> Any:  # noqa: ANN401 (of engines)
    """Read files with these columns as a frame of an engine."""
    if engine not in list(_SCANS):
        raise InputError(f"engine must be one of {', '.join(map(repr, _SCANS))}, not {quote(engine)}")
    if session is not None and engine != "pyspark":
        raise InputError(f"session is of Spark, so it has no effect with engine={engine!r}: leave it out")
    return _SCANS[engine]([str(file.absolute()) for file in files], schema, session)


def _scan_polars(files: list[str], schema: pa.Schema, _session: None) -> Any:  # noqa: ANN401 (a polars.LazyFrame)
    polars: Any = import_extra("polars", "scale", "a scan by polars")
    columns = polars.from_arrow(schema.empty_table()).schema
    return polars.scan_parquet(files, schema=columns, glob=False, hive_partitioning=False)


def _scan_duckdb(files: list[str], _schema: pa.Schema, _session: None) -> Any:  # noqa: ANN401 (a DuckDB relation)
    import duckdb  # noqa: PLC0415 (where it is needed)

    connection = duckdb.connect()
    return connection.read_parquet([exact_name(file) for file in files], hive_partitioning=False)


def _scan_pyarrow(files: list[str], schema: pa.Schema, _session: None) -> pa.Table:
    import pyarrow.dataset as ds  # noqa: PLC0415 (where it is needed)

    return ds.dataset(files, schema=schema, format="parquet").to_table()


def _scan_pyspark(files: list[str], schema: pa.Schema, session: Any) -> Any:  # noqa: ANN401 (of Spark)
    import_extra("pyspark", "spark", "a scan by Spark")
    from pyspark.sql import SparkSession  # noqa: PLC0415 (an extra)
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 (an extra)

    spark = SparkSession.builder.getOrCreate() if session is None else session
    return spark.read.schema(from_arrow_schema(schema)).parquet(*(_HADOOP_GLOB.sub(r"\\\g<0>", file) for file in files))


_SCANS: dict[str, Callable[[list[str], Any, Any], Any]] = {
    "polars": _scan_polars,
    "duckdb": _scan_duckdb,
    "pyspark": _scan_pyspark,
    "pyarrow": _scan_pyarrow,
}
