"""Decision files: written from a queue, filled in with a spreadsheet, and read back with every problem named."""

import csv
import datetime as dt
import io
import sys

import openpyxl
import pytest
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.edited_files import unguard
from accounting_analytics.core.errors import InputError
from accounting_analytics.recategorization.changes import BY_HAND
from accounting_analytics.recategorization.decisions import TRANSACTION, read_decisions, write_decision_file
from accounting_analytics.recategorization.open_queue import OpenQueue


@pytest.fixture(scope="module")
def card_and_bank_lines(builders):
    """Return two coffees, a supply, a formula, a split transaction, and a transfer."""
    return builders.payments(
        ("card", "-10.00", "SQ *BLUE BOTTLE"),
        ("card", "-30.00", "BLUE BOTTLE 1234"),
        ("bank", "-5.00", "STAPLES"),
        ("bank", "-4.00", "=1+1"),
        ("card", "-50.00", "ULINE", ("out", "20.00"), ("meals", "30.00")),
        ("bank", "-70.00", "TRANSFER"),
        ("card", "70.00", "PAYMENT"),
    )


@pytest.fixture(scope="module")
def queue(builders, card_and_bank_lines):
    return aa.uncategorized_queue(books_of(builders.ledgers, card_and_bank_lines))


@pytest.fixture
def write(builders):
    """Return a function that writes the groups of a queue, or its transactions."""

    def write(queue, file, time_zone="UTC", **options):
        return write_decision_file(OpenQueue(queue, builders.ledgers), file, time_zone=time_zone, **options)

    return write


@pytest.fixture
def file(tmp_path):
    return tmp_path / "decisions.csv"


def cells_of(file):
    """Return the rows of a file as a spreadsheet reads them."""
    return list(csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")))


def fill_in(file, categories, separator=",", encoding="utf-8-sig"):
    """Write categories into the rows whose description or counterparty is given, backwards, as Excel saves them."""
    rows = cells_of(file)
    for row in rows:
        row["category"] = categories.get(row["counterparty"], "") or categories.get(row.get("transaction_id"), "")
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0], delimiter=separator, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(reversed(rows))
    file.write_bytes(text.getvalue().encode(encoding))


def categories(proposals):
    return dict(zip(proposals["transaction_id"], proposals["updated_category_ledger_id"], strict=True))


def test_groups_are_written_largest_first_without_formulas(queue, file, write):
    assert write(queue, file, time_zone="Pacific/Auckland") == 5
    rows = cells_of(file)
    assert [(row["category"], row["kind"], row["counterparty"], row["amount"]) for row in rows] == [
        ("", "counterparty", "BLUE BOTTLE", "-40.00"),
        ("", "counterparty", "STAPLES", "-5.00"),
        ("", "counterparty", "'=1+1", "-4.00"),
        ("", "transfer", "PAYMENT", "70.00"),
        ("", "transfer", "TRANSFER", "-70.00"),
    ]
    assert (rows[0]["transaction_count"], rows[0]["first_date"], rows[0]["last_date"]) == (
        "2",
        "2025-03-11",
        "2025-03-12",
    )
    assert set(queue["description"]) > {row["description"] for row in rows if row["counterparty"] != "'=1+1"}
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("saved", [(",", "utf-8-sig"), (";", "utf-8"), ("\t", "utf-16")])
def test_filled_in_groups_are_decided(builders, queue, file, write, saved):
    write(queue, file)
    filled = {"BLUE BOTTLE": "Expenses:Meals", "STAPLES": " cogs ", "TRANSFER": "Transfers"}
    fill_in(file, filled, *saved)
    decided = aa.decide(queue, file, books_of(builders.ledgers))
    assert categories(decided) == {
        "txn-0-0": "meals", "txn-1-0": "meals", "txn-2-0": "cogs", "txn-5-0": "transfers",
    }  # fmt: skip
    assert set(decided["rule"]) == {f"{BY_HAND}: {key}" for key in read_decisions(file)}


@pytest.mark.parametrize("options", [{}, {"by": TRANSACTION}])
def test_a_workbook_is_filled_in(builders, queue, file, write, options):
    workbook = file.with_suffix(".xlsx")
    count = write(queue, workbook, **options)
    assert count == write(queue, file, **options)
    opened = openpyxl.load_workbook(workbook)
    offered = [cell.value for (cell,) in opened["choices"].iter_rows()]
    assert {"Expenses:Meals", "Transfers"} <= set(offered)
    assert offered == sorted(offered)
    assert not {"Bank", "Assets:Bank"} & set(offered)
    (validation,) = opened.active.data_validations.dataValidation
    assert (str(validation.sqref), validation.formula1, validation.errorStyle) == (
        f"A2:A{count + 1}", f"choices!$A$1:$A${len(offered)}", "warning",
    )  # fmt: skip
    header, *rows = opened.active.iter_rows()
    names = [cell.value for cell in header]
    values = [[cell.value for cell in row] for row in rows]
    assert [[one.date().isoformat() if isinstance(one, dt.datetime) else one for one in row] for row in values] == [
        [float(cell) if name.endswith("amount") else int(cell) if name == "transaction_count" else unguard(cell) or None
         for name, cell in row.items()] for row in cells_of(file)
    ]  # fmt: skip
    for row in rows:
        if row[names.index("transaction_id" if options else "counterparty")].value in {"BLUE BOTTLE", "txn-0-0"}:
            row[0].value = "Meals"
    opened.save(workbook)
    decided = aa.decide(queue, workbook, books_of(builders.ledgers))
    assert categories(decided) == {"txn-0-0": "meals"} | ({} if options else {"txn-1-0": "meals"})
    assert len(decided.attrs["notes"]) == 1


