"""Recomputing on PySpark: the same report as on pandas, with and without its lines."""

import runpy
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import accounting_analytics as aa
from accounting_analytics.core.money import to_floats

LINES = 150_000
MARCH = ("2024-03-01", "2024-03-31")
ZONE = "America/New_York"
TABLES = ("ledgers", "lines", "starting_balances", "ending_balances")
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def book_files(tmp_path_factory):
    """Return the paths of books with decimals and with floats, and the chart of accounts."""
    folder = tmp_path_factory.mktemp("books")
    benchmark = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "recompute.py"))
    benchmark["write_books"](folder, LINES)
    decimals = pq.read_table(folder / "lines.parquet")
    floats = pa.array(to_floats(decimals["signed_amount"]))
    column = decimals.column_names.index("signed_amount")
    pq.write_table(decimals.set_column(column, "signed_amount", floats), folder / "floats.parquet")
    paths = {"decimals": folder / "lines.parquet", "floats": folder / "floats.parquet"}
    return paths, pd.read_parquet(folder / "ledgers.parquet")


@pytest.mark.parametrize(
    ("amounts", "session_zone", "lines"),
    [
        pytest.param("decimals", "UTC", True, marks=pytest.mark.long),
        pytest.param("floats", "Asia/Tokyo", True, marks=pytest.mark.long),
        pytest.param("decimals", "Asia/Tokyo", False, marks=pytest.mark.long),
        pytest.param("floats", "UTC", False, marks=pytest.mark.long),
        ("floats", "Asia/Tokyo", False),
    ],
)
def test_spark_makes_the_report_of_pandas(spark_session, book_files, amounts, session_zone, lines):
    paths, ledgers = book_files
    spark_session.conf.set("spark.sql.session.timeZone", session_zone)
    on_spark = spark_session.read.parquet(str(paths[amounts]))
    table = pq.read_table(paths[amounts])
    report = aa.recompute_cash_flow(aa.Books(on_spark, ledgers, time_zone=ZONE, scale=2), MARCH, lines=lines)
    report.exact().checked()
    expected = aa.recompute_cash_flow(aa.Books(table, ledgers, time_zone=ZONE, scale=2), MARCH)
    assert len(expected.lines) > 1000
    assert len(report.lines) == (len(expected.lines) if lines else 0)
    for name in TABLES if lines else (name for name in TABLES if name != "lines"):
        pd.testing.assert_frame_equal(getattr(report, name), getattr(expected, name))
    assert report.starting_cash_balance == expected.starting_cash_balance != 0
    assert report.ending_cash_balance == expected.ending_cash_balance
    assert report.notes == expected.notes
