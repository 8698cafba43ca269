"""Plan files: exact round trip, no formulas for a spreadsheet, and located messages for invalid edits."""

import csv
import datetime as dt
import io
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.errors import PlanError
from accounting_analytics.schemas import PlanItems

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
IDS = TEXT.filter(lambda text: text and "|" not in text)
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


def test_saved_plan_loads_unchanged(plan, tmp_path):
    """A saved plan loads unchanged, and saving leaves no other file in the folder."""
    folder = tmp_path / "plans"
    folder.mkdir()
    plan.save(folder / "plan.csv")
    plan.save(folder / "plan.csv")
    loaded = aa.Plan.load(folder / "plan.csv")
    pd.testing.assert_frame_equal(loaded.frame, plan.frame)
    assert (loaded.plan_id, loaded.instance_id) == (plan.plan_id, plan.instance_id)
    assert [path.name for path in folder.iterdir()] == ["plan.csv"]


@settings.get_profile("slow")
@given(description=TEXT, ledger_id=IDS, instance=st.none() | TEXT.filter(bool), scale=st.integers(0, 10))
@example(description="=cmd|' /C calc'!A0", ledger_id="+1", instance="-1", scale=0)
@example(description="'", ledger_id="'", instance="''", scale=10)
@example(description='a\r\nb\n"c",\rd', ledger_id="00123", instance=None, scale=2)
def test_any_text_survives(build, tmp_path_factory, *, description, ledger_id, instance, scale):
    """Any text and amount survives saving and loading, at any scale; no cell is a formula."""
    file = tmp_path_factory.mktemp("plan") / "plan.csv"
    items = [
        build.item(ledger_id, ledger_id, "out", ledger_id + "2", description=description, opposing=["out", ledger_id])
        | {"amount": Decimal(-5).scaleb(-scale), "category_amount": Decimal(-3).scaleb(-scale)}
    ]
    frame = PlanItems.from_columns(
        {name: [one[name] for one in items] for name in PlanItems.to_schema().columns}, scale
    )
    plan = aa.Plan(frame, instance_id=instance)
    plan.save(file)
    loaded = aa.Plan.load(file)
    pd.testing.assert_frame_equal(loaded.frame, plan.frame)
    assert loaded.instance_id == instance
    numbers = {"amount", "category_amount"}
    header, *rows = cells_of(file)
    texts = [cell for row in rows for name, cell in zip(header, row, strict=True) if name not in numbers]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in texts)


def test_large_amounts_survive(build, tmp_path):
    """A plan with an amount of too many digits for float64 loads with decimals; other plans load with float64."""
    for amount, dtype in (
        ("-9999999999999.99", "float64"),
        ("-10000000000000.00", pd.ArrowDtype(pa.decimal128(38, 2))),
    ):
        plan = build.plan(None, build.item("t", "bank", "out", "meals", amount=Decimal(amount)), as_decimals=True)
        plan.save(tmp_path / "plan.csv")
        frame = aa.Plan.load(tmp_path / "plan.csv").frame
        assert frame["amount"].dtype == dtype
        assert PlanItems.exact(frame).frame["amount"].tolist() == [Decimal(amount)]


@pytest.mark.parametrize("identifier", CONVERTED)
def test_ids_are_safe_from_spreadsheets(build, tmp_path, identifier):
    """An id that a spreadsheet would convert is saved with a leading apostrophe and loaded without it."""
    build.plan(None, build.item(identifier, identifier, "out", "meals")).save(tmp_path / "plan.csv")
    assert cells_of(tmp_path / "plan.csv")[1][0] == f"'{identifier}"
    assert aa.Plan.load(tmp_path / "plan.csv").frame["transaction_id"].tolist() == [identifier]


