"""Plan files, CSV and Excel: the same plan after saving and loading, no formulas, and no edited plan."""

import csv
import datetime as dt
import io
import sys
from decimal import Decimal

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.errors import AmountError, PlanError
from accounting_analytics.core.schemas import PlanItems

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
CONVERTED = [
    "00123",
    "1e5",
    "1E5",
    "3-4",
    "12:30",
    "MAR1",
    "1-Mar",
    "TRUE",
    "false",
    "$5",
    "5%",
    "(3)",
    "12345678901234567890",
]


def cells_of(file):
    """Return the cells of a file as a spreadsheet reads them."""
    return list(csv.reader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")))


def test_large_amounts_survive_a_plan_file(build, tmp_path):
    for amount in ("-9999999999999.99", "-10000000000000.00"):
        plan = build.plan(None, build.item("t", "bank", "out", "meals", amount=Decimal(amount)))
        plan.save(tmp_path / "plan.csv")
        loaded = aa.Plan.load(tmp_path / "plan.csv")
        assert loaded.exact()["transaction_amount"].tolist() == [Decimal(amount)]
        assert f"{Decimal(amount):,f}" in loaded.explain()
    with pytest.raises(AmountError, match=r"amount: amount -10,000,000,000,000\.00 is too large for a pandas frame"):
        _ = loaded.frame


NOT_AS_SAVED = "is not as the plan was saved: a cell or row was changed, added or left out; nothing was sent"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",meals,Name of meals,", ",rent,Rent,", NOT_AS_SAVED),
        (",meals,", ",rent,", NOT_AS_SAVED),
        ("Name of meals", "Rent", NOT_AS_SAVED),
        ("-1.50", "-1.51", NOT_AS_SAVED),
        ("coffee", "tea", NOT_AS_SAVED),
        ("2025-03-10", "2025-03-11", NOT_AS_SAVED),
        (",inst,", ",other,", NOT_AS_SAVED),
        ("by hand", "by a rule", NOT_AS_SAVED),
        ("by hand", "", "row 2: rule: the cell is empty; nothing was sent"),
        ("-1.50", "four", "row 2: transaction_amount: 'four' is not an amount"),
        (",bank,", ",123,", "row 2: ledger_id: a spreadsheet changed the id to '123'"),
        ("digest", "note", "is not a plan: the first row lacks digest"),
    ],
)
def test_edited_plans_are_refused(build, tmp_path, old, new, message):
    file = tmp_path / "plan.csv"
    cells = {"description": "coffee", "updated_category_ledger_name": "Name of meals"}
    build.plan("inst", *(build.item(f"txn_{number}", "bank", "out", "meals", **cells) for number in range(2))).save(
        file
    )
    text = file.read_bytes().decode("utf-8-sig")
    assert len(aa.Plan.load(file)) == 2
    header, *rows = text.splitlines(keepends=True)
    for edited, expected in (
        (text.replace(old, new, 1), message),
        (header + rows[0], NOT_AS_SAVED),
        (text + rows[0].replace("txn_0", "txn_2"), NOT_AS_SAVED),
    ):
        file.write_bytes(edited.encode())
        with pytest.raises(PlanError) as caught:
            aa.Plan.load(file)
        assert expected in str(caught.value)
        assert "\n" not in str(caught.value)


DATE_FORMS = ["%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16"]
CELL = st.text(st.characters(codec="utf-8", exclude_characters="|\0"), min_size=1, max_size=8)


@st.composite
def plans(draw, build):
    """Return a plan of unique items at whole minutes."""
    ids = draw(st.lists(CELL | st.sampled_from(CONVERTED), min_size=1, max_size=4, unique=True))
    minutes = draw(st.lists(st.integers(0, 10**6), min_size=len(ids), max_size=len(ids)))
    amounts = draw(st.lists(st.integers(-(10**9), 10**9), min_size=len(ids), max_size=len(ids)))
    items = [
        build.item(one, draw(CELL), "out", "meals", description=draw(TEXT), amount=Decimal(units) / 100)
        | {"datetime": dt.datetime(2025, 1, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=minute)}
        for one, minute, units in zip(ids, minutes, amounts, strict=True)
    ]
    return build.plan(draw(st.none() | CELL), *items)


def date_texts(instant):
    """Return the forms in which a spreadsheet may save an instant so that it can be read in one way."""
    return [instant.isoformat(), *(instant.strftime(form) for form in DATE_FORMS)]


