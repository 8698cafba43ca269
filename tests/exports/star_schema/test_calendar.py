"""The dimension of days: whole years, ISO weeks, fiscal years."""

import datetime as dt

import duckdb
import pytest

from accounting_analytics.exports.star_schema import query_of


def days(start_date, end_date, fiscal_year_start_month=1):
    """Return the rows by day."""
    exported = f"date '{start_date}' start_date, date '{end_date}' end_date, {fiscal_year_start_month} fiscal_start"
    with duckdb.connect() as database:
        database.execute(f"create schema source; create view source.export as select {exported}")
        rows = database.sql(query_of("dim_date")).to_arrow_table().to_pylist()
    return {row["date"]: row for row in rows}


def test_whole_years_are_listed():
    """The calendar years of the period are complete, leap days included."""
    listed = days("2024-02-28", "2025-03-01")
    assert (min(listed), max(listed), len(listed)) == (dt.date(2024, 1, 1), dt.date(2025, 12, 31), 366 + 365)


def test_fields_of_a_day():
    """ISO weeks may belong to another year; weekday 1 is Monday; names are English."""
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
    """A fiscal year from April is complete too: calendar and fiscal years are both whole."""
    listed = days(day, day, 4)
    row = listed[dt.date.fromisoformat(day)]
    assert (row["fiscal_year"], row["fiscal_quarter"], row["fiscal_month"]) == fiscal
    in_year = [one for one in listed.values() if one["fiscal_year"] == fiscal[0]]
    assert len(in_year) == 365 + (fiscal[0] == 2024)
    assert sum(one["year"] == 2025 for one in listed.values()) == 365


def test_first_and_last_years_of_the_calendar():
    """Years before 1 and after 9999 do not exist, so their days are left out."""
    assert min(days("0001-02-01", "0001-02-02", 4)) == dt.date(1, 1, 1)
    assert max(days("9999-12-01", "9999-12-31", 4)) == dt.date(9999, 12, 31)
