"""Edited files: cells are guarded, amounts and dates are read where they are certain, problems are named with rows."""

import datetime as dt
from decimal import Decimal

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.core.edited_files import (
    FORMULA_START,
    Column,
    Invalid,
    Kind,
    guard,
    read_amount,
    read_instant,
    read_table,
    unguard,
)
from accounting_analytics.core.errors import InputError, PlanError

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
@pytest.mark.parametrize("separator", [",", ";", "\t", None])
def test_certain_amounts_are_read_with_every_digit(text, amount, separator):
    assert str(read_amount(text, separator)) == amount


def test_three_digits_after_one_mark():
    """A point before three digits is a decimal mark in files as this package writes them; else nothing shows it."""
    assert read_amount("1.234", ",") == read_amount("1.234", None) == Decimal("1.234")


@pytest.mark.parametrize(("text", "separator"), [("1.234", ";"), ("1,234", ","), ("1,234", ";"), ("1,234", None)])
def test_three_digits_after_other_marks_have_two_readings(text, separator):
    assert "may have a decimal mark or a mark of thousands" in read_amount(text, separator).reason


@pytest.mark.parametrize(
    "cell", ["four", "-1.2E+15", "1,23457E+11", "Apr 50", "#####", "1.50 EUR", "1.2.3", "", True, TEN, Decimal("1e40")]
)
def test_other_cells_are_not_amounts(cell):
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
def test_forms_of_spreadsheets_mean_one_instant(text):
    assert read_instant(text) == TEN


def test_day_is_first_between_points_else_ambiguity_is_refused():
    assert read_instant("3.4.2026").month == read_instant("4/4/2026").month == 4
    assert read_instant("15.01.2026") == dt.datetime(2026, 1, 15, tzinfo=dt.UTC)
    assert "does not show which number is the day and which the month" in read_instant("3/4/2026").reason


@pytest.mark.parametrize(
    "cell",
    ["", "31.02.2026", "13/13/2026", "26-01-15 10:00", "1/15/2026 10:60", "1/15/2026 1:00 PM", "1/15/26 10:00",
     "46037.41667", "15. Jan", "###", True, Decimal("46037.4166666667"), Decimal(20260115)],
)  # fmt: skip
def test_other_cells_are_not_dates(cell):
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
    assert guard(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "txn_12", "blue-bottle-82e039", "march of dimes", "Expenses:Meals", "Marketing", "May"]
)
def test_other_text_is_unchanged(text):
    assert guard(text) == text


@pytest.mark.parametrize("character", FORMULA_START)
def test_formulas_get_an_apostrophe(character):
    assert guard(f"{character}1+1") == f"'{character}1+1"


@given(text=st.text(max_size=20))
def test_any_text_is_read_back(text):
    assert unguard(guard(text)) == text


COLUMNS = (
    Column("id", Kind.ID),
    Column("text", may_be_empty=True, may_be_absent=True),
    Column("amount", Kind.AMOUNT, may_be_empty=True),
    Column("time", Kind.INSTANT, may_be_empty=True, may_be_absent=True),
)
NOON = dt.datetime(2025, 3, 10, 12, tzinfo=dt.UTC)


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a CSV file and reads it."""

    def run(text, *, columns=COLUMNS, encoding="utf-8", deciding=None):
        file = tmp_path / "table.csv"
        file.write_bytes(text.encode(encoding))
        return read_table(file, columns, what="a table", deciding=deciding)

    return run


def test_columns_are_found_in_any_order_and_spelling(read):
    table = read("note;AMOUNT; id ;time\nmine;-1.234,50;'00123;10.03.2025 12:00\n;;;\n;2;x;\n", encoding="utf-16")
    assert list(table.rows()) == [
        (2, {"id": "00123", "text": "", "amount": Decimal("-1234.50"), "time": NOON}),
        (4, {"id": "x", "text": "", "amount": Decimal(2), "time": None}),
    ]
    table.problems.refuse()
    assert (table.others, table.separator) == (("note",), ";")


def test_workbook_cells_are_values_and_hidden_rows_stay(tmp_path):
    workbook = openpyxl.Workbook()
    for row in (["id", "text", "amount", "time"], ["a", 7, 1.5, NOON.replace(tzinfo=None)], [123, True, None, None]):
        workbook.active.append(row)
    workbook.save(tmp_path / "table.xlsx")
    table = read_table(tmp_path / "table.xlsx", COLUMNS, what="a table")
    first, second = (row for _, row in table.rows())
    assert first == {"id": "a", "text": "7", "amount": Decimal("1.5"), "time": NOON}
    assert (second["text"], second["amount"]) == ("TRUE", None)
    with pytest.raises(InputError, match=r"table\.xlsx, row 3: id: a spreadsheet changed the id to '123'"):
        table.problems.refuse()


def test_a_formula_without_a_result_is_refused(tmp_path):
    """A program that is no spreadsheet stores no result: the cell is named, and not taken for an empty one."""
    workbook = openpyxl.Workbook()
    for row in (["id", "text", "amount"], ["a", "x", 1], ["b", "=B2", 2]):
        workbook.active.append(row)
    workbook.save(tmp_path / "table.xlsx")
    with pytest.raises(InputError, match=r"table\.xlsx, cell B3: a formula without a result; open the file in a"):
        read_table(tmp_path / "table.xlsx", COLUMNS, what="a table")


def test_problems_are_in_row_order_and_joined(read):
    table = read("id,amount\na,x\n,1\nTRUE,\n,2\n,3\n,4\n")
    table.problems.add("this is not a pair", 2)
    with pytest.raises(PlanError) as caught:
        table.problems.refuse(PlanError, effect="nothing was sent")
    head, *problems = str(caught.value).splitlines()
    assert head.endswith("table.csv cannot be used, and nothing was sent; correct these 4 problems:")
    assert problems == [
        "row 2: amount: 'x' is not an amount; write it like 1234.50, or clear the cell",
        "row 2: this is not a pair",
        "rows 3, 5, 6 and 1 more: id: the cell is empty",
        (
            "row 4: id: a spreadsheet changed the id to 'TRUE', and characters of it may be lost; make the file "
            "again, as .xlsx, and keep this column as it is"
        ),
    ]
    with pytest.raises(PlanError, match=r"table\.csv, row 2: id: the cell is empty; nothing was sent$"):
        read("id,amount\n,1\n").problems.refuse(PlanError, effect="nothing was sent")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table.csv is not a table: its first row is empty"),
        ("id,other\n", "is not a table: the first row lacks amount; it has 1 other column, first 'other'"),
        ("id|amount\n1|2\n", "all columns are in one: a spreadsheet did not split them"),
        ("id,amount,ID\n", "a column appears twice: id"),
        ("id,amount\na,1,50\nb,2,10\n", "table.csv, rows 2, 3: more cells than the 2 columns; put an amount"),
        ("id,amount\na,1\nb\n", "table.csv, row 3: fewer cells than the 2 columns; the row was cut"),
    ],
)
def test_other_files_are_refused(read, text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert message in str(caught.value)


def test_rows_without_a_decision_are_left_out(read):
    table = read('id,amount,text\na,1234,yes\n5,###, \nb,"1,50",\n', deciding="text")
    assert list(table.rows()) == [(2, {"id": "a", "text": "yes", "amount": Decimal(1234), "time": None})]
    table.problems.refuse()