def test_transactions_have_precedence_over_their_group(builders, queue, file, tmp_path, write):
    write(queue, file, by=TRANSACTION)
    fill_in(file, {"txn-0-0": "Sales"})
    groups = tmp_path / "groups.csv"
    write(queue, groups)
    group = cells_of(groups)[0]["group_id"]
    with file.open("a", newline="") as opened:
        csv.DictWriter(opened, cells_of(file)[0]).writerow({"category": "Meals", "group_id": group})
    assert [(key, text) for key, (text, _) in read_decisions(file).items()] == [(group, "Meals"), ("txn-0-0", "Sales")]
    assert categories(aa.decide(queue, file, books_of(builders.ledgers))) == {
        "txn-0-0": "sales",
        "txn-1-0": "meals",
    }


def test_new_transactions_of_decided_groups_get_the_category(builders, card_and_bank_lines, queue, file, write):
    monday = queue[~queue["transaction_id"].isin(["txn-0-0"])]
    write(monday, file)
    fill_in(file, {"BLUE BOTTLE": "Meals", "STAPLES": "Loan"})
    tuesday = aa.uncategorized_queue(
        books_of(builders.ledgers, card_and_bank_lines[card_and_bank_lines["journal_entry_id"] != "entry-2"])
    )
    decided = aa.decide(tuesday, file, books_of(builders.ledgers))
    assert categories(decided) == {"txn-0-0": "meals", "txn-1-0": "meals"}
    undecided, absent = decided.attrs["notes"]
    assert undecided == "4 of 6 transactions not decided by hand."
    assert absent.startswith(f"1 of 2 decisions of {file} found no transaction of the queue")
    assert "'staples-" in absent
    assert absent.endswith("(row 5).")
    unchanged = aa.decide(monday, file, books_of(builders.ledgers))
    assert unchanged.attrs["notes"] == ("4 of 6 transactions not decided by hand.",)


def test_every_unusable_row_is_named(builders, queue, file, write):
    write(queue, file)
    fill_in(file, {"BLUE BOTTLE": "Meels", "STAPLES": "Bank", "TRANSFER": "Software"})
    with pytest.raises(InputError) as caught:
        aa.decide(queue, file, books_of(builders.ledgers))
    head, *problems = str(caught.value).splitlines()
    assert head == f"{file} cannot be used; correct these 3 problems:"
    expected = [
        ("row 2: decision 'transfer-transfer-", "several ledgers match 'Software'"),
        ("row 5: decision 'staples-", "'Bank' reports cash flow and cannot be a category"),
        ("row 6: decision 'blue-bottle-", "no discovered ledger matches 'Meels'; did you mean 'Meals'?"),
    ]
    for problem, (start, text) in zip(problems, expected, strict=True):
        assert problem.startswith(start)
        assert text in problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("category,group_id\n,a\n", "has no decision: the column category is empty"),
        ("category,counterparty\nMeals,a\n", "row 2: it has a category, but neither group_id nor transaction_id"),
        ("group_id,counterparty\na,b\n", "is not a file of decisions: the first row lacks category"),
        ("category,group_id\nMeals,\n", "row 2: it has a category, but neither group_id nor transaction_id"),
        ("category,group_id\nMeals,a\nSales,a\n", "row 3: 'a' has the category 'Sales' here, but 'Meals' in row 2"),
        ('category,group_id\nMeals,"a\n', "row 2 is not a row of CSV"),
        ("PK\x03\x04", "is not an Excel workbook, or damaged"),
        (b"category,group_id\nCaf\xe9,a\n", "it is not UTF-8 text"),
        (None, "cannot be read: No such file"),
    ],
)
def test_unusable_file_is_refused(file, text, message):
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        read_decisions(file)
    assert message in str(caught.value)


def test_a_file_is_not_replaced(queue, file, monkeypatch, write):
    """A file that exists may hold decisions; another format, or a file in no folder, cannot be written."""
    write(queue, file)
    with pytest.raises(InputError, match="exists and may hold decisions"):
        write(queue, file)
    with pytest.raises(InputError, match=r"give a name that ends in .xlsx or .csv"):
        write(queue, file.with_suffix(".ods"))
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(InputError, match=r"needs xlsxwriter: pip install"):
        write(queue, file.with_suffix(".xlsx"))
    with pytest.raises(InputError, match=r"folder .* does not exist"):
        write(queue, file.parent / "missing" / "a.csv")
