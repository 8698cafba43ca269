"""The workbook and the CSV file of a statement: exact values, formulas that give them, links to their entries."""

import csv
import re
import sys
from decimal import ROUND_HALF_UP, Decimal

import openpyxl
import pytest
from long_cases import also_long
from openpyxl.utils import range_boundaries

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.reports.statements import statement_files

START = "2025-01-01"
COMPARED = ["prior_year", "change", "change_pct", "share", "total", "average"]
STATEMENTS = {
    "income": lambda lines, ledgers: aa.income_statement(
        aa.Books(lines, ledgers, currency="USD", company="=A1"),
        ("2026-01-01", "2026-05-31"),
        columns="quarter",
        compare=COMPARED,
    ),
    "changes alone": lambda lines, ledgers: aa.income_statement(
        aa.Books(lines, ledgers), ("2026-02-01", "2026-05-31"), compare=["change", "change_pct"]
    ),
    "not loaded": lambda lines, ledgers: aa.income_statement(
        aa.Books(lines, ledgers),
        ("2025-01-01", "2025-02-28"),
        compare=["prior", "change", "change_pct", "total", "average"],
    ),
    "cash flow": lambda lines, ledgers: aa.cash_flow_statement(
        aa.Books(lines, ledgers, opening=START), ("2026-02-01", "2026-05-31"), compare=["share", "total"]
    ),
    "balance sheet": lambda lines, ledgers: aa.balance_sheet(
        aa.Books(lines, ledgers, opening=START),
        ("2025-11-01", "2026-02-28"),
        depth=2,
        compare=["prior", "change", "share"],
    ),
    "trial balance": lambda lines, ledgers: aa.trial_balance(
        aa.Books(lines, ledgers, opening=START), ("2026-01-01", "2026-05-31"), columns="quarter"
    ),
}

SHORT = ["income", "not loaded", "balance sheet"]


class Sheet:
    """The first sheet of a workbook: what its cells store, and what its formulas give, as a spreadsheet calculates."""

    def __init__(self, path, statement):
        self.book, stored = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
        self.formulas, self.stored = self.book.worksheets[0], stored.worksheets[0]
        self.entries = list(stored["Entries"].iter_rows(values_only=True)) if "Entries" in stored.sheetnames else []
        first = next(cell.row for cell in self.stored["B"] if cell.value == statement.columns[0].label) + 1
        self.places = {
            (row.key, column.key): (first + number, 2 + place)
            for number, row in enumerate(statement.rows)
            if row.kind != "heading"
            for place, column in enumerate(statement.columns)
        }

    def calculate(self, row, column):
        """Value of a cell, calculated from the formulas alone."""
        value = self.formulas.cell(row, column).value
        if not str(value).startswith("="):
            return value
        text = re.sub(r"([A-Z]+\d+):([A-Z]+\d+)", r"*cells('\1:\2')", value[1:])
        text = re.sub(r"(?<![':A-Z])([A-Z]+\d+)(?![\d:'(])", r"(*cells('\1'),)[0]", text)
        functions = {"SUM": excel_sum, "ROUND": excel_round, "cells": self.cells}
        return eval(text, functions)  # noqa: S307 (our own formulas)

    def cells(self, name):
        """Values of the cells of a range."""
        left, top, right, bottom = range_boundaries(name)
        return [self.calculate(row, column) for row in range(top, bottom + 1) for column in range(left, right + 1)]


def numbers(values):
    """Leave out text, as functions of spreadsheets do in ranges."""
    return [value for value in values if not isinstance(value, str)]


def excel_sum(*values):
    return sum(numbers(values))


