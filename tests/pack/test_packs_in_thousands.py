"""Packs in thousands and millions: what is shown is rounded, checked by its receiver, and exact behind."""

import random
import re
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import openpyxl
import pandas as pd
import pytest
from alterations import with_data

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError

NAME = {"k": "thousands", "M": "millions"}
FORMAT = {"k": "#,##0.0,", "M": "#,##0.00,,"}


class Packs(NamedTuple):
    """A pack in a unit with its workbook, and the same pack with all digits."""

    unit: str
    shown: aa.MonthlyPack
    workbook: Path
    plain: aa.MonthlyPack


@pytest.fixture(scope="module", params=["k", "M"])
def packs(request, load_month, demo_pack, tmp_path_factory):
    """Return the pack of May in a unit, beside that with all digits."""
    if request.param == "k":
        shared = map(request.getfixturevalue, ("thousands_pack", "thousands_workbook"))
        return Packs("k", *shared, demo_pack)
    pack = aa.monthly_pack(load_month("2026-05"), amounts_in="M")
    path = tmp_path_factory.mktemp("workbook") / "millions.xlsx"
    pack.save_workbook(path)
    return Packs("M", pack, path, demo_pack)


def test_every_shown_figure_is_proven(packs, tmp_path):
    checked = [aa.verify_pack(one.save(tmp_path / "pack.html")) for one in (packs.shown, packs.plain)]
    assert all(one.verified for one in checked), checked[0].explain()
    counts = [(one.figures, one.stated, one.entries, one.unchecked) for one in checked]
    assert counts[0] == counts[1]
    assert counts[0][0] > 1000


def test_pictures_are_in_the_unit(packs):
    texts = re.findall(r"<text[^>]*>([^<>]+)</text>", packs.shown.html)
    assert {"k": "27.9k", "M": "0.03M"}[packs.unit] in texts
    assert "27,939" in re.findall(r"<text[^>]*>([^<>]+)</text>", packs.plain.html)


def test_figures_are_exact_behind_their_texts(packs):
    shown, plain = packs.shown.figures, packs.plain.figures
    pd.testing.assert_frame_equal(shown.drop(columns="text"), plain.drop(columns="text"))
    for row in shown.itertuples():
        assert row.text == packs.shown[f"{row.table}:{row.key}"].text_in(packs.unit)
    is_percent = plain["text"].str.rstrip(")").str.endswith("%")
    assert (shown["text"] == plain["text"])[is_percent].all()
    assert is_percent.sum() > 10
    rent = "income:led_rent|2026-05"
    pd.testing.assert_frame_equal(packs.shown[rent].entries, packs.plain[rent].entries)


def test_the_page_says_its_unit(packs):
    page, note = packs.shown.html, f"Amounts in {NAME[packs.unit]}; totals are rounded by themselves."
    assert f'<span data-field="amounts_in">{NAME[packs.unit]}</span>' in page
    assert page.count(note) == 1
    assert 'data-field="amounts_in"' not in packs.plain.html
    assert packs.plain.unit_notes == ()
    amounts = re.findall(r'<span data-table="[^>]*data-key="[^>]*>([^<]+)</span>', page)
    assert len(amounts) >= 8
    assert all(re.fullmatch(rf"-?[0-9,]+\.[0-9]+{packs.unit}", one) for one in amounts)
    text = str(packs.shown)
    assert f"Key figures, USD {NAME[packs.unit]}:" in text
    assert text.count(note) == 1
    change = packs.shown["key_figures:net_cash_flow|2026-05"]
    assert text.count(f"Cash rose by {change.text_in(packs.unit)}{packs.unit} to ") == 1


def altered(alteration, path):
    """Write an altered page, and return the faults that the check finds."""
    text = path.read_text(encoding="utf-8")
    changed = alteration(text)
    assert changed != text
    path.write_text(changed, encoding="utf-8", newline="\n")
    return [one.what for one in aa.verify_pack(path).differences]


