"""A figure in Excel: what it is made of, and its entries with the days of the books."""

from decimal import Decimal

import openpyxl
import pandas as pd
import pytest

import accounting_analytics as aa


@pytest.fixture
def rows(tmp_path):
    """Return a function that writes a figure and reads a sheet of its workbook, row by row."""

    def read(figure, sheet):
        path = tmp_path / "figure.xlsx"
        figure.to_excel(path)
        workbook = openpyxl.load_workbook(path)
        heads, *rows = workbook[sheet].iter_rows(values_only=True) if sheet in workbook.sheetnames else [()]
        return [dict(zip(heads, row, strict=True)) for row in rows]

    return read


def test_entries_have_the_days_of_the_books(rows, demo_company):
    statement = aa.income_statement(aa.load_books(demo_company.client, "2026-05", progress=False))
    rent = statement["Rent", "2026-05"]
    (entry,) = rows(rent, "Entries")
    assert (entry["date"], entry["amount"], entry["ledger"]) == (pd.Timestamp("2026-05-01"), 7900, "Rent")
    assert [row["figure"] for row in rows(rent, "Figure")] == ["Rent, May 2026"]


def test_a_figure_of_others_has_the_signed_entries_of_all(rows, demo_company):
    statement = aa.income_statement(aa.load_books(demo_company.client, "2026-05", progress=False))
    income = statement["net_income", "2026-05"]
    entries = rows(income, "Entries")
    assert sum(Decimal(str(entry["amount"])) for entry in entries) == income.exact()
    parts = {row["figure"]: row["sign"] for row in rows(income, "Figure")}
    assert parts["Total cost of goods sold, May 2026"] == "-"
    margin = rows(statement["gross_margin", "2026-05"], "Figure")
    assert margin[0]["amount"] == statement["gross_margin", "2026-05"].text


def test_what_cannot_be_written_is_refused(tmp_path, demo_company):
    statement = aa.income_statement(aa.load_books(demo_company.client, "2026-05", progress=False))
    with pytest.raises(aa.errors.InputError, match=r"a workbook needs a name that ends in \.xlsx; nothing was written"):
        statement["Rent", "2026-05"].to_excel(tmp_path / "rent.csv")
    assert not list(tmp_path.iterdir())
