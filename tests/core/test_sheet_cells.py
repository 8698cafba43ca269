"""Cells that a spreadsheet would compute or convert are guarded; amounts and dates are read where they are certain."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.core.sheet_cells import FORMULA_START, Invalid, guard, unguard
from accounting_analytics.core.sheet_reader import read_amount, read_instant

TEN = dt.datetime(2026, 1, 15, 10, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("-1.50", "-1.50"),
        ("-1,50", "-1.50"),
        ("-1,5", "-1.5"),
        ("-144", "-144"),
        ("1.234,50", "1234.50"),
        ("1,234.50", "1234.50"),
        ("-1 234 567,50", "-1234567.50"),
        ("1\N{NARROW NO-BREAK SPACE}234,50", "1234.50"),
        ("\N{MINUS SIGN}1,50", "-1.50"),
        ("1,234,567", "1234567"),
        ("1234,567", "1234.567"),
        ("0,123", "0.123"),
        (" -1.50 ", "-1.50"),
    ],
)
def test_certain_amounts(text, amount):
    """An amount whose decimal mark is certain is read with every digit, whatever separates the cells."""
    for separator in (",", ";", "\t", None):
        assert str(read_amount(text, separator)) == amount


def test_three_digits_after_one_mark():
    """A point before three digits is a decimal mark in files as this package writes them; else nothing shows it."""
    assert read_amount("1.234", ",") == read_amount("1.234", None) == Decimal("1.234")
    for text, separator in (("1.234", ";"), ("1,234", ","), ("1,234", ";"), ("1,234", None)):
        assert "may have a decimal mark or a mark of thousands" in read_amount(text, separator).reason


@pytest.mark.parametrize(
    "cell", ["four", "-1.2E+15", "1,23457E+11", "Apr 50", "#####", "1.50 EUR", "1.2.3", "", True, TEN, Decimal("1e40")]
)
def test_other_cells_are_not_amounts(cell):
    """What is not an amount, or lost its digits, is refused."""
    assert isinstance(read_amount(cell, None), Invalid)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-15T10:00:00+00:00",
        "2026-01-15T12:00:00+02:00",
        "2026-01-15 10:00:00",
        "2026-01-15 10:00",
        "1/15/2026 10:00",
        "15/01/2026 10:00:00",
        "15.01.2026 10:00",
        "15-01-2026 10:00",
        "2026/1/15 10:00",
        dt.datetime(2026, 1, 15, 9, 59, 59, 999_900),  # noqa: DTZ001 (as a workbook stores it)
    ],
)
def test_certain_dates(text):
    """The forms of spreadsheets mean one instant."""
    assert read_instant(text) == TEN


def test_the_order_of_day_and_month():
    """Between points the day is first; elsewhere a date is refused if both orders give a day."""
    assert read_instant("3.4.2026").month == read_instant("4/4/2026").month == 4
    assert read_instant("15.01.2026") == dt.datetime(2026, 1, 15, tzinfo=dt.UTC)
    assert "does not show which number is the day and which the month" in read_instant("3/4/2026").reason


@pytest.mark.parametrize(
    "cell",
    ["", "31.02.2026", "13/13/2026", "26-01-15 10:00", "1/15/2026 10:60", "1/15/2026 1:00 PM", "1/15/26 10:00",
     "46037.41667", "15. Jan", "###", True, Decimal("46037.4166666667"), Decimal(20260115)],
)  # fmt: skip
def test_other_cells_are_not_dates(cell):
    """What is not a date, or not a certain one, is refused."""
    assert isinstance(read_instant(cell), Invalid)


@pytest.mark.parametrize(
    "cell",
    [
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
        dt.datetime(9999, 12, 31, 23, 59, 59, 999_900),  # noqa: DTZ001 (as a workbook stores it)
    ],
)
def test_the_first_and_the_last_years_are_refused(cell):
    """The days before and after an instant, and its day in UTC, must be in the calendar."""
    assert "is not in the years 1000 to 9998" in read_instant(cell).reason


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-x", "@a", "'", "00123", "1e5", "3-4", "12:30", "MAR1", "1-Mar", "2 May 2026", "TRUE", "5 pm"],
)
def test_converted_text_gets_an_apostrophe(text):
    """A formula, a number, a date and a boolean are marked as text."""
    assert guard(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "txn_12", "blue-bottle-245706", "march of dimes", "Expenses:Meals", "Marketing", "May"]
)
def test_other_text_is_unchanged(text):
    """Names and ids stay as they are."""
    assert guard(text) == text


@pytest.mark.parametrize("character", FORMULA_START)
def test_formulas_get_an_apostrophe(character):
    """Each character by which a spreadsheet recognizes a formula, also the wide ones of East Asian text."""
    assert guard(f"{character}1+1") == f"'{character}1+1"


@given(text=st.text(max_size=20))
def test_any_text_is_read_back(text):
    """Reading removes exactly what was added."""
    assert unguard(guard(text)) == text