@pytest.mark.parametrize("identifier", ["txn_12", "led_0a1b", "550e8400-e29b-41d4-a716-446655440000", "march"])
def test_other_ids_are_saved_unchanged(build, tmp_path, identifier):
    """Ids that no spreadsheet converts are saved as they are."""
    build.plan(None, build.item(identifier, "bank", "out", "meals")).save(tmp_path / "plan.csv")
    assert cells_of(tmp_path / "plan.csv")[1][0].removeprefix("'") == identifier


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
        (lambda text: text.replace("-1.50", "-1,50"), "rows 2, 3: more cells than the 14 columns"),
        (lambda text: text.replace("-1.50", "four", 1), "row 2: amount: 'four' is not an amount"),
        (lambda text: text.replace("-1.50", "", 1), "row 2: amount: the cell is empty"),
        (lambda text: text.replace("-1.50", "-1.2E+15", 1), "row 2: amount: '-1.2E+15' lacks digits"),
        (lambda text: text.replace("by hand", "", 1), "row 2: rule: the cell is empty"),
        (lambda text: text.replace("txn_1", "1.2E+15"), "row 3: transaction_id: a spreadsheet changed the id to '1.2E"),
        (
            lambda text: text + "Total,,,,,-3.00,,,,,,,,\r\n",
            "row 4: category_ledger_id, datetime, journal_entry_id, ledger_id",
        ),
        (lambda text: text.replace("txn_1", "#N/A"), "row 3: transaction_id: a spreadsheet changed the id to '#N/A'"),
        (lambda text: text.replace("bank", "123"), "rows 2, 3: ledger_id: a spreadsheet changed the id to '123'"),
        (lambda text: text.replace(",out,inst", ",TRUE,inst", 1), "row 2: opposing_ledger_ids: a spreadsheet changed"),
        (lambda text: text.replace("transaction_id", "id"), "is not a plan"),
        (lambda text: text.replace("transaction_id", "id"), "the first row lacks transaction_id; it has 1 other"),
        (lambda text: text.replace("rule", "description", 1), "the first row lacks rule"),
        (lambda text: text.replace("instance_id", "instance_id,rule", 1), "a column appears twice"),
        (lambda text: f'"{text.replace(chr(13) + chr(10), chr(34) + chr(10) + chr(34))}"', "all columns are in one"),
        (lambda _: "PK\x03\x04\0\0", "it is not an Excel workbook, or damaged"),
        (lambda _: "[" * 200_000, "row 1 is not a row of CSV: field larger than field limit"),
        (lambda text: text.replace("2025-03-10", "10.03.2025", 1), "row 2: datetime: '10.03.2025T12:00:00+00"),
        (lambda text: text.replace("2025-03-10T12:00:00+00:00", "######"), "rows 2, 3: datetime: '######' is not"),
        (lambda text: text.replace(",meals,", ",,", 1), "row 2: updated_category_ledger_id is empty; pass ledgers="),
        (lambda text: text + text.splitlines(keepends=True)[1], "rows 2, 4: transaction txn_0 appears twice"),
        (lambda text: text.replace(",meals,Name of", ",out,Name of", 1), "row 2: transaction txn_0 already has its"),
        (lambda text: text.replace(",inst\r", ",other\r", 1), "different instances"),
        (lambda text: text + '"', "row 4"),
        (lambda _: "", "is not a plan: its first row is empty, not the names"),
        (lambda _: "Dear diary", "is not a plan"),
    ],
)
def test_invalid_edits_are_refused(edited, edit, message):
    """A file with an invalid edit is refused; the message names the row as a spreadsheet numbers it."""
    with pytest.raises(PlanError) as caught:
        edited(edit)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_problems_are_listed(build, tmp_path):
    """Every row that is not valid is listed, the first 20 problems, and rows with the same problem together."""
    file = tmp_path / "plan.csv"
    build.plan(None, *(build.item(f"t{number}", "bank", "out", "meals") for number in range(30))).save(file)
    header, *rows = cells_of(file)
    place = {name: header.index(name) for name in header}
    for number, row in enumerate(rows):
        row[place["amount"]] = f"x{number}"
        row[place["rule"]] = ""
    with file.open("w", newline="") as opened:
        csv.writer(opened).writerows([header, *rows])
    with pytest.raises(PlanError) as caught:
        aa.Plan.load(file)
    first, *lines = str(caught.value).splitlines()
    assert first == f"{file} cannot be used, and nothing was sent; correct these 31 problems:"
    assert lines[:2] == [
        "rows 2, 3, 4 and 27 more: rule: the cell is empty",
        "row 2: amount: 'x0' is not an amount; write it like 1234.50",
    ]
    assert len(lines) == 21
    assert lines[-1] == "and 11 more"


def test_valid_edits_are_accepted(edited):
    """Rows may be deleted or sorted, blank rows added, columns moved, and id and name changed together."""
    header_and_one = edited(lambda text: "".join(text.splitlines(keepends=True)[:2]))
    assert header_and_one.frame["transaction_id"].tolist() == ["txn_0"]
    assert len(edited(lambda text: text + ",,,,,,,,,,,,\r\n\r\n")) == 2
    renamed = edited(lambda text: text.replace(",meals,Name of meals", ",rent,Rent", 1))
    assert renamed.frame["updated_category_ledger_id"].tolist() == ["rent", "meals"]
    swapped = edited(_columns_reversed)
    assert swapped.frame["transaction_id"].tolist() == ["txn_0", "txn_1"]
    assert len(edited(lambda text: text.splitlines(keepends=True)[0])) == 0


def _columns_reversed(text):
    written = io.StringIO(newline="")
    csv.writer(written).writerows(row[::-1] for row in csv.reader(io.StringIO(text, newline="")))
    return written.getvalue()


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
        amount = f"{Decimal(row[header.index('amount')]).normalize():f}"
        row[header.index("amount")] = amount.replace(".", ",") if comma else amount
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
    amounts = plan.frame["amount"].iloc[list(dict.fromkeys(kept))]
    assert loaded.frame["amount"].tolist() == amounts.tolist()


def test_file_errors_name_the_cause(build, tmp_path):
    """A missing folder, a missing file and a file of another kind are plan errors that name the cause."""
    plan = build.plan(None, build.item("t", "bank", "out", "meals"))
    with pytest.raises(PlanError, match=r"plan was not saved: .* cannot be written"):
        plan.save(tmp_path / "nowhere" / "plan.csv")
    with pytest.raises(PlanError, match="cannot be read"):
        aa.Plan.load(tmp_path / "plan.csv")
    (tmp_path / "plan.csv").write_bytes("Caf\u00e9".encode("cp1252"))
    with pytest.raises(PlanError, match="not UTF-8"):
        aa.Plan.load(tmp_path / "plan.csv")
    (tmp_path / "plan.csv").write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(PlanError, match=r"old format \(.xls\)"):
        aa.Plan.load(tmp_path / "plan.csv")
