"""SQL on books: the tables of the star schema, exact figures, and nothing that writes or reaches elsewhere."""

import datetime as dt
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import duckdb
import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.exports.books_to_export import ExportedBooks, MonthProof
from accounting_analytics.local_books.sql_on_books import BooksQueries

DAYS = ("2025-01-01", "2025-03-31")
ZONE = "America/New_York"
PROOF = MonthProof("Agreed.", dt.datetime(2025, 4, 2, tzinfo=dt.UTC), dt.datetime(2025, 4, 1, tzinfo=dt.UTC))


@pytest.fixture(scope="module")
def quarter(demo_company):
    """Return the books of the demo's first quarter, without a report."""
    client = demo_company.client
    ledgers = aa.discover_ledgers(client, *DAYS, time_zone=ZONE)
    lines = aa.load_line_entries(client, ledgers["id"], *DAYS, time_zone=ZONE)
    return aa.Books(lines, ledgers, DAYS)


@pytest.fixture(scope="module")
def queries(quarter):
    """Return these books for queries, proven; no test changes them."""
    proofs = dict.fromkeys((month.month for month in quarter.period.months()), PROOF)
    books = ExportedBooks.from_books(quarter, quarter.period)._replace(proofs=proofs)
    return BooksQueries(books, notes=("Books of a test.",))


def test_tables_views_and_figures_are_those_of_the_exported_file(queries, quarter, tmp_path):
    aa.export(quarter, tmp_path / "books.duckdb", format="duckdb")
    with duckdb.connect(str(tmp_path / "books.duckdb"), read_only=True) as database:
        names = [name for (name,) in database.execute("show tables").fetchall()]
        assert queries.query("show tables")["name"].tolist() == names
        for name in names:
            columns = database.execute(f"describe {name}").fetchall()
            described = queries.query(f"describe {name}")
            assert described["column_type"].tolist() == [dtype for _, dtype, *_ in columns], name
            left_out = "exclude (verdict, proven_at_utc, read_at_utc)" if name == "dim_load" else ""
            text = f"select columns(* {left_out})::varchar from {name} order by all"  # noqa: S608 (our own names)
            expected = database.sql(text).to_arrow_table().to_pydict()
            found = queries.query(text)
            assert {column: [None if pd.isna(one) else one for one in found[column]] for column in found} == expected


def test_amounts_are_exact_floats_of_exact_sums(queries, quarter):
    answer = queries.query("select sum(amount) as total, avg(amount) as mean, sum(level) as whole, min(date) as first "
                           "from fact_line_entry join dim_ledger using (ledger_id)")  # fmt: skip
    exact = aa.schemas.LineEntries.exact(quarter.lines).frame["amount"].tolist()
    assert answer["total"].tolist() == [float(sum(exact, Decimal(0)))]
    assert answer["mean"].tolist() == [pytest.approx(float(sum(exact, Decimal(0)) / len(exact)))]
    dtypes = {"total": "float64", "mean": "float64", "whole": "int64", "first": "datetime64[us]"}
    assert answer.dtypes.astype(str).to_dict() == dtypes
    assert answer.attrs["notes"] == ("Books of a test.",)


def test_columns_have_the_dtypes_of_other_frames(queries):
    answer = queries.query("""
        select 'a' as text, timestamptz '2025-01-01 05:00Z' as instant, true as flag, 1 as number, 2::ubigint as large
        union all select null, null, null, null, null
    """)
    dtypes = ["str", "datetime64[us, UTC]", "boolean", "Int64", "UInt64"]
    assert answer.dtypes.astype(str).tolist() == dtypes
    assert answer["instant"][0] == pd.Timestamp("2025-01-01T05:00Z")


def test_names_that_repeat_are_numbered(queries):
    answer = queries.query("select a.ledger_id, b.ledger_id, 1 as ledger_id_1 from dim_ledger a, dim_ledger b limit 1")
    assert answer.columns.tolist() == ["ledger_id", "ledger_id_1", "ledger_id_1_1"]