ALTERATIONS = {
    "a digit of a cell": lambda text: re.sub(r'(<td [^>]*data-key="net_income\|2026-05">[0-9]+)\.9<', r"\1.8<", text),
    "the letter of a sentence": lambda text: re.sub(r"(<span [^>]*data-key[^>]*>[0-9.]+)k<", r"\1<", text, count=1),
    "a letter in a cell": lambda text: re.sub(r'(<td [^>]*data-key="[^>]*>[0-9.]+)<', r"\1k<", text, count=1),
    "a dash for what is rounded to zero": lambda text: re.sub(
        r'(<td [^>]*data-key="[^>]*>)0\.0<', "\\1\N{EN DASH}<", text, count=1
    ),
    "all digits": lambda text: re.sub(r'(data-key="led_rent\|2026-05">)[0-9.]+<', r"\g<1>7,900.00<", text, count=1),
    "the unit in the head": lambda text: text.replace(">thousands</span>", ">millions</span>"),
    "no unit in the head": lambda text: text.replace('<span data-field="amounts_in">thousands</span>', ""),
    "the unit of the data": lambda text: with_data(lambda _, data: data.update(amounts_in="millions"))(None, text),
    "no unit in the data": lambda text: with_data(lambda _, data: data.update(amounts_in=""))(None, text),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_alterations_are_found(thousands_pack, tmp_path, name):
    found = altered(ALTERATIONS[name], thousands_pack.save(tmp_path / "pack.html"))
    assert found
    assert set(found) <= {"figure", "amounts_in"}


def test_entries_that_are_altered_are_found(thousands_pack, tmp_path):
    chance = random.Random(5)  # noqa: S311 (the same alteration in each run)

    def change(_, data):
        line = chance.choice([one for one in data["lines"] if one[6] >= 0])
        line[4] = int(line[4]) + 1

    found = altered(lambda text: with_data(change)(None, text), thousands_pack.save(tmp_path / "pack.html"))
    assert "journal entry" in found


def first_column(sheet):
    return [str(row[0]) for row in sheet.iter_rows(values_only=True) if row and row[0]]


def test_a_workbook_has_exact_amounts(packs):
    book = openpyxl.load_workbook(packs.workbook, data_only=True, read_only=True)  # four sheets of many
    for sheet, label, key in (
        ("Summary", "Net income", "key_figures:net_income|2026-05"),
        ("Income statement", "Net income", "income:net_income|2026-05"),
        ("By age", "Total", None),
    ):
        row = next(one for one in book[sheet].iter_rows() if one[0].value == label)
        cell = next(one for one in row[1:] if isinstance(one.value, int | float))
        assert cell.number_format.split("_")[0] == FORMAT[packs.unit], sheet
        if key:
            assert Decimal(str(cell.value)) == packs.shown[key].exact()
    entries = book["Entries, income statement"]
    amounts = [row[4] for row in entries.iter_rows(min_row=2)]
    assert {one.number_format.split("_")[0] for one in amounts} == {"#,##0.00"}
    for sheet in ("Summary", "Income statement", "By age"):
        texts = first_column(book[sheet])
        assert sum(text.startswith(f"Amounts in {NAME[packs.unit]};") for text in texts) == 1, sheet
    assert any(text.endswith(f"USD {NAME[packs.unit]}") for text in first_column(book["Summary"]))


def test_only_k_and_m_are_units(load_month):
    with pytest.raises(InputError, match=r"amounts_in must be 'k' \(thousands\) or 'M' \(millions\), not 'm'"):
        aa.monthly_pack(load_month("2026-05"), amounts_in="m")


@pytest.mark.browser
def test_figures_unfold_in_the_unit(browser, thousands_pack, tmp_path):
    browser.open(thousands_pack.save(tmp_path / "pack.html").as_uri())
    browser.wait_until("document.querySelectorAll('.accounting-analytics-figures.ready').length > 5")

    def unfolded(key):
        button = f'[data-table="income"] [data-key="{key}"] > button'
        browser.click(f"document.querySelector('{button}')")
        browser.wait_until("document.querySelector('.entries table')")
        shown = browser.evaluate(
            "[...document.querySelectorAll('.entries table td:last-child')].map(one => one.textContent.trim())"
        )
        browser.click(f"document.querySelector('{button}')")
        browser.wait_until("!document.querySelector('.entries table')")
        return shown

    income = thousands_pack["income:net_income|2026-05 change"]
    assert unfolded(income.key) == [*(one.text_in("k") for one in income.terms), income.text_in("k")]
    assert unfolded("led_rent|2026-05") == ["7,900.00", "7,900.00"]
