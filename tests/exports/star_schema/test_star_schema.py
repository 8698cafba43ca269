"""The star schema: figures that add up to those of the report, and the days of calendars."""

import datetime as dt
from collections import defaultdict
from contextlib import contextmanager
from decimal import Decimal

import duckdb
import pytest
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.exports.books_to_export import ExportedBooks
from accounting_analytics.exports.star_schema.build import attached_books, build_star_schema, connect, query_of
from accounting_analytics.exports.star_schema.tables import AMOUNT, STAR_SCHEMA


@contextmanager
def star_schema(books):
    """Open a DuckDB connection with the tables of some books."""
    with connect() as database:
        build_star_schema(database, ExportedBooks.from_books(books, books.period))
        yield database


@pytest.fixture(scope="module")
def database(quarter):
    """Return a DuckDB connection with the tables of the demo's first quarter."""
    with star_schema(quarter) as database:
        yield database


def rows(database, query):
    return database.sql(query).fetchall()


def test_no_query_has_doubles(quarter):
    """Amounts leave every query as decimals and no number as a double, in which sums of integers would be inexact."""
    with connect() as database, attached_books(database, ExportedBooks.from_books(quarter, quarter.period), None, 1):
        for table in sorted(STAR_SCHEMA, key=lambda one: bool(one.references)):
            types = {name: dtype for name, dtype, *_ in rows(database, f"describe {query_of(table.name)}")}
            assert types.keys() == table.columns.keys()
            assert not {"DOUBLE", "FLOAT"} & set(types.values())
            assert all(types[name].startswith("DECIMAL(") for name, dtype in table.columns.items() if dtype == AMOUNT)
            database.execute(f"create table {table.name} as {query_of(table.name)}")


def test_flows_and_transfers_are_the_movements_of_each_account_and_day(database):
    query = """
        with moved as (
            select cash_ledger_id, date, sum(amount) as amount
            from (from fact_cash_flow_line select cash_ledger_id, date, amount
                  union all from fact_transfer select cash_ledger_id, date, amount)
            group by all)
        select * from fact_daily_balance left join moved using (cash_ledger_id, date)
        where movement <> coalesce(amount, 0) or closing_balance <> opening_balance + movement"""
    assert rows(database, query) == []
    assert rows(database, "select count(*) > 100 from fact_transfer") == [(True,)]


def test_inflow_and_outflow_contain_no_transfers(database, quarter):
    report = quarter.reports[0].exact().ledgers
    flows = dict(rows(database, "select ledger_id, sum(amount) from fact_cash_flow_line group by all"))
    transit = dict(rows(database, "select ledger_id, name from dim_ledger where is_transfer"))
    assert transit
    reported = dict(zip(report["ledger_id"], report["net_cash_flow"], strict=True))
    expected = {ledger_id: amount for ledger_id, amount in reported.items() if ledger_id not in transit and amount}
    assert {ledger_id: amount for ledger_id, amount in flows.items() if amount} == expected
    ((transferred,),) = rows(database, "select sum(amount) from fact_transfer")
    assert transferred == sum(reported.get(ledger_id, Decimal(0)) for ledger_id in transit)


def test_flows_of_an_unknown_account_belong_to_the_one_that_moved_most(quarter):
    report = quarter.reports[0]
    unknown = altered(report, lines=report.lines.assign(cash_flow_ledger_name="Elsewhere"))
    with star_schema(quarter.with_reports([unknown])) as database:
        flows = database.sql("from fact_cash_flow_line").to_arrow_table().to_pylist()
    moved = defaultdict(lambda: defaultdict(Decimal))
    cash = quarter.ledgers.loc[quarter.ledgers["report_cash_flow"], "id"]
    lines = aa.schemas.LineEntries.exact(quarter.lines).frame
    of_cash = lines[lines["ledger_id"].isin(cash)]
    for entry, ledger, amount in zip(
        of_cash["journal_entry_id"], of_cash["ledger_id"], of_cash["signed_amount"], strict=True
    ):
        moved[entry][ledger] += amount
    several = 0
    for flow in flows:
        movements = moved[flow["journal_entry_id"]]
        largest = max(abs(amount) for amount in movements.values())
        several += len({abs(amount) for amount in movements.values()}) > 1
        assert abs(movements[flow["cash_ledger_id"]]) == largest
    assert several > 10


@pytest.mark.parametrize(
    ("query", "table"),
    [
        ("select cash_ledger_id, opening_balance from fact_daily_balance where date = '2025-01-01'", "starting"),
        ("select cash_ledger_id, closing_balance from fact_daily_balance where date = '2025-03-31'", "ending"),
        ("select cash_ledger_id, starting_balance from fact_period_balance where month = '2025-01'", "starting"),
        ("select cash_ledger_id, ending_balance from fact_period_balance where month = '2025-03'", "ending"),
    ],
)
def test_balances_are_those_of_the_report(database, quarter, query, table):
    balances = getattr(quarter.reports[0].exact(), f"{table}_balances")
    assert dict(rows(database, query)) == dict(zip(balances["ledger_id"], balances["cash_balance"], strict=True))


def test_each_day_has_the_balance_of_each_cash_ledger(database, quarter):
    report = quarter.reports[0].exact()
    assert rows(database, "select count(*) from fact_daily_balance") == [(90 * len(report.ending_balances),)]


def test_line_entries_are_exactly_those_of_the_period(quarter):
    books = ExportedBooks.from_books(quarter, quarter.period)
    assert books.lines.num_rows == len(quarter.lines)
    february = quarter.period.months()[1]
    lines = quarter.lines
    expected = lines[lines["local_date"].between("2025-02-01", "2025-02-28")]
    assert ExportedBooks.from_books(quarter, february).lines["id"].to_pylist() == list(expected["id"])