def test_months_state_their_own_proof(queries):
    answer = queries.query("""
        select distinct verdict, read_at_utc as read_at, proven_at_utc as proven_at, not is_partial as is_complete
        from dim_load
    """)
    assert answer.to_dict("records") == [PROOF._asdict()]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("select count(*) as n from dim_tag where tag_name = 'Store'", 0),
        ("select count(*) as n from dim_load where month = '2025-02'", 1),
        ('select count(*) as n from "DIM_LOAD" where not is_partial', 3),
        ("with dim_load as (select * from dim_load where scale = 2) select count(*) as n from dim_load", 3),
        ("select count(*) as n from query_table('dim_' || 'load') where scale = 2", 3),
        ("select count(*) as n from query('select * from dim_' || 'load') where scale = 2", 3),
        (
            "select count(*) as n from dim_date left join dim_load on dim_load.end_date = date where scale is not null",
            3,
        ),
        ("select count(*) as n from (from dim_load where month in (select month from fact_line_entry))", 3),
    ],
)
def test_a_table_that_is_named_anywhere_is_read(text, count, queries):
    assert queries.query(text)["n"].tolist() == [count]


STATEMENTS = {
    "delete from dim_ledger": "DELETE is not a query, and local books are read only",
    "copy dim_ledger to '{path}'": "COPY is not a query",
    "attach '{path}'": "ATTACH is not a query",
    "install httpfs": "LOAD is not a query",
    "set threads = 1": "SET is not a query",
    "pivot cash_flow on month using sum(amount)": "name the columns of the PIVOT",
    "select 1; drop view cash_flow": "the query has 2 statements; write one SELECT",
    "": "the query has 0 statements; write one SELECT",
    "selekt 1": 'syntax error at or near "selekt"; write one SELECT',
    "with x as (insert into dim_tag values ('a', 'b', 'c') returning *) select * from x": "launched in read-only mode",
    "select * from read_text('{path}')": "a query reads the tables of the books only, not files or addresses",
    "select * from '{path}'": "the tables and views are bridge_line_entry_tag, ",
    "select * from read_csv('https://127.0.0.1:9/x.csv')": "not files or addresses",
    "select * from glob('{path}')": "not files or addresses",
    "select * from line_entri": 'Did you mean "line_entries"?; the tables and views are',
    "select nothing from cash_flow": "DESCRIBE and the name of a table or view, such as DESCRIBE line_entries, lists",
    "select $month": "Values were not provided for the following parameters: month",
    "select error('no')": "the query failed: Invalid Input Error: no",
    "select 99999999999999999.99 as large": "column 'large' of the answer has a number of more digits than this frame",
    "select 1.12345678901 as small": "column 'small' of the answer has a number of more digits than this frame",
    "select 170141183460469231731687303715884105727 as huge": "column 'huge' of the answer has a number of more digits",
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_everything_but_one_reading_statement_is_refused(text, queries, tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("secret", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        queries.query(text.replace("{path}", str(path)))
    message = str(caught.value)
    assert STATEMENTS[text] in message
    assert "\n" not in message
    assert "LINE 1" not in message
    assert [one.name for one in tmp_path.iterdir()] == ["file.txt"]
    assert queries.query("select count(*) as n from dim_tag")["n"].tolist() == [3]


def test_variables_of_the_program_are_not_tables(queries):
    mine = pd.DataFrame({"secret": [1]})
    with pytest.raises(InputError, match="query is of type bytes, not str; write one SELECT"):
        queries.query(b"select 1")
    with pytest.raises(InputError, match="Table with name mine does not exist"):
        queries.query("select * from mine")
    assert mine["secret"].tolist() == [1]


def test_a_pivot_names_its_columns(queries):
    """A PIVOT with its columns is a query, as DuckDB needs no types of its own for it."""
    answer = queries.query("pivot cash_flow on month in ('2025-01', '2025-02') using sum(amount) group by category")
    assert answer.columns.tolist() == ["category", "2025-01", "2025-02"]


def test_threads_share_the_tables(queries):
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(queries.query, ["select count(*) as n from cash_flow"] * 8))
    assert len({answer["n"][0] for answer in answers}) == 1


def test_queries_warn_of_nothing(queries):
    with warnings.catch_warnings(action="error"):
        queries.query("select * from balance_by_day")