def excel_round(value, digits):
    """Round half away from zero, the 15 digits that a spreadsheet calculates with."""
    return float(Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


@pytest.fixture(scope="module", params=[*SHORT, *also_long(*sorted(STATEMENTS.keys() - set(SHORT)))])
def statement(request, demo_lines, ledgers):
    return STATEMENTS[request.param](demo_lines, ledgers)


@pytest.fixture(scope="module")
def sheet(statement, tmp_path_factory):
    path = tmp_path_factory.mktemp("workbook") / "statement.xlsx"
    statement.to_excel(path)
    return Sheet(path, statement)


def test_cells_and_their_formulas_have_the_amounts_of_the_statement(statement, sheet):
    kinds = {column.key: column.kind for column in statement.columns}
    rows = {row.key: row for row in statement.rows}
    calculated = set()
    for (row, column), place in sheet.places.items():
        value = statement.value(row, column)
        percent = kinds[column] in {"change_pct", "share"} or rows[row].kind == "percent"
        text = statement.text(row, column) or None
        expected = text if value is None else float(value.scaleb(-2) if percent else value)
        assert sheet.stored.cell(*place).value == expected, (row, column)
        assert sheet.calculate(*place) == expected, (row, column, sheet.formulas.cell(*place).value)
        if str(sheet.formulas.cell(*place).value).startswith("="):
            calculated.add((row, column))
    shown = {cell for cell in sheet.places if statement.text(*cell)}
    are_sums = {key for key, row in rows.items() if row.kind != "percent" and (row.children or row.terms)}
    sums = {(row, column) for row, column in shown if row in are_sums}
    known = {cell for cell in sums if statement.value(*cell) is not None}
    assert {cell for cell in known if kinds[cell[1]] in {"period", "prior", "prior_year", "change"}} <= calculated
    assert not {kinds[column] for _, column in calculated} & {"change_pct", "share", "average"}


def test_each_figure_is_linked_to_entries_that_sum_to_it(statement, sheet):
    rows = {row.key: row for row in statement.rows}
    kinds = {column.key: column.kind for column in statement.columns}
    sums = []
    for (row, column), place in sheet.places.items():
        link = sheet.formulas.cell(*place).hyperlink
        is_leaf = not rows[row].children and not rows[row].terms and kinds[column] in {"period", "prior", "prior_year"}
        if row in {"cash_in_accounts", "cash_owed"}:  # their entries are those of the cash at the end
            assert link is None
            continue
        if is_leaf and statement.value(row, column):
            _, top, _, bottom = range_boundaries(link.location.partition("!")[2])
            found = sum(Decimal(str(entry[4])) for entry in sheet.entries[top - 1 : bottom])
            assert found == statement.value(row, column)
            sums.append(found)
            assert link.tooltip == "Go to its entries"
        elif kinds[column] in {"change_pct", "share"}:
            assert link is None
        elif rows[row].children and statement.value(row, column) and kinds[column] == "period":
            assert link.tooltip == "Go to the first entry of the figures it is made of"
    assert sums
    keys = [(entry[5], entry[4]) for entry in sheet.entries]
    assert len(keys) == len(set(keys))


def test_texts_of_the_books_are_never_formulas(demo_lines, ledgers, tmp_path):
    renamed = ledgers.assign(name=ledgers["name"].where(ledgers["id"] != "led_rent", '=HYPERLINK("http://x")'))
    marked = demo_lines.assign(journal_entry_description="=1+1")
    statement = aa.income_statement(aa.Books(marked, renamed, company="=A1"), ("2026-03-01", "2026-03-31"))
    statement.to_excel(tmp_path / "statement.xlsx")
    statement.to_csv(tmp_path / "statement.csv")
    book = openpyxl.load_workbook(tmp_path / "statement.xlsx")
    texts = {
        cell.value: cell.data_type for cell in (*book.worksheets[0]["A"], *book["Entries"]["B"], *book["Entries"]["C"])
    }
    assert {texts[text] for text in ("=A1", '=HYPERLINK("http://x")', "=1+1")} == {"s"}
    with (tmp_path / "statement.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["key"]: row for row in csv.DictReader(file)}
    assert rows["led_rent"] == {
        "label": '\'=HYPERLINK("http://x")',
        "key": "led_rent",
        "level": "2",
        "kind": "ledger",
        "2026-03": "7900.00",
    }


@pytest.mark.parametrize("name", ["3/4", "0012", "1e5", "TRUE", "1-Mar"])
def test_names_that_a_spreadsheet_would_convert_are_guarded(name, demo_lines, ledgers, tmp_path):
    renamed = ledgers.assign(name=ledgers["name"].where(ledgers["id"] != "led_rent", name))
    aa.income_statement(aa.Books(demo_lines, renamed), ("2026-03-01", "2026-03-31")).to_csv(tmp_path / "statement.csv")
    with (tmp_path / "statement.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["key"]: row["label"] for row in csv.DictReader(file)}
    assert rows["led_rent"] == f"'{name}"


def test_sheet_is_read_and_printed_as_a_statement(demo_lines, ledgers, tmp_path):
    statement = STATEMENTS["income"](demo_lines, ledgers)
    statement.to_excel(tmp_path / "statement.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "statement.xlsx").worksheets[0]
    assert [sheet.cell(row, 1).value for row in (1, 2)] == ["=A1", "Income statement"]
    assert "USD" in sheet.cell(3, 1).value
    labels = {cell.value: cell for cell in sheet["A"]}
    assert labels["Rent"].alignment.indent > labels["Total operating expenses"].alignment.indent == 0
    total = sheet.cell(labels["Net income"].row, 2)
    assert (total.font.bold, total.border.top.style, total.border.bottom.style) == (True, "thin", "double")
    assert total.number_format.split(";")[:3] == ["#,##0.00_)", "(#,##0.00)", '"\N{EN DASH}"_)']
    assert sheet.freeze_panes == "B6"
    assert (sheet.print_title_rows, sheet.page_setup.fitToHeight) == ("$1:$5", 0)


@pytest.mark.parametrize("unit", [None, "M"])
def test_amounts_that_excel_would_change_are_text(demo_lines, ledgers, tmp_path, unit):
    exact = aa.schemas.LineEntries.exact(demo_lines).frame
    entry = exact.loc[exact["ledger_id"] == "led_rent", "journal_entry_id"].iloc[-1]
    amounts = exact["amount"].mask(exact["journal_entry_id"] == entry, Decimal("12345678909134.00"))
    signed = amounts.where(exact["debit_credit"] == "debit", -amounts)
    edited = exact.assign(signed_amount=signed, amount=amounts)
    edited.attrs.pop("load")
    books = aa.Books(edited, ledgers, "2026-05", time_zone="America/New_York")
    statement = aa.income_statement(books, amounts_in=unit)
    statement.to_excel(tmp_path / "statement.xlsx")
    sheet = Sheet(tmp_path / "statement.xlsx", statement)
    for row in ("led_rent", "net_income"):
        cell = sheet.formulas.cell(*sheet.places[row, "2026-05"])
        assert cell.value == f"{statement.value(row, '2026-05'):,f}"
    (note,) = (str(cell.value) for cell in sheet.stored["A"] if "more than 15 digits" in str(cell.value))
    assert note.endswith("These are in full, with all their digits.") == (unit is not None)
    assert "12,345,678,909,134.00" in {entry[4] for entry in sheet.entries}


def test_what_cannot_be_written_is_refused(demo_lines, ledgers, tmp_path, monkeypatch):
    statement = STATEMENTS["trial balance"](demo_lines, ledgers)
    file = tmp_path / "statement.xlsx"
    file.write_text("before")
    with pytest.raises(InputError, match=r"ends in \.xlsx"):
        statement.to_excel(tmp_path / "statement.xls")
    with pytest.raises(InputError, match="cannot be written"):
        statement.to_csv(tmp_path / "absent" / "statement.csv")
    monkeypatch.setattr(statement_files, "MAX_ROWS", 100)
    with pytest.raises(InputError, match="has 100; make the statement of fewer days"):
        statement.to_excel(file)
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(InputError, match=r"accounting-analytics\[excel\]"):
        statement.to_excel(file)
    assert file.read_text() == "before"


def test_lines_between_the_columns_take_no_rows(demo_lines, ledgers, tmp_path, monkeypatch):
    statement = aa.income_statement(
        aa.Books(demo_lines, ledgers, time_zone="America/New_York"), columns=["2025-02", "2026-05"]
    )
    statement.to_excel(tmp_path / "statement.xlsx")
    rows = openpyxl.load_workbook(tmp_path / "statement.xlsx")["Entries"].max_row
    monkeypatch.setattr(statement_files, "MAX_ROWS", rows)
    statement.to_excel(tmp_path / "again.xlsx")
    assert openpyxl.load_workbook(tmp_path / "again.xlsx")["Entries"].max_row == rows


def test_a_report_without_lines_has_no_entries(demo_lines, ledgers, tmp_path):
    report = aa.recompute_cash_flow(aa.Books(demo_lines, ledgers), ("2026-05-01", "2026-05-31"), lines=False)
    aa.cash_flow_statement(report, ledgers=ledgers).to_excel(tmp_path / "statement.xlsx")
    book = openpyxl.load_workbook(tmp_path / "statement.xlsx")
    assert len(book.sheetnames) == 1
    assert any("lines=False" in str(cell.value) for cell in book.worksheets[0]["A"])
