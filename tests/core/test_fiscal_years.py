"""Periods in words of a fiscal year: its years, halves and quarters, relative names, and what has two readings."""

import datetime as dt
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.errors import PeriodError
from accounting_analytics.core.fiscal_years import name_unit, parse_period

AS_OF = "2025-09-15"
MONTHS = st.integers(1, 12)
WITHIN = st.integers(2, 12)
YEARS = st.integers(1990, 2040)


def days_of(text, first_month):
    """First and last day of a word."""
    period = parse_period(text, first_month, as_of=AS_OF)
    return str(period.start_date), str(period.end_date)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2024/25", "2024-07-01", "2025-06-30"),
        ("2024/25-Q1", "2024-07-01", "2024-09-30"),
        ("2024/25-Q3", "2025-01-01", "2025-03-31"),
        ("Q3 2024/25", "2025-01-01", "2025-03-31"),
        ("2024/25 h2", "2025-01-01", "2025-06-30"),
        ("1999/00", "1999-07-01", "2000-06-30"),
        ("this-year", "2025-07-01", "2026-06-30"),
        ("last-year", "2024-07-01", "2025-06-30"),
        ("ytd", "2025-07-01", "2025-09-15"),
        ("YTD", "2025-07-01", "2025-09-15"),
        ("last-quarter", "2025-04-01", "2025-06-30"),
        ("last-month", "2025-08-01", "2025-08-31"),
        ("2025-03", "2025-03-01", "2025-03-31"),
        ("March 2025", "2025-03-01", "2025-03-31"),
        ("2025-01/2025-03", "2025-01-01", "2025-03-31"),
        ("2025-01-15/2025-02-14", "2025-01-15", "2025-02-14"),
        (" 2025-03-15 ", "2025-03-15", "2025-03-15"),
    ],
)
def test_words_of_a_fiscal_year_from_july(text, first, last):
    """Units and relative names are of the fiscal year; months, days and ranges are the same in any."""
    assert days_of(text, 7) == (first, last)


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        (
            "2025",
            "2025-01/2025-12 (Jan 2025 to Dec 2025), or of the fiscal year, 2024/25 (Jul 2024 to Jun 2025) or 2025/26",
        ),
        (
            "2025-H1",
            "2025-01/2025-06 (Jan 2025 to Jun 2025), or of the fiscal year, 2024/25-H1 (Jul 2024 to Dec 2024) or",
        ),
        (
            "2025-Q1",
            "2025-01/2025-03 (Jan 2025 to Mar 2025), or of the fiscal year, 2024/25-Q1 (Jul 2024 to Sep 2024) or",
        ),
        (
            "Q1 2025",
            "2025-01/2025-03 (Jan 2025 to Mar 2025), or of the fiscal year, 2024/25-Q1 (Jul 2024 to Sep 2024) or",
        ),
        (
            "2025q4",
            "2025-10/2025-12 (Oct 2025 to Dec 2025), or of the fiscal year, 2024/25-Q4 (Apr 2025 to Jun 2025) or",
        ),
        (
            "2024/2025",
            "'2024' has two readings, because the fiscal year begins in Jul: of the calendar, 2024-01/2024-12",
        ),
        ("2025-01/2025-Q2", "'2025-Q2' has two readings"),
    ],
)
def test_words_with_two_readings_are_refused_with_both(text, readings):
    """Each reading is written in a form that is accepted."""
    with pytest.raises(PeriodError) as refused:
        parse_period(text, 7)
    assert readings in str(refused.value)
    assert parse_period(text, 1)


@given(YEARS, st.sampled_from(["", "H1", "H2", "Q1", "Q2", "Q3", "Q4"]), WITHIN)
def test_each_named_reading_is_accepted(year, part, first_month):
    """What the refusal says to write is a period, and its three readings are of other days."""
    with pytest.raises(PeriodError) as refused:
        parse_period(f"{year}-{part}" if part else f"{year}", first_month)
    message = str(refused.value).partition(": of the calendar, ")[2].removesuffix("; write one of these")
    words = [one.split(" (")[0] for one in message.replace(", or of the fiscal year,", " or").split(" or ")]
    assert len({parse_period(word, first_month) for word in words}) == 3


