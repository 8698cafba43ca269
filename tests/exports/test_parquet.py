"""The star schema as Parquet files: equal in every reader, Spark too, with what was read when."""

import datetime as dt
import hashlib
import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports.star_schema.tables import STAR_SCHEMA

ZONE = "America/New_York"
LINES = "fact_line_entry/month={}/fact_line_entry.parquet"
OPPOSITE = {"debit": "credit", "credit": "debit"}


def path_of(version, table):
    return str(version / (table.name if table.is_partitioned else f"{table.name}.parquet"))


def readers(path, columns):
    """Yield the rows of a table as pandas, polars, pyarrow and DuckDB read them."""
    yield pd.read_parquet(path, dtype_backend="pyarrow")[columns].to_dict("records")
    yield pl.read_parquet(path, hive_partitioning=True)[columns].to_dicts()
    yield pyarrow.dataset.dataset(path, partitioning="hive").to_table(columns=columns).to_pylist()
    files = path if path.endswith(".parquet") else f"{path}/*/*.parquet"
    with duckdb.connect() as database:
        read = f"select {', '.join(columns)} from read_parquet('{files}', hive_partitioning = true)"  # noqa: S608
        yield database.sql(read).to_arrow_table().to_pylist()


def contents(manifest):
    """Return rows and sums of each file."""
    return {file.name: (file.rows, file.sums) for file in manifest.files}


def read_loads(out):
    """Return the rows of ``dim_load`` by month."""
    return {row["month"]: row for row in pq.read_table(out / "current" / "dim_load.parquet").to_pylist()}


def test_every_reader_gets_the_same_exact_amounts(quarter, exported):
    lines = quarter.lines
    local = lines["datetime"].dt.tz_convert(ZONE).dt.date
    expected = {
        line_id: (Decimal(f"{amount:.2f}"), side, day, instant, f"{day:%Y-%m}")
        for line_id, amount, side, day, instant in zip(
            lines["id"], lines["signed_amount"], lines["debit_credit"], local, lines["datetime"], strict=True
        )
    }
    assert len(expected) > 500
    columns = ["line_entry_id", "signed_amount", "debit_credit", "date", "datetime_utc", "month"]
    for rows in readers(str(exported / "current" / "fact_line_entry"), columns):
        read = {
            row["line_entry_id"]: (
                row["signed_amount"],
                row["debit_credit"],
                row["date"],
                pd.Timestamp(row["datetime_utc"]).tz_convert("UTC"),
                row["month"],
            )
            for row in rows
        }
        assert read == expected


def test_files_are_flat_and_plain(exported):
    manifest = aa.exports.Manifest.load(exported / "current")
    assert list(manifest.tables) == sorted(table.name for table in STAR_SCHEMA)
    for file in manifest.files:
        parquet = pq.ParquetFile(exported / "current" / file.name)
        types = {str(field.type) for field in parquet.schema_arrow}
        plain = {"string", "int64", "int32", "bool", "date32[day]", "timestamp[us, tz=UTC]", "decimal128(18, 2)"}
        assert types <= plain
        columns = [parquet.schema.column(number) for number in range(len(parquet.schema))]
        assert all(one.physical_type == "INT64" for one in columns if one.logical_type.type == "DECIMAL")
        metadata = {key.decode(): value.decode() for key, value in parquet.metadata.metadata.items()}
        assert "ARROW:schema" not in metadata
        assert metadata["table"] == file.table
        assert {key.removeprefix("sum."): text for key, text in metadata.items() if key[:4] == "sum."} == file.sums


def test_manifest_describes_the_files(quarter, tmp_path):
    names = {"currency": "USD", "fiscal_year_start_month": 7}
    books = aa.Books(quarter.lines, quarter.ledgers, reports=quarter.reports, **names)
    manifest = aa.export(books, tmp_path / "out")
    with pytest.raises(InputError, match="fiscal_year_start_month must be 1 to 12, not 13"):
        aa.Books(quarter.lines, quarter.ledgers, fiscal_year_start_month=13)
    current = tmp_path / "out" / "current"
    assert manifest == aa.exports.Manifest.load(current)
    assert all(Path(file).exists() for file in manifest.frame["file"])
    assert (current / "manifest.json").read_text(encoding="utf-8") == manifest.to_json()
    content = json.loads((current / "manifest.json").read_bytes())
    assert (content["time_zone"], content["scale"], content["currency"], content["partial"]) == (ZONE, 2, "USD", False)
    assert "agree" in content["verdict"]
    written = {str(path.relative_to(current)) for path in current.rglob("*.parquet")}
    assert {file.name for file in manifest.files} == written
    for file in manifest.files:
        path = current / file.name
        assert (hashlib.sha256(path.read_bytes()).hexdigest(), pq.read_metadata(path).num_rows) == (
            file.sha256,
            file.rows,
        )
    flows = sum(Decimal(file.sums["signed_amount"]) for file in manifest.files if file.table == "fact_line_entry")
    assert flows == 0


