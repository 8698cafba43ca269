"""Plans as Excel workbooks: the same plan after saving and loading, and nothing that Excel computes or converts."""

import csv
import datetime as dt
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import PlanError
from accounting_analytics.recategorization.plan_sheet import require_writable_format
from accounting_analytics.schemas import PlanItems


@pytest.fixture
def file(build, tmp_path):
    """Return the workbook of a plan of three items."""
    items = [
        build.item("00123", "bank", "out", "meals", description="=1+1", datetime=build.NOON),
        build.item("1e5", "'bank", "out", "meals", amount=Decimal("144.00"), category_amount=Decimal("-3.00")),
        build.item("t", "bank", "TRUE", "meals", datetime=build.NOON + dt.timedelta(microseconds=1)),
    ]
    build.plan("007", *items).save(tmp_path / "plan.xlsx")
    return tmp_path / "plan.xlsx"


def edit(file, change):
    """Change the sheet of a workbook and save it, as a spreadsheet does."""
    workbook = openpyxl.load_workbook(file)
    change(workbook["plan"])
    workbook.save(file)


def test_cells_have_types(file):
    """Ids and formulas are text, amounts are numbers with a format, instants are dates; only the owner may read it."""
    rows = [[cell.value for cell in row] for row in openpyxl.load_workbook(file)["plan"].iter_rows()]
    first = dict(zip(rows[0], rows[1], strict=True))
    assert (first["transaction_id"], first["description"], first["instance_id"]) == ("00123", "=1+1", "007")
    assert (first["amount"], first["datetime"]) == (-1.5, dt.datetime(2025, 3, 10, 12))  # noqa: DTZ001 (UTC)
    cells = [cell for row in openpyxl.load_workbook(file)["plan"].iter_rows() for cell in row]
    assert not any(cell.data_type == "f" for cell in cells)
    assert {cell.number_format for cell in cells if cell.data_type == "n" and cell.value} == {"0.00"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_saved_workbook_loads_unchanged(file, build):
    """All columns, ids and digits survive, also after a spreadsheet saved the file again."""
    loaded = aa.Plan.load(file)
    assert loaded.frame["transaction_id"].tolist() == ["00123", "1e5", "t"]
    assert loaded.frame["ledger_id"].tolist() == ["bank", "'bank", "bank"]
    assert PlanItems.exact(loaded.frame).frame["amount"].map(str).tolist() == ["-1.50", "144.00", "-1.50"]
    assert loaded.items[2].datetime == build.NOON + dt.timedelta(microseconds=1)
    assert loaded.instance_id == "007"
    edit(file, lambda _sheet: None)
    pd.testing.assert_frame_equal(aa.Plan.load(file).frame, loaded.frame)


def test_nothing_is_written_elsewhere(build, tmp_path, monkeypatch):
    """No temporary file has text of the plan, so none is left by a kill and a full temporary folder is no error."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    build.plan("007", build.item("t", "bank", "out", "meals")).save(tmp_path / "plan.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.xlsx"]


def test_edits_are_accepted(file):
    """Rows are deleted and hidden, columns added, and categories typed as numbers; notes name what is unusual."""

    def change(sheet):
        sheet.delete_rows(2)
        sheet.row_dimensions[3].hidden = True
        sheet.cell(1, 15, "my comment")
        sheet.cell(2, 15, "ask Eva")
        sheet.cell(9, 15, "total")
        sheet["I2"], sheet["J2"] = 4000, 4000

    edit(file, change)
    plan = aa.Plan.load(file)
    assert plan.frame["updated_category_ledger_id"].tolist() == ["4000", "meals"]
    assert plan.notes == ("1 hidden row of the plan file taken into the plan.",)
    assert plan.notes[0] in repr(plan)


def test_the_sheet_is_found_by_its_columns(file):
    """Other sheets may be added before that of the plan, and it may be renamed."""
    workbook = openpyxl.load_workbook(file)
    workbook["plan"].title = "Sheet1"
    workbook.create_sheet("my notes", 0)["A1"] = "ask Eva"
    workbook.save(file)
    assert len(aa.Plan.load(file)) == 3


@pytest.mark.parametrize(
    ("cell", "value", "message"),
    [
        ("A2", 123, "row 2: transaction_id: a spreadsheet changed the id to '123'"),
        ("A2", 1.2e15, "row 2: transaction_id: a spreadsheet changed the id to '1200000000000000'"),
        ("B3", dt.datetime(2026, 1, 3), "row 3: ledger_id: a spreadsheet changed the id to '2026-01-03"),  # noqa: DTZ001
        ("H4", True, "row 4: category_ledger_id: a spreadsheet changed the id to 'TRUE'"),
        ("F2", dt.datetime(1950, 4, 1), "row 2: amount: '1950-04-01 00:00:00' is not an amount: a spreadsheet"),  # noqa: DTZ001
        ("D2", "soon", "row 2: datetime: 'soon' is not as the plan was written"),
        ("D2", None, "row 2: datetime: the cell is empty"),
    ],
)
def test_cells_that_lost_their_meaning_are_refused(file, cell, value, message):
    """An id that became a number, and an amount that became a date, are refused with row and column."""
    edit(file, lambda sheet: sheet.__setitem__(cell, value))
    with pytest.raises(PlanError) as caught:
        aa.Plan.load(file)
    assert message in str(caught.value)


def test_workbook_saved_as_csv(file, tmp_path):
    """Text that looks like a number is refused after "save as CSV", which does not show that it was text."""
    rows = [[cell.value for cell in row] for row in openpyxl.load_workbook(file)["plan"].iter_rows()]
    with (tmp_path / "plan.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows(rows)
    with pytest.raises(PlanError, match="transaction_id: a spreadsheet changed the id to '00123'"):
        aa.Plan.load(tmp_path / "plan.csv")


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"amount": Decimal("-12345678901234.56")}, "-12345678901234.56 has too many digits"),
        ({"description": "x" * 40_000}, "is too long"),
        ({"journal_entry_id": "a\x01"}, "is not text of a workbook"),
    ],
)
def test_plans_that_do_not_fit(build, tmp_path, cells, reason):
    """A plan that a workbook cannot hold exactly is refused before anything is written; CSV can hold it."""
    plan = build.plan(None, build.item("t", "bank", "out", "meals") | cells, as_decimals=True)
    with pytest.raises(PlanError) as caught:
        plan.save(tmp_path / "plan.xlsx")
    assert reason in str(caught.value)
    assert str(caught.value).endswith("save it as .csv")
    assert not list(tmp_path.iterdir())
    plan.save(tmp_path / "plan.csv")


@pytest.mark.parametrize(("module", "run"), [("xlsxwriter", "save"), ("openpyxl", "load")])
def test_missing_extra(file, monkeypatch, module, run):
    """Without the extra the message says what to install."""
    plan = aa.Plan.load(file)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PlanError, match=rf"{module}: pip install 'accounting-analytics\[excel\]'"):
        getattr(plan, run)(file)


def test_missing_extra_is_known_before_a_plan_is_made(monkeypatch):
    """Whether a plan can be saved is known from the name of its file."""
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    require_writable_format(Path("plan.csv"))
    with pytest.raises(PlanError, match=r"the plan was not saved: an Excel workbook needs xlsxwriter"):
        require_writable_format(Path("plan.XLSX"))