@given(YEARS, st.sampled_from([("", 12), ("-H", 6), ("-Q", 3)]), MONTHS)
def test_units_tile_the_fiscal_year(year, part, first_month):
    """Halves and quarters adjoin, and are the whole year; whole years and quarters are called as they are asked for."""
    (suffix, months), name = part, f"{year}/{(year + 1) % 100:02}" if first_month > 1 else f"{year}"
    words = [f"{name}{suffix}{number}" for number in range(1, 12 // months + 1)] if suffix else [name]
    found = [parse_period(word, first_month) for word in words]
    assert found[0].start_date == dt.date(year, first_month, 1)
    assert found[-1].end_date == (pd.Timestamp(found[0].start_date) + pd.DateOffset(years=1, days=-1)).date()
    for one, following in pairwise(found):
        assert following.start_date == one.end_date + dt.timedelta(days=1)
    for word, one in zip(words, found, strict=True):
        assert suffix == "-H" or name_unit(one, first_month).key == word


@given(st.dates(dt.date(1990, 1, 1), dt.date(2040, 1, 1)), st.sampled_from(["month", "quarter", "year"]), MONTHS)
def test_relative_units_are_those_of_pandas(day, unit, first_month):
    """A second calculation of the quarters and years that begin in a month."""
    frequency = {"month": "M", "quarter": "Q", "year": "Y"}[unit]
    if unit != "month":
        frequency += (
            "-" + ["DEC", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV"][first_month - 1]
        )
    this = pd.Timestamp(day).to_period(frequency)
    for name, expected in (("this", this), ("last", this - 1)):
        found = parse_period(f"{name}-{unit}", first_month, as_of=day)
        assert (found.start_date, found.end_date) == (expected.start_time.date(), expected.end_time.date())
    to_date = parse_period(f"{unit}-to-date", first_month, as_of=day)
    assert (to_date.start_date, to_date.end_date) == (this.start_time.date(), day)


@pytest.mark.parametrize(
    ("text", "first_month", "message"),
    [
        ("2024/25", 1, "but this one begins in January: write 2024, or set fiscal_year_start_month"),
        ("2024/26", 7, "the one that begins in 2024 is 2024/25$"),
        ("2024/12", 1, "a month is written 2024-12$"),
        ("2024/25-Q5", 7, "'2024/25-Q5' is not a period; write it like"),
        ("2024/25-H3", 7, "a year has H1, H2 and Q1 to Q4"),
        ("H3 2025", 7, "'H3 2025' is not a period; write it like"),
        ("06/2026", 7, "did you mean '2026-06'"),
        ("Q2 26", 1, "did you mean 'Q2 2026'"),
    ],
)
def test_words_that_are_no_fiscal_period(text, first_month, message):
    """Each says what to write instead."""
    with pytest.raises(PeriodError, match=message):
        parse_period(text, first_month)


def test_columns_of_statements(demo_company):
    """Headings and keys of a fiscal year say which; a column of a list is read, and called, in its words."""
    client, days = demo_company.client, ("2025-01-01", "2025-06-30")
    ledgers = aa.discover_ledgers(client, *days)
    lines = aa.load_line_entries(client, ledgers["id"], *days)
    fiscal = {"fiscal_year_start_month": 7}
    by_unit = aa.income_statement(lines, ledgers, *days, columns="quarter", **fiscal)
    listed = aa.income_statement(lines, ledgers, columns=["2024/25-Q3", "2024/25-Q4"], **fiscal)
    for statement in (by_unit, listed):
        assert [one.key for one in statement.columns] == ["2024/25-Q3", "2024/25-Q4"]
        assert [one.label for one in statement.columns] == ["Q3 2024/25", "Q4 2024/25"]
    assert listed["Net income", "2024/25-Q3"].exact() == by_unit["Net income", "2024/25-Q3"].exact()
    with pytest.raises(PeriodError, match="'2025-Q1' has two readings"):
        aa.income_statement(lines, ledgers, columns=["2025-Q1"], **fiscal)
