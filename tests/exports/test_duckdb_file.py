"""The DuckDB file: tables with types, keys, relations and comments; views; replaced in one step."""

import subprocess
import sys
from decimal import Decimal
from functools import partial

import duckdb
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports import QUESTIONS, Question, check_output
from accounting_analytics.exports.replaced_outputs import OutputFile
from accounting_analytics.exports.star_schema.tables import STAR_SCHEMA


@pytest.fixture(scope="module")
def database(quarter, tmp_path_factory):
    """Return the demo's books in a DuckDB file, opened to read."""
    path = tmp_path_factory.mktemp("duckdb") / "books.duckdb"
    names = {"currency": "USD", "fiscal_year_start_month": 7}
    books = aa.Books(quarter.lines, quarter.ledgers, reports=quarter.reports, **names)
    manifest = aa.export(books, path, format="duckdb")
    with duckdb.connect(str(path), read_only=True) as opened:
        opened.execute("set time zone 'UTC'")
        yield opened, manifest


def test_tables_have_keys_relations_and_comments(database):
    opened, manifest = database
    query = (
        "select table_name, constraint_type, constraint_column_names, referenced_table from duckdb_constraints() "
        "where constraint_type in ('PRIMARY KEY', 'FOREIGN KEY')"
    )
    found = {(name, kind, tuple(columns), other or None) for name, kind, columns, other in opened.sql(query).fetchall()}
    expected = {(table.name, "PRIMARY KEY", table.key, None) for table in STAR_SCHEMA} | {
        (table.name, "FOREIGN KEY", (column,), other)
        for table in STAR_SCHEMA
        for column, other in table.references.items()
    }
    assert found == expected
    comments = dict(opened.sql("select table_name, comment from duckdb_tables()").fetchall())
    assert comments == {table.name: f"One row is {table.grain}." for table in STAR_SCHEMA}
    rows = {name: opened.sql(f"select count(*) from {name}").fetchall()[0][0] for name in comments}  # noqa: S608
    assert rows == manifest.tables


def test_older_versions_of_duckdb_read_the_file(database):
    """The version of the storage in its header is 64, that of DuckDB 1.0."""
    _, manifest = database
    with (manifest.folder / manifest.files[0].name).open("rb") as file:
        assert int.from_bytes(file.read(20)[12:], "little") == 64


def test_rows_are_exact(database, quarter):
    opened, manifest = database
    relation = opened.sql("select line_entry_id, signed_amount, datetime_utc from fact_line_entry order by all")
    assert [str(one) for one in relation.types] == ["VARCHAR", "DECIMAL(18,2)", "TIMESTAMP WITH TIME ZONE"]
    lines = quarter.lines.sort_values("id")
    found = relation.to_arrow_table().to_pydict()
    assert found["line_entry_id"] == lines["id"].tolist()
    assert found["signed_amount"] == [Decimal(f"{amount:.2f}") for amount in lines["signed_amount"]]
    assert [one.timestamp() for one in found["datetime_utc"]] == [one.timestamp() for one in lines["datetime"]]
    sums = next(file.sums for file in manifest.files if file.table == "fact_line_entry")
    assert str(sum(found["signed_amount"])) == sums["signed_amount"]


def test_views_join_names_without_losing_rows(database):
    opened, manifest = database
    for view, table in (("line_entries", "fact_line_entry"), ("cash_flow", "fact_cash_flow_line")):
        assert opened.sql(f"select count(*) from {view}").fetchall() == [(manifest.tables[table],)]  # noqa: S608
    unnamed = opened.sql("select count(*) from cash_flow where category is null or cash_ledger_name is null")
    assert unnamed.fetchall() == [(0,)]
    views = dict(opened.sql("select view_name, comment from duckdb_views() where not internal").fetchall())
    whole = [name for name in QUESTIONS if "$" not in Question.named(name).sql]
    assert len(whole) == 9
    assert set(views) == {*whole, "line_entries", "cash_flow"}
    assert views["cash_by_month"].startswith("How did cash change in each month")
    months = opened.sql("select month, net_cash_flow from cash_by_month").fetchall()
    assert [month for month, _ in months] == ["2025-01", "2025-02", "2025-03"]
    assert opened.sql("select distinct fiscal_year from dim_date where year = 2024").fetchall() == [(2025,)]


def test_failed_exports_leave_the_previous_file(quarter, tmp_path):
    path, leftovers = tmp_path / "books.duckdb", tmp_path / "books.duckdb.unfinished"
    (leftovers / "books.duckdb.tmp").mkdir(parents=True)
    (leftovers / "books.duckdb.wal").write_bytes(b"of a killed export")
    aa.export(quarter, path, format="duckdb")
    before = path.read_bytes()
    lines = quarter.lines
    twice = lines.assign(id=lines["id"].where(lines.index > 0, lines["id"].iloc[1]))
    with pytest.raises(InputError):
        aa.export(aa.Books(twice, quarter.ledgers, reports=quarter.reports), path, format="duckdb")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_one_export_at_a_time(quarter, tmp_path):
    path = tmp_path / "books.duckdb"
    with OutputFile(path, ".duckdb").replaced() as unfinished:
        unfinished.write_bytes(b"of the other export")
        with pytest.raises(InputError, match=r"another export to .*books\.duckdb is running; wait for it; nothing was"):
            aa.export(quarter, path, format="duckdb")
    assert path.read_bytes() == b"of the other export"
    assert list(tmp_path.iterdir()) == [path]


WRITER = """
import os, sys
import duckdb

database = duckdb.connect(sys.argv[1])
database.execute("create table mine (number integer)")
os._exit(1)
"""


def test_unsaved_changes_of_other_programs(quarter, tmp_path):
    """A database with changes in a `.wal` file is not replaced, because the new one could not be opened with them."""
    path, changes = tmp_path / "books.duckdb", tmp_path / "books.duckdb.wal"
    subprocess.run([sys.executable, "-c", WRITER, str(path)], check=False)  # noqa: S603 (our own program)
    assert changes.stat().st_size > 0
    for refused in (partial(check_output, "duckdb", path), partial(aa.export, quarter, path, format="duckdb")):
        with pytest.raises(InputError, match=r"duckdb\.wal has changes of another program .*; nothing was written"):
            refused()
    changes.unlink()
    assert aa.export(quarter, path, format="duckdb").tables["fact_line_entry"] == len(quarter.lines)
    with duckdb.connect(str(path), read_only=True) as opened:
        assert ("mine",) not in opened.sql("select table_name from duckdb_tables()").fetchall()