def test_second_export_has_the_same_rows_and_read_times(quarter, tmp_path):
    first, second = (aa.export(quarter, tmp_path / "out") for _ in range(2))
    assert contents(first) == contents(second)
    assert (tmp_path / "out" / "current").resolve() == tmp_path / "out" / "versions" / "2"
    read_at = dt.datetime.fromisoformat(quarter.lines.attrs["load"]["read_at"])
    proven_at, loads = quarter.reports[0].read_at, read_loads(tmp_path / "out")
    assert {(row["read_at_utc"], row["proven_at_utc"]) for row in loads.values()} == {(read_at, proven_at)}
    assert list(loads) == ["2025-01", "2025-02", "2025-03"]


def test_months_that_are_not_proven_state_no_time(quarter, tmp_path):
    report = quarter.reports[0]
    other = altered(report, lines=report.lines.assign(amount=-report.lines["amount"]))
    manifest = aa.export(quarter.with_reports([other]), tmp_path / "out")
    loads = read_loads(tmp_path / "out").values()
    assert {(row["proven_at_utc"], row["verdict"]) for row in loads} == {(None, manifest.verdict)}
    lines = quarter.lines
    lines.attrs = {"scale": 2}
    opposite = {"signed_amount": -lines["signed_amount"], "debit_credit": lines["debit_credit"].map(OPPOSITE)}
    for frame, proven_at in ((lines, report.read_at), (lines.assign(**opposite), None)):
        unknown = aa.Books(frame, quarter.ledgers, quarter.period, time_zone=ZONE, reports=[report])
        aa.export(unknown, tmp_path / "out")
        loads = read_loads(tmp_path / "out").values()
        assert {(row["read_at_utc"], row["proven_at_utc"]) for row in loads} == {(None, proven_at)}


def test_missing_lines_are_stated(quarter, tmp_path):
    lines = quarter.lines
    lines.attrs["load"] |= {"complete": False, "missing": {"led_rent": "HTTP 503"}}
    manifest = aa.export(aa.Books(lines, quarter.ledgers, reports=quarter.reports), tmp_path / "out")
    assert manifest.partial
    assert "Days of 1 ledger could not be loaded (ledger led_rent: HTTP 503)." in manifest.notes
    loads = pq.read_table(tmp_path / "out" / "current" / "dim_load.parquet")
    assert loads["is_partial"].to_pylist() == [True] * 3


def test_books_without_lines_are_exported(quarter, tmp_path):
    report = quarter.reports[0]
    empty = altered(report, ledgers=report.ledgers.head(0), lines=report.lines.head(0))
    no_lines = aa.schemas.LineEntries.without_rows()
    books = aa.Books(no_lines, quarter.ledgers, quarter.period, time_zone=ZONE, reports=[empty])
    manifest = aa.export(books, tmp_path / "out")
    assert (manifest.tables["fact_line_entry"], manifest.tables["fact_cash_flow_line"]) == (0, 0)
    assert pl.read_parquet(tmp_path / "out" / "current" / "fact_line_entry").height == 0


def comparable(rows):
    """Return rows in a fixed order, with each instant and each missing value in one form."""
    plain = [tuple(None if pd.isna(cell) else cell for cell in row.values()) for row in rows]
    return sorted(plain, key=repr)


@pytest.mark.long
@pytest.mark.spark
def test_spark_reads_the_rows_of_the_other_readers(spark_session, exported):
    version = (exported / "current").resolve()
    spark_session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    spark_session.conf.set("spark.sql.session.timeZone", "UTC")
    types = {"varchar": "string", "timestamptz": "timestamp", "integer": "int", "decimal(18, scale)": "decimal(18,2)"}
    for table in STAR_SCHEMA:
        names, on_spark = list(table.columns), spark_session.read.parquet(path_of(version, table))
        assert dict(on_spark.dtypes) == {name: types.get(one, one) for name, one in table.columns.items()}
        rows = comparable(on_spark.select(names).toArrow().to_pylist())
        for others in readers(path_of(version, table), names):
            assert comparable(others) == rows, table.name
