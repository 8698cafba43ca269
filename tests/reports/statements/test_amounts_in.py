"""Statements in thousands and millions: what is shown is rounded, and what is behind it stays exact."""

import json
import re
from decimal import Decimal
from html import unescape

import openpyxl
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError

FACTOR = {"k": Decimal(1_000), "M": Decimal(1_000_000)}
LAST_DIGIT = {"k": Decimal("0.1"), "M": Decimal("0.01")}
NAME = {"k": "thousands", "M": "millions"}
UNITS = pytest.mark.parametrize("unit", ["k", "M"])
MAKERS = {
    "income": (aa.income_statement, {"compare": ["prior_year", "change", "change_pct", "share", "total", "average"]}),
    "cash flow": (aa.cash_flow_statement, {"compare": ["prior", "change"]}),
    "balance sheet": (aa.balance_sheet, {"compare": ["prior_year", "change"]}),
    "trial balance": (aa.trial_balance, {}),
}


def read(text):
    """Return a shown amount as a Decimal, in the unit that it is shown in."""
    size = Decimal(re.fullmatch(r"\(?([0-9]{1,3}(?:,[0-9]{3})*\.[0-9]+)\)?", text)[1].replace(",", ""))
    return -size if text.startswith("(") else size


def figure(units, scale):
    return aa.Figure("row|column", "a figure", units, "given", scale=scale)


@UNITS
@given(units=st.integers(-(10**24), 10**24), scale=st.integers(0, 10))
@example(units=1_235_000, scale=2)
@example(units=1_245_000, scale=2)
@example(units=-1, scale=10)
def test_the_shown_amount_is_the_exact_one_to_its_last_digit(unit, units, scale):
    one = figure(units, scale)
    exact, text = one.exact(), one.text_in(unit)
    assert one.exact() == Decimal(units).scaleb(-scale)
    assert one.text == one.text_in(None) == figure(units, scale).text
    if not units:
        assert text == "\N{EN DASH}"
        return
    shown, last = read(text), LAST_DIGIT[unit]
    assert -shown.as_tuple().exponent == -last.as_tuple().exponent
    off = abs(shown * FACTOR[unit] - exact)
    assert off <= last * FACTOR[unit] / 2
    assert off < last * FACTOR[unit] / 2 or int(shown / last) % 2 == 0
    assert (text[0] == "(") == (units < 0)


@UNITS
@pytest.mark.parametrize("name", MAKERS)
def test_only_what_is_shown_changes(unit, name, demo_lines, ledgers, tmp_path):
    make, options = MAKERS[name]
    books = aa.Books(demo_lines, ledgers, ("2026-03-01", "2026-04-30"), opening="2025-01-01", currency="USD")
    plain, shown = make(books, **options), make(books, **options, amounts_in=unit)
    assert (plain.amounts_in, shown.amounts_in) == (None, unit)
    for row in shown.rows:
        for column in shown.columns:
            text, exact = shown.text(row.key, column.key), plain.text(row.key, column.key)
            is_amount = re.fullmatch(r"\(?[0-9.,]+\)?", exact)
            assert text == (shown.figures.figure(row.key, column.key).text_in(unit) if is_amount else exact)
            if is_amount:
                half = LAST_DIGIT[unit] * FACTOR[unit] / 2
                assert abs(read(text) * FACTOR[unit] - shown.value(row.key, column.key)) <= half
    place = next(row.key for row in shown.rows if row.kind == "ledger"), shown.columns[0].key
    assert shown[place] == plain[place]
    pd.testing.assert_frame_equal(shown[place].entries, plain[place].entries)
    pd.testing.assert_frame_equal(shown.frame, plain.frame)
    pd.testing.assert_frame_equal(shown.tidy(), plain.tidy())
    assert json.loads(shown.to_json()) == json.loads(plain.to_json())
    for one in (plain, shown):
        one.to_csv(tmp_path / f"{one.amounts_in}.csv")
    assert (tmp_path / "None.csv").read_bytes() == (tmp_path / f"{unit}.csv").read_bytes()


