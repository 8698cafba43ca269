"""Folders and files of any name: what is written there is read back with the same figures, or nothing is written."""

from decimal import Decimal

import duckdb
import pytest
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError

MONTH = ("2025-01-01", "2025-01-31")
TOTAL, COUNT = Decimal("1541.50"), 8
"""Of the amounts of the month, both sides of each entry."""
PERIOD = ("--start-date", MONTH[0], "--end-date", MONTH[1])
NAMES = ["Client #12 & co?", 'München 日本 "it\'s"', "month=2025-01 [x] {y}", "100% ~$;!, st*r:"]
NOT_FOR_DELTA = ["percent%20twenty", "back\\slash", "new\nline", "bytes\udcff"]


@pytest.fixture
def client(deep_books):
    settings = {"token": deep_books.token, "instance_id": deep_books.instance_id, "time_zone": "UTC"}
    with aa.LedgerClient(deep_books.base_url, **settings) as client:
        yield client


@pytest.fixture
def loaded(client):
    """Return ledgers, lines and the report of a month."""
    ledgers = aa.discover_ledgers(client, *MONTH)
    lines = aa.load_line_entries(client, ledgers["id"], *MONTH)
    return ledgers, lines, aa.load_cash_flow_report(client, *MONTH)


@pytest.mark.parametrize("name", [NAMES[0], *also_long(*NAMES[1:])])
def test_local_books_in_any_folder_are_synced_and_read(client, loaded, tmp_path, name):
    folder = tmp_path / name / "books"
    assert aa.LocalBooks.open(folder).sync(client, start_date=MONTH[0], end_date=MONTH[1]).ties
    assert aa.LocalBooks.open(folder).sync(client, end_date=MONTH[1]).ties
    books, (_, lines, reported) = aa.LocalBooks.open(folder), loaded
    assert len(books.history()) >= 1
    assert books.report(aa.Period(*MONTH)).ending_cash_balance == reported.ending_cash_balance
    for engine in ("polars", "duckdb", "pyarrow"):
        computed = aa.recompute_cash_flow(aa.load_books(books, MONTH, engine=engine), lines=False)
        assert computed.ending_cash_balance == reported.ending_cash_balance, engine
    assert books.sql("select count(*) as lines from line_entries").loc[0, "lines"] == len(lines)


@pytest.mark.long
@pytest.mark.spark
def test_spark_reads_file_names_not_patterns(client, loaded, spark_session, tmp_path):
    folder, reported = tmp_path / "month=2025-01 #12? 100% st*r [x] {y}", loaded[2]
    assert aa.LocalBooks.open(folder).sync(client, start_date=MONTH[0], end_date=MONTH[1]).ties
    books = aa.LocalBooks.open(folder)
    assert spark_session
    computed = aa.recompute_cash_flow(aa.load_books(books, MONTH, engine="pyspark"), lines=False)
    assert computed.ending_cash_balance == reported.ending_cash_balance


@pytest.mark.parametrize("name", NOT_FOR_DELTA)
def test_folders_that_delta_tables_cannot_be_are_refused(run, assert_refused, deep_books, tmp_path, name):
    with pytest.raises(InputError, match="name another folder"):
        aa.LocalBooks.open(tmp_path / name)
    environment = deep_books.environment()
    assert_refused(run("sync", *PERIOD, "--books", name, **environment, code=2), "name another folder")
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", [NAMES[0], *also_long(*NAMES[1:], *NOT_FOR_DELTA[:2])])
def test_exports_in_any_folder_have_the_sums_of_the_load(loaded, run, tmp_path, name):
    folder, (ledgers, lines, reported) = tmp_path / name, loaded
    books = aa.Books(lines, ledgers, MONTH, reports=[reported])
    for kind in ("parquet", "csv"):
        aa.export(books, folder / kind, format=kind)
    run("verify-export", folder / "parquet")
    exported = [str(path) for path in (folder / "parquet").rglob("fact_line_entry/**/*.parquet")]
    totals = "select sum(amount), count(*) from"
    if "\\" not in name:  # DuckDB itself cannot read such a name
        escaped = [path.replace("[", "[[]").replace("*", "[*]").replace("?", "[?]") for path in exported]
        with duckdb.connect() as database:
            assert database.execute(f"{totals} read_parquet(?)", [escaped]).fetchone() == (TOTAL, COUNT)
    if set(name) & set("?\\"):
        with pytest.raises(InputError, match="cannot be a DuckDB file"):
            aa.export(books, folder / "books.duckdb", format="duckdb")
        assert not (folder / "books.duckdb").exists()
        return
    aa.export(books, folder / "books.duckdb", format="duckdb")
    with duckdb.connect(str(folder / "books.duckdb"), read_only=True) as database:
        assert database.execute(f"{totals} fact_line_entry").fetchone() == (TOTAL, COUNT)


@pytest.mark.parametrize("name", [NAMES[0], "file:x?mode=memory", *also_long(NAMES[1], *NOT_FOR_DELTA[:2], "-dash")])
def test_databases_of_any_name_are_imported(run, tmp_path, name):
    rows = "entry_id,datetime,entry_description,ledger,debit_credit,amount\n"
    rows += "e1,2025-01-02,Sale,assets:bank,debit,1.50\ne1,2025-01-02,Sale,income:sales,credit,1.50\n"
    (tmp_path / f"{name}.csv").write_text(rows, encoding="utf-8")
    database = f"--database={name}.db"
    run("import", database, "--cash", "assets:bank", "--time-zone", "UTC", "--json", "--", f"{name}.csv")
    assert (tmp_path / f"{name}.db").is_file()
    assert "1 entries are in the books already" in run("import", database, "--", f"{name}.csv").stderr


def test_pack_in_any_folder_is_verified_from_its_file(client, tmp_path):
    saved = tmp_path / "".join(NAMES) / "pack.html"
    saved.parent.mkdir()
    aa.monthly_pack(aa.load_books(client, "2025-01")).save(saved)
    assert aa.verify_pack(saved).verified
