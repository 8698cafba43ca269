"""The workbook beside the page of a pack: every row, amount, entry and picture of it."""

import zipfile
from decimal import Decimal

import openpyxl
import pytest

from accounting_analytics.core.errors import InputError


@pytest.fixture(scope="module")
def path(demo_pack, tmp_path_factory):
    """Return the workbook of the pack of May 2026."""
    path = tmp_path_factory.mktemp("workbook") / "pack.xlsx"
    demo_pack.save_workbook(path)
    return path


@pytest.fixture(scope="module")
def workbook(path):
    """Return the workbook, read."""
    return openpyxl.load_workbook(path)


def test_sheets(workbook):
    """Page one comes first, entries last."""
    assert workbook.sheetnames == [
        *("Summary", "Income statement", "Cash flow statement", "Balance sheet", "Cash bridge", "Cash accounts"),
        *("Cash by day", "Cash in and out", "Top customers", "Top payees", "Recurring payments"),
        *("Due next", "Next weeks", "Past outlooks", "By age", "Not categorized", "Reconciliation", "Appendix"),
        *("Entries, income statement", "Entries, cash flow statement", "Entries, balance sheet"),
    ]


def stored(figure):
    """Return what a cell stores of a figure: of a percentage its hundredth, which its format shows."""
    exact = figure.exact()
    return float(exact if isinstance(figure.units, int) else exact.scaleb(-2))


def test_rows_and_amounts_are_those_of_the_page(path, demo_pack):
    """Each table has the labels and exact amounts of its rows; each statement also its rows of zeros."""
    sheets = openpyxl.load_workbook(path, data_only=True)
    names = {"income": "Income statement", "cash_flow": "Cash flow statement", "balance": "Balance sheet"}
    names |= {"cash_bridge": "Cash bridge", "payees": "Top payees", "uncategorized": "Not categorized"}
    for name, title in (names | {"key_figures": "Summary", "cash_by_day": "Cash by day"}).items():
        rows = [[one.value for one in row] for row in sheets[title].iter_rows()]
        texts = [tuple(str(one) for one in row if one is not None) for row in rows]
        table = demo_pack.content.tables[name]
        for row in table.table.rows:
            amounts = [stored(table.figure(cell.key)) for cell in row.cells if cell.key and cell.mark != "unknown"]
            found = [one for one in rows if one[0] == row.label]
            numbers = [[cell for cell in one[1:] if isinstance(cell, float | int)] for one in found]
            assert amounts in numbers or (not amounts and found), (title, row.label, amounts, numbers, texts[:3])


@pytest.mark.long
def test_page_one_is_there(path, workbook, demo_pack):
    """Verdict, sentences, fingerprint, and each picture with its alternative text."""
    sheet = workbook["Summary"]
    texts = {cell.value for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str)}
    assert {"Cash flow proven", *demo_pack.reasons, *demo_pack.sentences} <= texts
    assert f"Fingerprint of the page: {demo_pack.fingerprint}" in texts
    with zipfile.ZipFile(path) as archive:
        images = [name for name in archive.namelist() if name.startswith("xl/media/")]
        drawing = archive.read("xl/drawings/drawing1.xml").decode()
    assert len(images) == len(demo_pack.content.pictures) >= 3
    assert all(picture.text in drawing for picture in demo_pack.content.pictures.values())


def test_figures_are_linked_to_their_entries(workbook):
    """The link of the rent leads to its entry, on the sheet of the entries of its statement."""
    rows = {row[0].value: row for row in workbook["Income statement"].iter_rows()}
    name, _, cells = rows["Rent"][1].hyperlink.location.rpartition("!")
    assert name == "'Entries, income statement'"
    (entry,) = workbook[name.strip("'")][cells]
    assert Decimal(str(entry[4].value)) == 7900


def test_a_name_that_is_not_of_a_workbook_is_refused(demo_pack, tmp_path):
    """Nothing is written."""
    with pytest.raises(InputError, match="a workbook needs a name that ends in"):
        demo_pack.save_workbook(tmp_path / "pack.xls")
    assert not list(tmp_path.iterdir())
