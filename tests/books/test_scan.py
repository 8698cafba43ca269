"""Local books scanned by polars, DuckDB, pyarrow and Spark: the figures of the books, without loading their lines."""

import shutil
from dataclasses import replace

import pandas as pd
import pytest
from deltalake import DeltaTable
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core.errors import BooksError, InputError
from accounting_analytics.core.exact_sums import collect
from accounting_analytics.reports import statement_sums as line_sums

QUARTER = ("2025-01-01", "2025-03-31")
MARCH = ("2025-03-01", "2025-03-31")
ENGINES = [
    "duckdb",
    *also_long("polars", "pyarrow"),
    pytest.param("pyspark", marks=[pytest.mark.spark, pytest.mark.long]),
]
STATEMENTS = (aa.cash_flow_statement, aa.income_statement, aa.balance_sheet, aa.trial_balance)


@pytest.fixture(scope="module")
def books(tmp_path_factory, demo_company):
    """Return local books of the demo company with two versions, the first of which lacks March."""
    books = aa.Books.open(tmp_path_factory.mktemp("scanned") / "books")
    books.sync(demo_company.client, start_date=QUARTER[0], end_date="2025-02-28")
    books.sync(demo_company.client, end_date=QUARTER[1])
    return books


@pytest.fixture
def scan(books, request):
    """Return a function that scans the books, or other ones, on an engine."""

    def scan(engine, of=books):
        session = request.getfixturevalue("spark_session") if engine == "pyspark" else None
        return of.scan(engine, session=session)

    return scan


@pytest.mark.parametrize("engine", ENGINES)
def test_reports_and_their_reconciliation(books, scan, demo_company, engine):
    """The report is that of the books in every figure, with its lines and without, and agrees with the service's."""
    lines, ledgers = scan(engine), books.ledgers()
    assert len(lines) == len(books.line_entries())
    report = aa.recompute_cash_flow(lines, ledgers, *MARCH)
    expected = books.report(aa.Period(*MARCH, books.time_zone))
    totals = aa.recompute_cash_flow(lines, ledgers, *MARCH, lines=False)
    for name in ("ledgers", "starting_balances", "ending_balances"):
        for one in (report, totals):
            pd.testing.assert_frame_equal(getattr(one, name), getattr(expected, name))
    pd.testing.assert_frame_equal(report.lines, expected.lines)
    assert (len(totals.lines), totals.totals_only) == (0, True)
    assert report.period.time_zone == books.time_zone
    assert set(books.notes) <= set(report.notes)
    reported = aa.load_cash_flow_report(demo_company.client, *MARCH)
    assert aa.reconcile(reported, report, line_entries=lines, ledgers=ledgers).ties
    wrong = aa.recompute_cash_flow(lines, ledgers, "2025-03-02", MARCH[1])
    other = aa.load_cash_flow_report(demo_company.client, "2025-03-02", MARCH[1])
    assert aa.reconcile(other, wrong, line_entries=lines, ledgers=ledgers).ties
    assert aa.reconcile(other, wrong, line_entries=scan(engine)).ties


@pytest.mark.parametrize("engine", ENGINES)
def test_statements_and_registers(books, scan, engine):
    """The statements and a register are those of the books; the lines behind a figure come back when they are asked."""
    lines, ledgers = scan(engine), books.ledgers()
    for make in STATEMENTS:
        statement, expected = make(lines, ledgers, *QUARTER), make(books, None, *QUARTER)
        pd.testing.assert_frame_equal(statement.tidy(), expected.tidy())
        assert set(expected.notes) == set(statement.notes)
    flows, expected = (aa.cash_flow_statement(source, ledgers, *QUARTER) for source in (lines, books))
    found, entries = (one["Rent", "2025-02"].entries for one in (flows, expected))
    assert len(found) > 0
    pd.testing.assert_frame_equal(found[["id", "figure_amount"]], entries[["id", "figure_amount"]])
    account = ledgers.query("report_cash_flow")["id"].iloc[0]
    registers = (aa.register(source, account, ledgers=ledgers, period="2025-03") for source in (lines, books))
    pd.testing.assert_frame_equal(*registers)


@pytest.mark.parametrize("engine", ENGINES)
def test_entries_of_a_flow_are_found_by_the_engine(books, scan, engine, monkeypatch):
    """The lines behind a flow come back, and nothing else: no ids of entries, which a later query would name."""
    statement = aa.cash_flow_statement(scan(engine), books.ledgers(), *QUARTER)
    collected = []

    def counting(lines):
        table = collect(lines)
        collected.append(table.num_rows)
        return table

    monkeypatch.setattr(line_sums, "collect", counting)
    entries = statement["Net change in cash", "2025-02"].entries
    held = [len(books.line_entries())] if engine == "pyarrow" else []  # numbered once in memory
    assert collected == [*held, len(entries)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_version(books, scan, engine):
    """A scan is of the version that is read."""
    first = scan(engine, books.as_of(0))
    assert (len(first), first.attrs["load"]["books_version"]) == (len(books.as_of(0).line_entries()), 0)
    with pytest.raises(aa.errors.IncompleteLoadError, match="2025-02-28"):
        aa.recompute_cash_flow(first, books.ledgers(), *MARCH)


@pytest.mark.long
@pytest.mark.spark
def test_files_that_spark_finds_elsewhere(books, spark_session):
    """A frame that Spark read itself states what the scan stated; the default file system of a session may be named."""
    ledgers, session = books.ledgers(), spark_session.newSession()
    scanned = books.scan("polars")
    read = session.read.parquet(*(f"file:{path}" for path in DeltaTable(books.folder / "lines").file_uris()))
    session.conf.set("fs.defaultFS", "nowhere:///")
    with pytest.raises(Exception, match="nowhere"):
        books.scan("pyspark", session=session)
    session.conf.set("fs.defaultFS", "file:///")
    expected = aa.recompute_cash_flow(scanned, ledgers, *MARCH, lines=False)
    for lines in (replace(scanned, frame=read), books.scan("pyspark", session=session)):
        report = aa.recompute_cash_flow(lines, ledgers, *MARCH, lines=False)
        pd.testing.assert_frame_equal(report.ledgers, expected.ledgers)
        assert report.notes == expected.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "dask"}, "engine must be one of 'polars', 'duckdb', 'pyspark', 'pyarrow', not 'dask'"),
        ({"engine": ["polars"]}, "engine must be one of"),
        ({"engine": "polars", "session": "a session"}, "session is of Spark, so it has no effect with engine='polars'"),
    ],
)
def test_refused_arguments(books, options, message):
    """Another engine, or a session that would be ignored, is refused."""
    with pytest.raises(InputError, match=message):
        books.scan(**options)


def test_a_changed_file_is_refused(books, tmp_path):
    """A file that was changed after it was written is named before anything is read from it."""
    folder = shutil.copytree(books.folder, tmp_path / "books")
    file = next((folder / "lines").glob("2025-03-*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(BooksError, match=r"2025-03-.*\.parquet was changed after it was written"):
        aa.Books.open(folder).scan("polars")
    file.unlink()
    with pytest.raises(BooksError, match=r"2025-03-.*\.parquet is missing"):
        aa.Books.open(folder).scan("polars")
