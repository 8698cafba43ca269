"""Plan files, CSV and Excel: the same plan after saving and loading, no formulas, and located invalid edits."""

import csv
import datetime as dt
import io
import sys
from decimal import Decimal

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.errors import PlanError
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


def test_large_amounts_survive(build, tmp_path):
    """A plan with an amount of too many digits for float64 loads with decimals; other plans load with float64."""
    for amount, dtype in (
        ("-9999999999999.99", "float64"),
        ("-10000000000000.00", pd.ArrowDtype(pa.decimal128(38, 2))),
    ):
        plan = build.plan(None, build.item("t", "bank", "out", "meals", amount=Decimal(amount)), as_decimals=True)
        plan.save(tmp_path / "plan.csv")
        frame = aa.Plan.load(tmp_path / "plan.csv").frame
        assert frame["transaction_amount"].dtype == dtype
        assert PlanItems.exact(frame).frame["transaction_amount"].tolist() == [Decimal(amount)]


@pytest.fixture
def edited(build, tmp_path):
    """Return a function that saves a plan of two items, edits the text of the file, and loads it."""
    file = tmp_path / "plan.csv"

    def run(edit, **options):
        cells = {"description": "coffee", "updated_category_ledger_name": "Name of meals"}
        plan = build.plan(
            "inst", *(build.item(f"txn_{number}", "bank", "out", "meals", **cells) for number in range(2))
        )
        plan.save(file)
        file.write_bytes(edit(file.read_bytes().decode("utf-8-sig")).encode())
        return aa.Plan.load(file, **options)

    return run


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text.replace("-1.50", "four", 1), "row 2: transaction_amount: 'four' is not an amount"),
        (lambda text: text.replace("by hand", "", 1), "row 2: rule: the cell is empty"),
        (lambda text: text.replace("bank", "123"), "rows 2, 3: ledger_id: a spreadsheet changed the id to '123'"),
        (lambda text: text.replace("2025-03-10", "10.03.2025", 1), "row 2: datetime: '10.03.2025T12:00:00+00"),
        (
            lambda text: text.replace("transaction_id", "id"),
            "is not a plan: the first row lacks transaction_id",
        ),
        (lambda text: text.replace(",meals,", ",,", 1), "row 2: updated_category_ledger_id is empty; pass ledgers="),
        (lambda text: text + text.splitlines(keepends=True)[1], "transaction txn_0 appears twice"),
        (lambda text: text.replace(",meals,Name of", ",out,Name of", 1), "transaction txn_0 already has its"),
        (lambda text: text.replace(",inst\r", ",other\r", 1), "different instances"),
    ],
)
def test_invalid_edits_are_refused(edited, edit, message):
    """A file with an invalid edit is refused; the message names the row as a spreadsheet numbers it."""
    with pytest.raises(PlanError) as caught:
        edited(edit)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_valid_edits_are_accepted(edited):
    """Id and name may be changed together, the name be cleared, and all rows be deleted."""
    renamed = edited(lambda text: text.replace(",meals,Name of meals", ",rent,Rent", 1).replace("Name of meals", ""))
    assert renamed.frame["updated_category_ledger_id"].tolist() == ["rent", "meals"]
    assert renamed.frame["updated_category_ledger_name"].tolist() == ["Rent", "meals"]
    assert len(edited(lambda text: text.splitlines(keepends=True)[0])) == 0


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
    """Rows sorted or deleted, columns moved and added, other separators, marks, dates, encodings: the same items."""
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
    kept = [0, *draw(st.lists(st.sampled_from(range(len(rows))), unique=True))]
    order = draw(st.permutations([*range(len(header)), None]))
    own = [*header, "own"]
    written = [[own[place if place is not None else -1] for place in order] + [""]]
    written += [[rows[one][place] if place is not None else "note" for place in order] for one in dict.fromkeys(kept)]
    text = io.StringIO(newline="")
    separator = draw(st.sampled_from(",;\t"))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    csv.writer(text, delimiter=separator, quoting=quoting).writerows([*written, [], [""] * len(own)])
    file.write_bytes(text.getvalue().encode(draw(st.sampled_from(ENCODINGS))))
    loaded = aa.Plan.load(file)
    assert list(loaded.items) == [items[one] for one in dict.fromkeys(kept)]
    assert loaded.instance_id == plan.instance_id
    assert loaded.notes == ()
    amounts = plan.frame["transaction_amount"].iloc[list(dict.fromkeys(kept))]
    assert loaded.frame["transaction_amount"].tolist() == amounts.tolist()


def test_file_errors_name_the_cause(build, tmp_path):
    """A missing folder and a missing file are plan errors that name the cause."""
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
    """Ids and formulas are text, amounts are numbers with a format, instants are dates; only the owner may read it."""
    rows = [[cell.value for cell in row] for row in openpyxl.load_workbook(file)["plan"].iter_rows()]
    first = dict(zip(rows[0], rows[1], strict=True))
    assert (first["transaction_id"], first["description"], first["instance_id"]) == ("00123", "=1+1", "007")
    assert (first["transaction_amount"], first["datetime"]) == (-1.5, dt.datetime(2025, 3, 10, 12))  # noqa: DTZ001 (UTC)
    cells = [cell for row in openpyxl.load_workbook(file)["plan"].iter_rows() for cell in row]
    assert not any(cell.data_type == "f" for cell in cells)
    assert {cell.number_format for cell in cells if cell.data_type == "n" and cell.value} == {"0.00"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_saved_workbook_loads_unchanged(file, build):
    """All columns, ids and digits survive, also after a spreadsheet saved the file again."""
    loaded = aa.Plan.load(file)
    assert loaded.frame["transaction_id"].tolist() == ["00123", "1e5", "t"]
    assert loaded.frame["ledger_id"].tolist() == ["bank", "'bank", "bank"]
    assert PlanItems.exact(loaded.frame).frame["transaction_amount"].map(str).tolist() == ["-1.50", "144.00", "-1.50"]
    assert loaded.items[2].datetime == build.NOON + dt.timedelta(microseconds=1)
    assert loaded.instance_id == "007"
    edit_workbook(file, lambda _sheet: None)
    pd.testing.assert_frame_equal(aa.Plan.load(file).frame, loaded.frame)


def test_edits_of_a_workbook_are_accepted(file):
    """Rows are deleted, columns added, the sheet renamed; a note names hidden rows, because they are in the plan."""

    def change(sheet):
        sheet.delete_rows(2)
        sheet.row_dimensions[3].hidden = True
        sheet.cell(1, 15, "my comment")
        sheet.cell(2, 15, "ask Eva")
        sheet.cell(9, 15, "total")
        sheet["I2"], sheet["J2"] = 4000, 4000
        sheet.title = "Sheet1"
        sheet.parent.create_sheet("my notes", 0)["A1"] = "ask Eva"

    edit_workbook(file, change)
    plan = aa.Plan.load(file)
    assert plan.frame["updated_category_ledger_id"].tolist() == ["4000", "meals"]
    assert plan.notes == ("1 hidden row of the plan file taken into the plan.",)
    assert plan.notes[0] in repr(plan)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"transaction_amount": Decimal("-12345678901234.56")}, "-12345678901234.56 has too many digits"),
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


def test_missing_extra(file, monkeypatch):
    """Without the extra the message says what to install, before a plan is made too."""
    plan = aa.Plan.load(file)
    for module, run in (("xlsxwriter", plan.save), ("openpyxl", aa.Plan.load)):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(PlanError, match=rf"{module}: pip install 'accounting-analytics\[excel\]'"):
            run(file)
