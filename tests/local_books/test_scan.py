"""Local books scanned by other engines, and on a Spark cluster: their figures, without loading their lines."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core.errors import BooksError
from accounting_analytics.core.exact_sums import collect
from accounting_analytics.reconciliation.compared_report import compare_reports
from accounting_analytics.reports.books import book_lines as line_sums

QUARTER = ("2025-01-01", "2025-03-31")
MARCH = ("2025-03-01", "2025-03-31")
ENGINES = [
    "duckdb",
    *also_long("polars", "pyarrow"),
    pytest.param("pyspark", marks=[pytest.mark.spark, pytest.mark.long]),
]
STATEMENTS = (aa.cash_flow_statement, aa.income_statement, aa.balance_sheet, aa.trial_balance)


@pytest.fixture(scope="module")
def scanned_books(tmp_path_factory, demo_company):
    """Return local books of the demo company with two versions, the first of which lacks March."""
    books = aa.LocalBooks.open(tmp_path_factory.mktemp("scanned") / "books")
    books.sync(demo_company.client, start_date=QUARTER[0], end_date="2025-02-28")
    books.sync(demo_company.client, end_date=QUARTER[1])
    return books


@pytest.fixture
def scan(scanned_books, request):
    """Return a function that loads the books, or other ones, on an engine."""

    def scan(engine, of=scanned_books):
        if engine == "pyspark":
            request.getfixturevalue("spark_session")
        return aa.load_books(of, engine=engine)

    return scan


@pytest.mark.parametrize("engine", ENGINES)
def test_scanned_report_is_that_of_the_books_and_reconciles(scanned_books, scan, demo_company, engine):
    scanned = scan(engine)
    assert scanned.extent.rows == len(scanned_books.line_entries())
    report = aa.recompute_cash_flow(scanned, MARCH)
    expected = scanned_books.report(aa.Period(*MARCH, scanned_books.time_zone))
    totals = aa.recompute_cash_flow(scanned, MARCH, lines=False)
    for name in ("ledgers", "starting_balances", "ending_balances"):
        for one in (report, totals):
            pd.testing.assert_frame_equal(getattr(one, name), getattr(expected, name))
    pd.testing.assert_frame_equal(report.lines, expected.lines)
    assert (len(totals.lines), totals.totals_only) == (0, True)
    assert report.period.time_zone == scanned_books.time_zone
    assert set(scanned_books.notes) <= set(report.notes)
    reported = aa.load_cash_flow_report(demo_company.client, *MARCH)
    assert compare_reports(reported, report, scanned).ties
    wrong = aa.recompute_cash_flow(scanned, ("2025-03-02", MARCH[1]))
    other = aa.load_cash_flow_report(demo_company.client, "2025-03-02", MARCH[1])
    assert compare_reports(other, wrong, scanned).ties


@pytest.mark.parametrize("engine", ENGINES)
def test_scanned_statements_and_registers_are_those_of_books(scanned_books, scan, engine):
    scanned, loaded = scan(engine), aa.load_books(scanned_books)
    for make in STATEMENTS:
        statement, expected = make(scanned, QUARTER), make(loaded, QUARTER)
        pd.testing.assert_frame_equal(statement.tidy(), expected.tidy())
        assert set(expected.notes) == set(statement.notes)
    flows, expected = (aa.cash_flow_statement(one, QUARTER) for one in (scanned, loaded))
    found, entries = (one["Rent", "2025-02"].entries for one in (flows, expected))
    assert len(found) > 0
    pd.testing.assert_frame_equal(found[["id", "figure_amount"]], entries[["id", "figure_amount"]])
    account = scanned_books.ledgers().query("report_cash_flow")["id"].iloc[0]
    registers = (aa.register(one, account, "2025-03") for one in (scanned, loaded))
    pd.testing.assert_frame_equal(*registers)


@pytest.mark.parametrize("engine", ENGINES)
def test_entries_of_a_flow_are_found_by_the_engine(scanned_books, scan, engine, monkeypatch):
    statement = aa.cash_flow_statement(scan(engine), QUARTER)
    collected = []

    def counting(lines):
        table = collect(lines)
        collected.append(table.num_rows)
        return table

    monkeypatch.setattr(line_sums, "collect", counting)
    entries = statement["Net change in cash", "2025-02"].entries
    held = [len(scanned_books.line_entries())] if engine == "pyarrow" else []  # numbered once in memory
    assert collected == [*held, len(entries)]


@pytest.mark.parametrize("engine", ENGINES)
def test_scan_is_of_the_version_that_is_read(scanned_books, scan, engine):
    first = scan(engine, scanned_books.as_of(0))
    assert (first.extent.rows, first.version) == (len(scanned_books.as_of(0).line_entries()), 0)
    with pytest.raises(aa.errors.IncompleteLoadError, match="the load covers Jan 2025 to Feb 2025"):
        aa.recompute_cash_flow(first, MARCH)


@pytest.mark.long
@pytest.mark.spark
def test_spark_names_its_default_file_system_elsewhere(scanned_books, spark_session):
    try:
        spark_session.conf.set("fs.defaultFS", "nowhere:///")
        with pytest.raises(Exception, match="nowhere"):
            aa.load_books(scanned_books, engine="pyspark")
    finally:
        spark_session.conf.set("fs.defaultFS", "file:///")
    report, expected = (
        aa.recompute_cash_flow(aa.load_books(scanned_books, engine=engine), MARCH, lines=False)
        for engine in ("pyspark", "polars")
    )
    pd.testing.assert_frame_equal(report.ledgers, expected.ledgers)


@pytest.mark.long
@pytest.mark.spark
def test_frame_that_spark_read_makes_the_same_books(scanned_books, spark_session):
    stored = spark_session.read.parquet(
        *(f"file:{path}" for path in DeltaTable(scanned_books.folder / "lines").file_uris())
    )
    opening = scanned_books.report(scanned_books.period).starting_balances
    read = aa.Books(
        stored, scanned_books.ledgers(), scanned_books.period, time_zone=scanned_books.time_zone, opening=opening
    )
    report, expected = (
        aa.recompute_cash_flow(one, MARCH, lines=False) for one in (read, aa.load_books(scanned_books, engine="polars"))
    )
    for name in ("ledgers", "starting_balances"):
        pd.testing.assert_frame_equal(getattr(report, name), getattr(expected, name))


@pytest.mark.parametrize("engine", ["dask", ["polars"]])
def test_engine_that_cannot_read_books_is_refused(scanned_books, engine):
    with pytest.raises(aa.errors.InputError, match=r"engine must be one of .pandas., .polars., .duckdb."):
        aa.load_books(scanned_books, engine=engine)


def test_file_changed_after_writing_is_named_before_reading(scanned_books, tmp_path):
    folder = shutil.copytree(scanned_books.folder, tmp_path / "books")
    file = next((folder / "lines").glob("2025-03-*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(BooksError, match=r"2025-03-.*\.parquet was changed after it was written"):
        aa.load_books(aa.LocalBooks.open(folder), engine="polars")
    file.unlink()
    with pytest.raises(BooksError, match=r"2025-03-.*\.parquet is missing"):
        aa.load_books(aa.LocalBooks.open(folder), engine="polars")


COPIES = 10
DRIVER = Path(__file__).with_name("cluster_driver.py")
CLUSTER = Path(__file__).parents[1] / "benchmarks" / "spark_cluster.py"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    # a shuffle has more tasks than the workers have cores, so that some are done while others are being executed
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    # the ids of all lines would be larger than the result that the driver accepts; a broadcast counts as one
    "spark.driver.maxResultSize": "1m",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@pytest.fixture(scope="module")
def copied_books(tmp_path_factory, demo_company):
    """Return local books of the demo company, every entry of which is there ten times."""
    books = aa.LocalBooks.open(tmp_path_factory.mktemp("cluster") / "books")
    books.sync(demo_company.client, start_date="2025-01-01", end_date="2026-05-31")
    storage, version = books._storage, books._version
    files = {month: storage.save_month(month, _copied(storage.read(file))) for month, file in version.files.items()}
    storage.commit(msgspec.structs.replace(version, number=version.number + 1, files=files))
    return aa.LocalBooks.open(books.folder)


def _copied(lines):
    """Return the lines many times, with ids of their own."""
    copies = []
    for number in range(COPIES):
        copy = lines
        for name in ("id", "journal_entry_id"):
            ids = pa.array([f"{one}-{number}" for one in lines[name].to_pylist()], lines.schema.field(name).type)
            copy = copy.set_column(copy.column_names.index(name), lines.schema.field(name), ids)
        copies.append(copy)
    return pa.concat_tables(copies)


@pytest.fixture
def report_on_cluster(tmp_path, copied_books):
    """Return a function that reports the books on a cluster, where a worker is killed, and returns what it found.

    It returns also the figures of the books themselves.
    """
    make_cluster = runpy.run_path(str(CLUSTER))["Cluster"]
    figures_of = runpy.run_path(str(DRIVER))["figures_of"]

    def run(statements, killed_worker):
        task = {"folder": str(copied_books.folder), "settings": SETTINGS, "statements": statements}
        # a Python function could not be executed on a worker
        environment = os.environ | {"PYSPARK_PYTHON": "no-python", "PYSPARK_DRIVER_PYTHON": sys.executable}
        with make_cluster(tmp_path, "700m") as cluster:
            task |= {"master": cluster.address, "killed_group": cluster.processes[killed_worker].pid}
            done = subprocess.run(  # noqa: S603 (our own program)
                [sys.executable, DRIVER, json.dumps(task)], capture_output=True, text=True, check=False, env=environment
            )
        assert not done.returncode, done.stderr[-5000:]
        return json.loads(done.stdout.splitlines()[-1]), figures_of(aa.load_books(copied_books), statements)

    return run


@pytest.mark.long
@pytest.mark.spark
def test_killed_worker_changes_no_figure(report_on_cluster):
    found, expected = report_on_cluster([make.__name__ for make in STATEMENTS], killed_worker=1)
    assert found["executors"] == 2
    assert found["figures"] == expected
    killed = found["killed"]
    assert killed["active_jobs"]
    assert 0 < killed["numCompletedTasks"] < killed["numTasks"]
    assert found["executors_after"] == 1
    assert found["figures_after"] == expected