@UNITS
@pytest.mark.parametrize("currency", ["USD", None])
def test_a_statement_says_its_unit(unit, currency, demo_lines, ledgers):
    books = aa.Books(demo_lines, ledgers, "2026-03", currency=currency)
    statement = aa.income_statement(books, amounts_in=unit)
    label = f"{currency} {NAME[unit]}" if currency else f"amounts in {NAME[unit]}"
    note = f"Amounts in {NAME[unit]}; totals are rounded by themselves."
    assert statement.subtitle().endswith(f", {label}")
    assert label in statement.summary()
    for text in (str(statement), unescape(statement._repr_html_())):
        assert text.count(note) == 1
        assert label in text
    assert note not in f"{aa.income_statement(books)} {statement.to_json()}"


def test_terms_that_unfold_are_in_the_unit_and_entries_are_exact(demo_lines, ledgers):
    statement = aa.income_statement(aa.Books(demo_lines, ledgers, "2026-03"), amounts_in="k")
    page = statement._repr_html_()
    (content,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    entries = json.loads(content)
    total = statement.figures.figure("gross_profit", "2026-03")
    shown = [text for _, _, text in entries["terms"]["gross_profit"][str(entries["columns"].index("2026-03"))]]
    assert shown == [one.text_in("k") for one in total.terms]
    assert shown != [one.text for one in total.terms]
    sign, first, last = entries["figures"]["led_rent"][0]
    rent = sum(sign * int(line[-1]) for line in entries["lines"][first : last + 1])
    assert rent == statement["Rent"].units


@pytest.mark.parametrize(("unit", "number"), [("k", "#,##0.0,"), ("M", "#,##0.00,,"), (None, "#,##0.00")])
def test_a_workbook_keeps_the_exact_amounts(unit, number, demo_lines, ledgers, tmp_path):
    path = tmp_path / "income.xlsx"
    books = aa.Books(demo_lines, ledgers, "2026-03", currency="USD")
    statement = aa.income_statement(books, compare=["prior", "change_pct"], amounts_in=unit)
    statement.to_excel(path)
    book = openpyxl.load_workbook(path, data_only=True)
    sheet = book.worksheets[0]
    (row,) = (one[0].row for one in sheet.iter_rows() if one[0].value == "Net income")
    amount, _, percent = (sheet.cell(row, column) for column in (2, 3, 4))
    assert Decimal(str(amount.value)) == statement["Net income", "2026-03"].exact()
    assert amount.number_format.split("_")[0] == number
    assert percent.number_format.startswith("#,##0.0%")
    assert {cell.number_format.split("_")[0] for cell in book["Entries"]["E"][1:]} == {"#,##0.00"}
    texts = [cell.value for cell in sheet["A"] if cell.value]
    assert any(text.endswith(f"USD {NAME[unit]}" if unit else "USD") for text in texts)
    assert sum(text.startswith("Amounts in ") for text in texts) == (unit is not None)


@pytest.mark.parametrize("wrong", ["m", "K", "", "thousands", 1_000, True, ["k"]])
def test_another_unit_is_refused(wrong, demo_lines, ledgers):
    books = aa.Books(demo_lines, ledgers, "2026-03")
    for make, _ in MAKERS.values():
        with pytest.raises(InputError, match=r"amounts_in must be 'k' \(thousands\) or 'M' \(millions\), not "):
            make(books, amounts_in=wrong)


def test_report_takes_a_unit(may_report, ledgers):
    statement = aa.cash_flow_statement(may_report, ledgers=ledgers, amounts_in="k")
    key = statement.columns[0].key
    assert statement.text("ending_cash_balance", key) == f"{may_report.exact().ending_cash_balance / 1000:,.1f}"


def test_pictures_of_a_statement_are_as_without_a_unit(demo_lines, ledgers):
    books = aa.Books(demo_lines, ledgers, ("2026-03-01", "2026-05-31"))
    plain, shown = (aa.income_statement(books, amounts_in=unit) for unit in (None, "k"))
    assert aa.charts.margins(plain).to_json() == aa.charts.margins(shown).to_json()
