"""Flat Parquet files: pandas, polars and DuckDB read back equal values."""

from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq

import accounting_analytics as aa
from accounting_analytics.money import to_minor_units

ZONE = "America/New_York"


def readers(path):
    """Yield the rows of a file as pandas, polars and DuckDB read them."""
    yield pd.read_parquet(path, dtype_backend="pyarrow").to_dict("records")
    yield pl.read_parquet(path).to_dicts()
    with duckdb.connect() as database:
        yield database.sql(f"select * from '{path}'").to_arrow_table().to_pylist()  # noqa: S608 (our own path)


def test_every_reader_gets_the_same_exact_amounts(frames, tmp_path):
    """Amounts, ids, sides, local dates and instants of every line come back equal in all three readers."""
    aa.export_parquet(tmp_path / "out", **frames)
    lines = frames["line_entries"]
    local = lines["datetime"].dt.tz_convert(ZONE).dt.date
    expected = [
        (line_id, to_minor_units(Decimal(str(amount))), side, day, instant)
        for line_id, amount, side, day, instant in zip(
            lines["id"], lines["signed_amount"], lines["debit_credit"], local, lines["datetime"], strict=True
        )
    ]
    assert len(expected) > 500
    for rows in readers(tmp_path / "out" / "fact_line_entry.parquet"):
        rows_read = [
            (
                row["id"],
                row["signed_amount_minor_units"],
                row["debit_credit"],
                row["datetime_local_date"],
                pd.Timestamp(row["datetime"]).tz_convert("UTC"),
            )
            for row in rows
        ]
        assert rows_read == expected


def test_cash_flow_lines_sum_to_the_report(frames, tmp_path):
    """The exported cash flow lines sum to the report's net cash flow, in every reader."""
    aa.export_parquet(tmp_path / "out", **frames)
    for rows in readers(tmp_path / "out" / "fact_cash_flow_line.parquet"):
        assert sum(row["amount_minor_units"] for row in rows) == to_minor_units(frames["report"].net_cash_flow) != 0
        assert all(isinstance(row["ledger_name"], str) for row in rows)


def test_files_are_flat_and_plain(frames, tmp_path):
    """No column is nested, dictionary, large or decimal, and no engine's metadata is in the file."""
    manifest = aa.export_parquet(tmp_path / "out", **frames)
    assert len(manifest.files) == 3
    for path in (tmp_path / "out").glob("*.parquet"):
        schema = pq.read_schema(path)
        assert {str(field.type) for field in schema} <= {
            "string",
            "int64",
            "int32",
            "bool",
            "date32[day]",
            "timestamp[us, tz=UTC]",
        }
        assert schema.metadata is None
        assert all(field.name == field.name.lower() for field in schema)
