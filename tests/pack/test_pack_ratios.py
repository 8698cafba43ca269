"""Sections of a pack for a bank: ratios and twelve months, which follow from the lines of the page."""

import dataclasses
import datetime as dt
import re

import openpyxl
import pandas as pd
import pytest
from payee_books import LEDGERS, BookEntry, frame_of, paid
from recorded_figures import read_checked

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError

SECTIONS = ("key_ratios", "twelve_months")


def test_ratios_are_those_of_the_function(planned_pack, load_month):
    found = aa.key_ratios(load_month("2026-05"), "2026-05-31", depreciation=["Depreciation"])
    shown = planned_pack.figures.query("table == 'key_ratios'").set_index("key")
    for label, _, figure, meaning in found.rows():
        assert shown.loc[figure.key, ["text", "amount"]].tolist() == [figure.text, figure.exact()], label
        assert meaning in planned_pack.html
    assert len(shown) == len(found.rows())
    assert planned_pack["key_ratios:current_ratio|value"].text == "1.28"
    assert planned_pack["key_ratios:ebitda_period|period"].label == "EBITDA, May 2026"


def test_twelve_months_are_those_of_the_statement(planned_pack, load_month):
    income = aa.income_statement(load_month("2026-05"), "2025-06/2026-05", compare="total")
    shown = planned_pack.figures.query("table == 'twelve_months'").set_index("key")["amount"]
    heads = [head.text for head in planned_pack.content.tables["twelve_months"].table.heads]
    assert heads == [column.label for column in income.columns]
    for row in ("operating_revenues", "led_rent", "gross_margin", "net_income"):
        assert [shown[f"{row}|{column.key}"] for column in income.columns] == [
            income[row, column.key].exact() for column in income.columns
        ]
    assert shown["net_income|2026-05"] == planned_pack["income:net_income|2026-05"].exact()
    assert shown["net_income|total"] == sum(shown[f"net_income|{column.key}"] for column in income.columns[:-1])


def test_receiver_can_check_ratios_and_months(planned_pack, tmp_path):
    path = planned_pack.save(tmp_path / "pack.html")
    assert aa.verify_pack(path).verified
    page, sums = read_checked(planned_pack.html)
    stated = sums.data["tables"]["key_ratios"]["figures"]
    assert stated["current_ratio|value"][4:] == [1, 2, ""]
    assert stated["days_cash|value"][4:] == [90, 1, " days"]
    assert stated["largest_customer|value"][4:] == []
    assert {one[0] for one in stated.values()} == {"quotient", "sum", "lines", "terms"}
    for before, after in ((">1.28<", ">1.29<"), (">34.5 days<", ">34.6 days<"), (">34.5 days<", ">34.5%<")):
        assert planned_pack.html.count(before) == 1
        path.write_text(planned_pack.html.replace(before, after), encoding="utf-8")
        (fault,) = aa.verify_pack(path).differences
        assert (fault.shown, fault.recomputed) == (after[1:-1], before[1:-1])
    assert {one.table for one in page.figures} >= set(SECTIONS)


def test_each_section_is_left_out_or_alone(planned_pack, tmp_path):
    for name in SECTIONS:
        alone = dataclasses.replace(planned_pack, section_names=(name,))
        assert aa.verify_pack(alone.save(tmp_path / "alone.html")).verified
        assert [one for one in SECTIONS if f'<section id="{one}">' in alone.html] == [name]
    others = tuple(one for one in planned_pack.section_names if one not in SECTIONS)
    page = dataclasses.replace(planned_pack, section_names=others).html
    assert [name for name in SECTIONS if f'<section id="{name}">' in page] == []
    assert len(planned_pack.html.encode()) < 600_000
    alone = dataclasses.replace(planned_pack, section_names=("key_ratios",), show_code=True)
    assert re.search(r"<pre><code>aa\.key_ratios\(books, ", alone.html)


def test_ratios_in_thousands_and_in_a_workbook_keep_their_format(thousands_pack, thousands_workbook, tmp_path):
    pack = thousands_pack
    texts = pack.figures.query("table == 'key_ratios'").set_index("key")["text"]
    assert texts[["current_ratio|value", "current_assets|end", "days_cash|value"]].tolist() == [
        "1.28",
        "147.4",
        "34.5 days",
    ]
    assert aa.verify_pack(pack.save(tmp_path / "pack.html")).verified
    book = openpyxl.load_workbook(thousands_workbook, read_only=True)  # two sheets of many
    cells = {row[0].value: row[1] for row in book["Key ratios"].iter_rows() if row[0].value and len(row) > 1}
    assert cells["Current ratio"].value == 1.28
    days = cells["Days of cash on hand"]
    assert (days.value, days.number_format.partition("_")[0]) == (34.5, '#,##0.0" days"')
    share = next(cell for label, cell in cells.items() if label.startswith("Share of the largest customer"))
    assert (share.value, share.number_format.partition("_")[0]) == (0.052, "#,##0.0%")
    assert cells["EBITDA, twelve months to 31 May 2026"].value == "not known"
    rows = list(book["Twelve months"].values)
    assert "Total" in [row[-1] for row in rows]
    assert [str(row[-1])[:7] for row in rows if row[0] == "Gross profit"] == ["=ROUND("]


def test_books_of_less_than_a_year_leave_out_what_is_unknown(pack_of_lines, tmp_path):
    bills = LEDGERS.query("id == 'loan'").assign(
        id="bills", name="Bills", sub_type="current_liabilities", financial_account_type="accounts_payable"
    )
    chart = pd.concat([LEDGERS, bills]).assign(editable=True, created_at=pd.NaT)
    sold = paid("01-01", "02-05", "03-06", cents=90_000, counterparty="CAFE", ledger="sales")
    billed = BookEntry(dt.date(2025, 3, 7), "MILL INV-7", (("rent", 9_000), ("bills", -9_000)), is_transaction=False)
    march = aa.Period.parse("2025-03", time_zone="UTC")
    pack = pack_of_lines(frame_of([*sold, billed]), chart, march, dt.date(2025, 1, 1))
    texts = pack.figures.query("table == 'key_ratios'").set_index("key")["text"]
    assert texts["largest_customer|value"] == texts["days_payable|value"] == "not known"
    assert texts["current_ratio|value"] != "not known"
    assert "the books begin on 1 Jan 2025, and the 365 days to 31 Mar 2025 on 1 Apr 2024" in pack.html
    table = pack.content.tables["twelve_months"].table
    assert [head.text for head in table.heads] == ["Jan 2025", "Feb 2025", "Mar 2025"]
    assert "10 columns of days that are not known left out." in table.notes
    assert aa.verify_pack(pack.save(tmp_path / "pack.html")).verified


def test_missing_ledger_of_depreciation_is_refused_with_a_name(pack_of_lines):
    march = aa.Period.parse("2025-03", time_zone="UTC")
    with pytest.raises(InputError, match="depreciation: no discovered ledger matches 'Rnt'; did you mean 'Rent'"):
        pack_of_lines(frame_of(paid("03-10")), LEDGERS, march, dt.date(2025, 3, 10), depreciation=["Rnt"])
