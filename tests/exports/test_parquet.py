"""Flat Parquet: read back equal by pandas, polars and DuckDB, whole or not there."""

import dataclasses
import hashlib
import json
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import FrameError, InputError
from accounting_analytics.money import pandas_dtype, to_minor_units

PERIOD = ("2025-01-01", "2025-03-31")
ZONE = "America/New_York"
FILES = ("fact_line_entry.parquet", "fact_cash_flow_line.parquet", "dim_ledger.parquet")


@pytest.fixture(scope="module")
def frames(demo_company):
    """Return the demo's first quarter: line entries, ledgers, report."""
    client = demo_company.client
    ledgers = aa.discover_ledgers(client, *PERIOD, time_zone=ZONE)
    return {
        "line_entries": aa.load_line_entries(client, ledgers["id"], *PERIOD, time_zone=ZONE),
        "ledgers": ledgers,
        "report": aa.load_cash_flow_report(client, *PERIOD, time_zone=ZONE),
    }


def readers(path):
    """Return the rows of a file as pandas, polars and DuckDB see them."""
    yield pd.read_parquet(path, dtype_backend="pyarrow").to_dict("records")
    yield pl.read_parquet(path).to_dicts()
    with duckdb.connect() as database:
        yield database.sql(f"select * from '{path}'").to_arrow_table().to_pylist()  # noqa: S608 (our own path)


def test_every_reader_sees_the_same_exact_amounts(frames, tmp_path):
    """Amounts, ids, sides, local dates and instants of every line come back equal in all three readers."""
    aa.export_parquet(tmp_path / "out", **frames)
    lines = frames["line_entries"]
    local = lines["datetime"].dt.tz_convert(ZONE).dt.date
    expected = [
        (line_id, to_minor_units(amount), side, day, instant)
        for line_id, amount, side, day, instant in zip(
            lines["id"], lines["signed_amount"], lines["debit_credit"], local, lines["datetime"], strict=True
        )
    ]
    assert len(expected) > 500
    for rows in readers(tmp_path / "out" / "fact_line_entry.parquet"):
        seen = [
            (
                row["id"],
                row["signed_amount_minor_units"],
                row["debit_credit"],
                row["datetime_local_date"],
                pd.Timestamp(row["datetime"]).tz_convert("UTC"),
            )
            for row in rows
        ]
        assert seen == expected


def test_cash_flow_lines_sum_to_the_report(frames, tmp_path):
    """The exported cash flow lines sum to the report's net cash flow, in every reader."""
    aa.export_parquet(tmp_path / "out", **frames)
    for rows in readers(tmp_path / "out" / "fact_cash_flow_line.parquet"):
        assert sum(row["amount_minor_units"] for row in rows) == to_minor_units(frames["report"].net_cash_flow) != 0
        assert all(isinstance(row["ledger_name"], str) for row in rows)


def test_files_are_flat_and_plain(frames, tmp_path):
    """No column is nested, dictionary, large or decimal, and no engine's own notes are in the file."""
    aa.export_parquet(tmp_path / "out", **frames)
    for name in FILES:
        schema = pq.read_schema(tmp_path / "out" / name)
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


def test_manifest_vouches_for_the_files(frames, tmp_path):
    """The manifest has rows, exact sums and hashes of what is there."""
    manifest = aa.export_parquet(tmp_path / "out", **frames)
    content = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert [file["name"] for file in content["files"]] == list(FILES)
    for file, told in zip(content["files"], manifest.files, strict=True):
        path = tmp_path / "out" / file["name"]
        assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest() == told.sha256
        assert file["rows"] == pq.read_metadata(path).num_rows
    assert content["files"][0]["sums"]["signed_amount_minor_units"] == 0
    assert (content["time_zone"], content["scale"], content["partial"]) == (ZONE, 2, False)


def test_manifest_says_what_is_partial(frames, tmp_path):
    """What was made from an incomplete load is stamped so for its readers."""
    partial = frames | {"report": dataclasses.replace(frames["report"], partial=True)}
    assert aa.export_parquet(tmp_path / "out", **partial).partial
    assert json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["partial"] is True


def test_export_replaces_an_export_and_nothing_else(frames, tmp_path):
    """A second export replaces the first; a folder with other files is left alone; no leftovers stay beside it."""
    aa.export_parquet(tmp_path / "out", **frames)
    aa.export_parquet(tmp_path / "out", **frames)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="other files"):
        aa.export_parquet(tmp_path / "mine", **frames)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_failed_export_leaves_the_old_one(frames, tmp_path):
    """An amount that does not fit 64 bits is refused, never wrapped, and the export before it stays."""
    aa.export_parquet(tmp_path / "out", **frames)
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    lines = frames["line_entries"].head(1)
    huge = pd.Series([Decimal("92233720368547758.08")], index=lines.index, dtype=pandas_dtype(2))
    side = pd.Series(["debit"], index=lines.index, dtype="str")
    with pytest.raises(FrameError, match="64-bit"):
        aa.export_parquet(
            tmp_path / "out",
            **frames | {"line_entries": lines.assign(amount=huge, signed_amount=huge, debit_credit=side)},
        )
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_empty_books_export_too(frames, tmp_path):
    """A period without lines gives files with columns and no rows."""
    report = frames["report"]
    empty = type(report)(
        report.period,
        report.ledgers.head(0),
        report.lines.head(0),
        report.starting_balances,
        report.starting_balances,
        report.starting_cash_balance,
        report.starting_cash_balance,
    )
    manifest = aa.export_parquet(
        tmp_path / "out", **frames | {"report": empty, "line_entries": frames["line_entries"].head(0)}
    )
    assert [file.rows for file in manifest.files[:2]] == [0, 0]
    assert pl.read_parquet(tmp_path / "out" / FILES[0]).height == 0
