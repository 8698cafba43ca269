"""PySpark reads an export as pandas, polars, pyarrow and DuckDB do: the same rows, exact amounts, and no orphans."""

import functools

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset
import pytest

import accounting_analytics as aa
from accounting_analytics.exports.star_schema import STAR_SCHEMA

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def version(frames, tmp_path_factory):
    """Return the folder of a version."""
    folder = tmp_path_factory.mktemp("spark") / "out"
    aa.export_parquet(folder, **frames)
    return (folder / "current").resolve()


@pytest.fixture(scope="module")
def tables(spark_session, version):
    """Return each table as a Spark frame, read as the README says."""
    spark_session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    spark_session.conf.set("spark.sql.session.timeZone", "UTC")
    return {table.name: spark_session.read.parquet(path_of(version, table)) for table in STAR_SCHEMA}


def path_of(version, table):
    """Return the path of a table."""
    return str(version / (table.name if table.is_partitioned else f"{table.name}.parquet"))


def other_readers(path, columns):
    """Yield the rows of a table as pandas, polars, pyarrow and DuckDB read them."""
    yield pd.read_parquet(path, dtype_backend="pyarrow")[columns].to_dict("records")
    yield pl.read_parquet(path, hive_partitioning=True)[columns].to_dicts()
    yield pyarrow.dataset.dataset(path, partitioning="hive").to_table(columns=columns).to_pylist()
    files = path if path.endswith(".parquet") else f"{path}/*/*.parquet"
    with duckdb.connect() as database:
        read = f"select {', '.join(columns)} from read_parquet('{files}', hive_partitioning = true)"  # noqa: S608
        yield database.sql(read).to_arrow_table().to_pylist()


def comparable(rows):
    """Return rows in a fixed order, with each instant and each missing value in one form."""
    plain = [tuple(None if pd.isna(cell) else cell for cell in row.values()) for row in rows]
    return sorted(plain, key=repr)


@pytest.mark.long
def test_spark_reads_the_rows_of_the_other_readers(tables, version):
    """Each table has the same rows, amounts as decimals and months as text, in every reader."""
    types = {"varchar": "string", "timestamptz": "timestamp", "integer": "int", "decimal(18, scale)": "decimal(18,2)"}
    for table in STAR_SCHEMA:
        names, on_spark = list(table.columns), tables[table.name]
        assert dict(on_spark.dtypes) == {name: types.get(one, one) for name, one in table.columns.items()}
        rows = comparable(on_spark.select(names).toArrow().to_pylist())
        for others in other_readers(path_of(version, table), names):
            assert comparable(others) == rows, table.name


@pytest.mark.long
def test_spark_joins_every_key(tables):
    """Every foreign key has its row: no orphans."""
    references = [(table, column, other) for table in STAR_SCHEMA for column, other in table.references.items()]
    assert len(references) > 15
    orphans = [
        tables[table.name]
        .filter(f"{column} is not null")
        .join(tables[other], column, "left_anti")
        .selectExpr(f"'{table.name}' as table", f"{column} as key")
        for table, column, other in references
    ]
    assert functools.reduce(lambda first, second: first.union(second), orphans).collect() == []