@settings.get_profile("slow")
@given(choices=st.data())
def test_what_a_spreadsheet_saves_loads_to_the_same_items(build, tmp_path_factory, *, choices):
    draw, file = choices.draw, tmp_path_factory.mktemp("plan") / "plan.csv"
    plan = draw(plans(build))
    plan.save(file)
    header, *rows = cells_of(file)
    items = plan.items
    form = draw(st.integers(0, len(DATE_FORMS)))
    comma = draw(st.booleans())
    for row, item in zip(rows, items, strict=True):
        row[header.index("datetime")] = date_texts(item.datetime)[form]
        amount = f"{Decimal(row[header.index('transaction_amount')]).normalize():f}"
        row[header.index("transaction_amount")] = amount.replace(".", ",") if comma else amount
    kept = draw(st.permutations(range(len(rows))))
    order = draw(st.permutations([*range(len(header)), None]))
    own = [*header, "own"]
    written = [[own[place if place is not None else -1] for place in order] + [""]]
    written += [[rows[one][place] if place is not None else "note" for place in order] for one in kept]
    text = io.StringIO(newline="")
    separator = draw(st.sampled_from(",;\t"))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    csv.writer(text, delimiter=separator, quoting=quoting).writerows([*written, [], [""] * len(own)])
    file.write_bytes(text.getvalue().encode(draw(st.sampled_from(ENCODINGS))))
    loaded = aa.Plan.load(file)
    assert list(loaded.items) == [items[one] for one in kept]
    assert loaded.instance_id == plan.instance_id
    assert loaded.notes == ()
    amounts = plan.frame["transaction_amount"].iloc[list(kept)]
    assert loaded.frame["transaction_amount"].tolist() == amounts.tolist()


def test_file_errors_name_the_cause(build, tmp_path):
    plan = build.plan(None, build.item("t", "bank", "out", "meals"))
    with pytest.raises(PlanError, match=r"plan was not saved: .* cannot be written"):
        plan.save(tmp_path / "nowhere" / "plan.csv")
    with pytest.raises(PlanError, match=r"plan\.csv cannot be read"):
        aa.Plan.load(tmp_path / "plan.csv")


@pytest.fixture
def file(build, tmp_path):
    """Return the workbook of a plan of three items."""
    items = [
        build.item("00123", "bank", "out", "meals", description="=1+1", datetime=build.NOON),
        build.item("1e5", "'bank", "out", "meals", amount=Decimal("144.00"), uncategorized_amount=Decimal("-3.00")),
        build.item("t", "bank", "TRUE", "meals", datetime=build.NOON + dt.timedelta(microseconds=1)),
    ]
    build.plan("007", *items).save(tmp_path / "plan.xlsx")
    return tmp_path / "plan.xlsx"


def edit_workbook(file, change):
    """Change the sheet of a workbook and save it, as a spreadsheet does."""
    workbook = openpyxl.load_workbook(file)
    change(workbook["plan"])
    workbook.save(file)


def test_cells_of_a_workbook_have_types(file):
    rows = [[cell.value for cell in row] for row in openpyxl.load_workbook(file)["plan"].iter_rows()]
    first = dict(zip(rows[0], rows[1], strict=True))
    assert (first["transaction_id"], first["description"], first["instance_id"]) == ("00123", "=1+1", "007")
    assert (first["transaction_amount"], first["datetime"]) == (-1.5, dt.datetime(2025, 3, 10, 12))  # noqa: DTZ001 (UTC)
    cells = [cell for row in openpyxl.load_workbook(file)["plan"].iter_rows() for cell in row]
    assert not any(cell.data_type == "f" for cell in cells)
    assert {cell.number_format for cell in cells if cell.data_type == "n" and cell.value} == {"0.00"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_saved_workbook_loads_unchanged(file, build):
    loaded = aa.Plan.load(file)
    assert loaded.frame["transaction_id"].tolist() == ["00123", "1e5", "t"]
    assert loaded.frame["ledger_id"].tolist() == ["bank", "'bank", "bank"]
    assert PlanItems.exact(loaded.frame).frame["transaction_amount"].map(str).tolist() == ["-1.50", "144.00", "-1.50"]
    assert loaded.items[2].datetime == build.NOON + dt.timedelta(microseconds=1)
    assert loaded.instance_id == "007"
    edit_workbook(file, lambda _sheet: None)
    pd.testing.assert_frame_equal(aa.Plan.load(file).frame, loaded.frame)


def test_edits_of_a_workbook_are_refused(file):
    def add(sheet):
        column = sheet.max_column + 1
        sheet.cell(1, column, "my comment")
        sheet.cell(2, column, "ask Eva")
        sheet.title = "Sheet1"
        sheet.parent.create_sheet("my notes", 0)["A1"] = "ask Eva"

    edit_workbook(file, add)
    assert len(aa.Plan.load(file)) == 3
    workbook = openpyxl.load_workbook(file)
    workbook["Sheet1"].delete_rows(2)
    workbook.save(file)
    with pytest.raises(PlanError, match=NOT_AS_SAVED):
        aa.Plan.load(file)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"transaction_amount": Decimal("-12345678901234.56")}, "-12345678901234.56 has too many digits"),
        ({"journal_entry_id": "a\x01"}, "is not text of a workbook"),
    ],
)
def test_plans_that_a_workbook_cannot_hold_are_refused(build, tmp_path, cells, reason):
    plan = build.plan(None, build.item("t", "bank", "out", "meals") | cells)
    with pytest.raises(PlanError) as caught:
        plan.save(tmp_path / "plan.xlsx")
    assert reason in str(caught.value)
    assert str(caught.value).endswith("save it as .csv")
    assert not list(tmp_path.iterdir())
    plan.save(tmp_path / "plan.csv")


def test_missing_extra_says_what_to_install(file, monkeypatch):
    plan = aa.Plan.load(file)
    for module, run in (("xlsxwriter", plan.save), ("openpyxl", aa.Plan.load)):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(PlanError, match=rf"{module}: pip install 'accounting-analytics\[excel\]'"):
            run(file)