def test_ledgers_have_paths_and_roles(database):
    query = """select path, level, root_name, parent_name, statement, statement_section, is_cash
        from dim_ledger where name = 'Operating Account'"""
    path = "Assets:Cash and Banks:Operating Account"
    expected = (path, 3, "Assets", "Cash and Banks", "balance sheet", "Current assets", True)
    assert rows(database, query) == [expected]
    roles = "select count(*) filter (is_transfer), count(*) filter (is_uncategorized) from dim_ledger"
    assert rows(database, roles) == [(1, 2)]
    assert rows(database, "select count(*) from dim_cash_ledger") == rows(
        database, "select count(*) from dim_ledger where is_cash"
    )


def test_a_ledger_outside_the_chart_of_accounts_gets_a_row(quarter):
    ledgers = quarter.ledgers
    removed = quarter.reports[0].ledgers["ledger_id"].iloc[-1]
    fewer = aa.Books(quarter.lines, ledgers[ledgers["id"] != removed], quarter.period, reports=quarter.reports)
    with star_schema(fewer) as database:
        dimension = database.sql("from dim_ledger").to_arrow_table().to_pylist()
    (row,) = [row for row in dimension if row["ledger_id"] == removed]
    assert (row["name"], row["level"], row["type"]) == (quarter.reports[0].ledgers["name"].iloc[-1], 1, None)


def test_transactions_state_what_is_uncategorized(database, quarter):
    ledgers, lines = quarter.ledgers, quarter.lines
    uncategorized = ledgers.loc[ledgers["sub_type"] == "uncategorized_assets", "id"]
    entries = set(lines.loc[lines["ledger_id"].isin(uncategorized), "journal_entry_id"])
    own = lines[lines["transaction_id"].notna() & lines["journal_entry_id"].isin(entries)]
    found = rows(database, "select transaction_id, age_in_days from dim_transaction where is_uncategorized")
    ages = dict(zip(own["transaction_id"], own["local_date"], strict=True))
    assert len(found) == len(ages) > 10
    last = quarter.period.end_date
    assert all(age == (last - ages[transaction_id].date()).days for transaction_id, age in found)


def test_transactions_state_their_merchant(database):
    (found,) = rows(
        database,
        """select counterparty, count(*) > 3, count(distinct description) > 3 from dim_transaction
        where description like 'SHELL OIL%' group by all""",
    )
    assert found == ("SHELL OIL", True, True)


def test_transactions_of_cash_are_marked(database, quarter):
    lines, ledgers = aa.schemas.LineEntries.exact(quarter.lines).frame, quarter.ledgers
    of_cash = lines["ledger_id"].isin(ledgers.loc[ledgers["report_cash_flow"], "id"])
    own = lines["transaction_id"].notna()
    sums = dict(rows(database, "select is_cash, sum(transaction_amount) from dim_transaction group by all"))
    assert sums[True] == lines.loc[of_cash & own, "signed_amount"].sum()
    assert sums[False] == lines.loc[~of_cash & own, "signed_amount"].sum() != 0


def test_tags_are_bridged(database, quarter):
    assert rows(database, "select count(*) from dim_tag where tag_name is null or tag_group_id is null") == [(0,)]
    assert len(rows(database, "select distinct tag_name from dim_tag")) == 3
    carried = sum(len(text.split("|")) for text in quarter.lines["tag_ids"].dropna() if text)
    assert rows(database, "select count(*) from bridge_line_entry_tag") == [(carried,)]


def days(start_date, end_date, fiscal_year_start_month=1):
    exported = f"date '{start_date}' start_date, date '{end_date}' end_date, {fiscal_year_start_month} fiscal_start"
    with duckdb.connect() as database:
        database.execute(f"create schema source; create view source.export as select {exported}")
        rows = database.sql(query_of("dim_date")).to_arrow_table().to_pylist()
    return {row["date"]: row for row in rows}


def test_whole_years_are_listed():
    listed = days("2024-02-28", "2025-03-01")
    assert (min(listed), max(listed), len(listed)) == (dt.date(2024, 1, 1), dt.date(2025, 12, 31), 366 + 365)
    assert min(days("0001-02-01", "0001-02-02", 4)) == dt.date(1, 1, 1)
    assert max(days("9999-12-01", "9999-12-31", 4)) == dt.date(9999, 12, 31)


def test_days_have_iso_weeks_weekdays_and_english_names():
    day = days("2024-12-30", "2024-12-30")[dt.date(2024, 12, 30)]
    assert day == {
        "date": dt.date(2024, 12, 30),
        "year": 2024,
        "quarter": 4,
        "month_number": 12,
        "month_name": "December",
        "year_month": "2024-12",
        "day": 30,
        "weekday": 1,
        "weekday_name": "Monday",
        "iso_year": 2025,
        "iso_week": 1,
        "fiscal_year": 2024,
        "fiscal_quarter": 4,
        "fiscal_month": 12,
    }


@pytest.mark.parametrize(
    ("day", "fiscal"), [("2025-03-31", (2025, 4, 12)), ("2025-04-01", (2026, 1, 1)), ("2025-12-31", (2026, 3, 9))]
)
def test_fiscal_years_are_named_after_the_year_they_end_in(day, fiscal):
    listed = days(day, day, 4)
    row = listed[dt.date.fromisoformat(day)]
    assert (row["fiscal_year"], row["fiscal_quarter"], row["fiscal_month"]) == fiscal
    in_year = [one for one in listed.values() if one["fiscal_year"] == fiscal[0]]
    assert len(in_year) == 365 + (fiscal[0] == 2024)
    assert sum(one["year"] == 2025 for one in listed.values()) == 365
