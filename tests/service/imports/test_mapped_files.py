"""Files of other programs, as these write them: imported with their sums, or every problem named with its line."""

import csv
import datetime as dt
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from accounting_analytics.errors import ImportRefusedError, InputError
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.imports.inspection import inspect_file
from accounting_analytics.service.storage.store import Store

FILES = Path(__file__).parent / "files"
SAMPLES = Path(__file__).parents[3] / "data" / "imports"
OUT, IN, OPENING = "Uncategorized Cash Outflow", "Uncategorized Cash Inflow", "Opening Balance Retained Earnings"
OWN_MAPPING = """
kind = "journal"
dates = ["%d.%m.%Y"]
decimal = ","
total = "^Summe"

[columns]
date = ["Belegdatum"]
number = ["Beleg"]
description = ["Text"]
account = ["Konto"]
amount = ["Betrag"]

[accounts]
"1000-1999" = "assets"
"4000-4999" = "income"
"6*" = "expenses"
"2100 Umsatzsteuer" = "liabilities:VAT:output"
"""


def file(name):
    """Return the path of a sample file, or of a file of these tests."""
    return SAMPLES / name if (SAMPLES / name).exists() else FILES / name


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports a file, with texts replaced, into a new database."""

    def imported(name, mapping=None, *, replace=(), **options):
        path = tmp_path / name
        content = file(name).read_bytes()
        for before, after in replace:
            assert before.encode() in content
            content = content.replace(before.encode(), after.encode(), 1)
        path.write_bytes(content)
        if mapping == "own.toml":
            (tmp_path / mapping).write_text(OWN_MAPPING, encoding="utf-8")
            mapping = str(tmp_path / mapping)
        with Store.open(tmp_path / "books.db") as store:
            instances = store.instances()
            instance = instances[0].id if instances else create_instance(store)
            return import_books(store, instance, path, mapping=mapping, **options)

    return imported


def balances(summary):
    """Debits less credits of each account."""
    amounts = {
        one.account: Decimal(one.debits.replace(",", "")) - Decimal(one.credits.replace(",", ""))
        for one in summary.accounts
    }
    return {account: amount for account, amount in amounts.items() if amount}


def test_quickbooks(imported):
    """The journal of QuickBooks: titles, totals, empty rows and filled-down dates; equal sales are two entries."""
    summary = imported("quickbooks_journal.csv", "quickbooks", cash=["assets:Checking", "liabilities:Visa*"])
    sums = defaultdict(Decimal)
    for row in csv.reader(file("quickbooks_journal.csv").read_text().splitlines()):
        if len(row) == 8 and row[5] not in {"", "Account"}:
            debit, credit = (Decimal(re.sub("[$,]", "", cell) or 0) for cell in row[6:])
            sums[row[5]] += debit - credit
    assert {account.partition(":")[2]: amount for account, amount in balances(summary).items()} | {
        "Accounts Receivable (A/R)": 0,
        "Accounts Payable (A/P)": 0,
        "Undeposited Funds": 0,
    } == sums
    assert (summary.entries, summary.lines) == (10, 22)
    types = {one.account: one.type for one in summary.accounts}
    assert types["expenses:Cost of Goods Sold:Green Coffee"] == "expense"
    assert types["income:Sales of Product Income"] == "revenue"
    assert types["equity:Owner's Equity"] == "equity"
    assert (summary.start_date, summary.end_date) == ("2025-01-02", "2025-02-14")
    again = imported("quickbooks_journal.csv", "quickbooks")
    assert (again.entries, again.known, again.missing) == (0, 10, ())


def test_quickbooks_as_workbook(imported, tmp_path):
    """The same journal as an Excel workbook, with dates and numbers instead of text, has the same entries."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in csv.reader(file("quickbooks_journal.csv").read_text().splitlines()):
        date = dt.datetime.strptime(row[0], "%m/%d/%Y") if re.fullmatch(r"[\d/]{10}", row[0]) else row[0] or None  # noqa: DTZ007
        book.active.append(
            [
                date,
                *row[1:6],
                *(float(re.sub("[$,]", "", cell)) if cell[:1] == "$" else cell or None for cell in row[6:]),
            ]
        )
    imported("quickbooks_journal.csv", "quickbooks", cash=["assets:Checking"])
    book.save(tmp_path / "journal.xlsx")
    with Store.open(tmp_path / "books.db") as store:
        (instance,) = store.instances()
        summary = import_books(store, instance.id, tmp_path / "journal.xlsx", mapping="quickbooks")
        book.active["G15"] = 1060.0
        book.active["A10"] = "soon"
        book.save(tmp_path / "journal.xlsx")
        with pytest.raises(ImportRefusedError) as refused:
            import_books(store, instance.id, tmp_path / "journal.xlsx", mapping="quickbooks")
    assert (summary.entries, summary.known, summary.missing) == (0, 10, ())
    assert [(one.line, one.problem) for one in refused.value.problems] == [
        ("row 10", "'soon' is not a date like 01/31/2025"),
        ("row 17", refused.value.problems[1].problem),
        ("row 14", refused.value.problems[2].problem),
    ]
    assert "total of debits is 1,118.40, the lines above it sum to 1,128.40" in refused.value.problems[1].problem
    assert "does not balance: debits exceed credits by 10.00" in refused.value.problems[2].problem


def test_xero(imported):
    """Xero's journal report: entries under their ids, accounts by numbers of the default chart; ids name changes."""
    summary = imported("xero_journal.csv", "xero", cash=["assets:*bank*"])
    assert balances(summary) == {
        "assets:Business Bank Account": Decimal("12422.06"),
        "equity:Owner A Funds Introduced": Decimal(-12000),
        "expenses:Bank Fees": Decimal("8.50"),
        "expenses:Printing & Stationery": Decimal("41.20"),
        "expenses:Rent": Decimal(900),
        "income:Sales": Decimal(-1150),
        "liabilities:VAT": Decimal("-221.76"),
    }
    assert (summary.entries, summary.lines) == (5, 13)
    replaced = (
        ("900.00,\n", "950.00,\n"),
        (",,900.00", ",,950.00"),
        ("900.00,900.00", "950.00,950.00"),
        ("15,717.94", "15,767.94"),
        ("15,717.94", "15,767.94"),
    )
    (changed,) = imported("xero_journal.csv", "xero", replace=replaced).changed
    assert "950.00 on expenses:Rent" in changed


@pytest.mark.parametrize(
    ("name", "mapping", "account", "expected"),
    [
        (
            "bank_statement.csv",
            "bank",
            None,
            {"assets:bank": "5034.11", OUT: "1326.22", IN: "-2150", OPENING: "-4210.33"},
        ),
        (
            "bank_statement_german.csv",
            "bank",
            "assets:giro",
            {"assets:giro": "2729.75", OUT: "1270.75", IN: "-2500", OPENING: "-1500.50"},
        ),
        ("bank_in_out.csv", "bank", None, {"assets:bank": "2469.75", OUT: "180.25", IN: "-650", OPENING: "-2000"}),
        ("card_statement.csv", "card", None, {"liabilities:credit card": "-11.99", OUT: "478.71", IN: "-466.72"}),
        (
            "bank_statement.ofx",
            None,
            "assets:checking",
            {"assets:checking": "6350.33", OUT: "10.00", IN: "-2150", OPENING: "-4210.33"},
        ),
        ("card.ofx", None, None, {"liabilities:credit card": "-54.12", OUT: "54.12"}),
    ],
)
def test_statements(imported, name, mapping, account, expected):
    """A statement's account ends with the balance that the bank states; every transaction waits to be categorized."""
    summary = imported(name, mapping, account=account)
    assert balances(summary) == {one: Decimal(amount) for one, amount in expected.items()}
    assert summary.cash == ((account or next(iter(expected))),)
    again = imported(name, mapping, account=account)
    assert (again.entries, again.changed, again.missing) == (0, (), ())


def test_own_mapping(imported):
    """A mapping that a person wrote: signed amounts, decimal commas, numbers of entries, types by number range."""
    summary = imported("own_journal.csv", "own.toml", cash=["assets:1200*"])
    assert balances(summary) == {
        "assets:1200 Bank": Decimal("1017.25"),
        "income:4400 Erlöse": Decimal(-1000),
        "liabilities:VAT:output": Decimal(-190),
        "expenses:6300 Büro": Decimal("172.75"),
    }
    assert (summary.entries, summary.lines) == (2, 5)


@pytest.mark.parametrize(
    ("name", "mapping", "replace", "problems"),
    [
        (
            "quickbooks_journal.csv",
            "quickbooks",
            [("$68.40,", "$86.40,"), ("01/27/2025", "01/32/2025"), ("Supplies,$312.07", "Mystery,$312.07")],
            [
                ("line 17", "2025-01-08", "its total of debits is 1,118.40, the lines above it sum to 1,136.40"),
                ("line 14", "2025-01-08", "does not balance: debits exceed credits by 18.00"),
                ("line 24", "", "'01/32/2025' is not a date like 01/31/2025"),
                ("line 37", "", "account 'Mystery' (1 lines) has no type"),
            ],
        ),
        (
            "quickbooks_journal.csv",
            "quickbooks",
            [('Rent or Lease,"$2,400.00"', 'Rent or Lease,"$2,4OO.00"'), ("01/28/2025,Deposit", ",Deposit")],
            [("line 11", "2025-01-03", "'$2,4OO.00' is not an amount"), ("line 28", "", "it has no date")],
        ),
        (
            "xero_journal.csv",
            "xero",
            [('3 Mar 2025,970,Owner A Funds Introduced,,"12,000.00"\n', ""), ("820,VAT,8.24", "820,VAT,8.42")],
            [
                ("line 7", "2025-03-03", "only one line"),
                ("line 8", "2025-03-03", "its total of credits is 12,000.00"),
                ("line 27", "2025-03-28", "does not balance"),
                ("line 31", "2025-03-28", "57.94, the lines above it sum to 58.12"),
            ],
        ),
        (
            "bank_statement.csv",
            "bank",
            [('03/14/2025,TRANSFER TO SAVINGS 8813,"-1,000.00","3,200.33"\n', ""), ("-18.40", "-81.40")],
            [
                ("line 9", "2025-03-14", "its balance 2,986.70 is not 4,200.33 of line 10 plus -213.63"),
                ("line 6", "2025-03-31", "plus -81.40"),
            ],
        ),
        (
            "bank_statement_german.csv",
            "bank",
            [("2.500,00;", "2,500,00;")],
            [("line 4", "07.01.2025", "'2,500,00' is not an amount")],
        ),
        ("bank_in_out.csv", "bank", [(",£650.00,", ",£6500.00,")], [("line 3", "2025-01-15", "plus 6,500.00")]),
        ("card_statement.csv", "card", [("412.60", "")], [("line 3", "01/09/2025", "it has no amount")]),
        ("card_statement.csv", "card", [("Amount", "Value")], [("line 1", "", "amount missing")]),
        (
            "bank_statement.ofx",
            None,
            [("<TRNAMT>-5.00", "<TRNAMT>-5.00x")],
            [("line 17", "", "'-5.00x' is not an amount")],
        ),
        (
            "card.ofx",
            None,
            [("<TRNAMT>-54.12", "<TRNAMT>-54.125")],
            [("line 17", "2025-03-05", "amount -54.125 does not fit")],
        ),
        (
            "card.ofx",
            None,
            [("<TRNAMT>-54.12", "<TRNAMT>-54.125")],
            [("line 17", "2025-03-05", "54.125 does not fit 2 fraction digits")],
        ),
        (
            "bank_statement.ofx",
            None,
            [("2025030302", "2025030301")],
            [("line 18", "", "'2025030301' appears 2 times, first on line 17")],
        ),
        (
            "own_journal.csv",
            "own.toml",
            [("-190,00", "-19,00"), ("6300", "7300")],
            [("line 2", "2025-01-31", "does not balance"), ("line 6", "", "'7300 Büro' (1 lines) has no type")],
        ),
    ],
)
def test_damaged_files(imported, name, mapping, replace, problems):
    """Each problem of a damaged file is named with its line and day, and there is not any other."""
    with pytest.raises(ImportRefusedError) as refused:
        imported(name, mapping, replace=replace)
    found = [(one.line, one.date) for one in refused.value.problems]
    assert sorted(set(found)) == sorted((line, date) for line, date, _ in problems)
    for line, _, text in problems:
        assert any(one.line == line and text in one.problem for one in refused.value.problems), refused.value.problems


def test_dates_that_can_be_read_in_two_ways(imported):
    """Where every day could be a month, the format must be given, as it is where a file proves none."""
    days = [
        ("03/31/2025", "03/11/2025"),
        ("03/28/2025", "03/10/2025"),
        ("03/21/2025", "03/09/2025"),
        ("03/14/2025", "03/08/2025"),
        ("03/14/2025", "03/08/2025"),
    ]
    with pytest.raises(ImportRefusedError, match=r"2025-03-11 \(%m/%d/%Y\) or 2025-11-03 .*--date-format"):
        imported("bank_statement.csv", "bank", replace=days)
    summary = imported("bank_statement.csv", "bank", replace=days, date_format="%d/%m/%Y")
    assert summary.end_date == "2025-11-03"


def test_the_next_statement(imported):
    """The statement of the next month, which overlaps, adds the new transactions and no second opening balance."""
    imported("bank_statement.csv", "bank")
    april = '04/02/2025,COSTCO GAS 0142,-30.00,"5,004.11"\n'
    summary = imported("bank_statement.csv", "bank", replace=[("03/31/2025,SQ", f"{april}03/31/2025,SQ")])
    assert (summary.entries, summary.known, summary.missing) == (1, 7, ())


@pytest.mark.parametrize(
    ("name", "mapping", "options"),
    [
        ("quickbooks_journal.csv", "quickbooks", {"cash": ["assets:Checking"]}),
        ("xero_journal.csv", "xero", {"cash": ["assets:*bank*"]}),
        ("bank_statement_german.csv", "bank", {}),
        ("bank_in_out.csv", "bank", {}),
    ],
)
def test_inspected_files(imported, tmp_path, name, mapping, options):
    """The mapping that an inspection prints imports the same entries as the shipped one, which it recognized."""
    inspected = inspect_file(file(name))
    (tmp_path / "printed.toml").write_text(inspected.mapping, encoding="utf-8")
    summary = imported(name, str(tmp_path / "printed.toml"), **options)
    again = imported(name, mapping)
    openings = int(mapping == "bank")  # the account has its opening balance already
    assert (again.entries, again.known, again.missing) == (0, summary.entries - openings, ())
    assert any(f"({mapping})" in finding for finding in inspected.findings)


def test_an_inspection_names_what_is_missing(tmp_path):
    """Columns and accounts that are not recognized are named, and have a place in the printed mapping."""
    inspected = inspect_file(file("own_journal.csv"))
    assert "columns that are not imported: Beleg, Belegdatum, Konto" in inspected.findings
    assert any(finding.startswith("missing: date") for finding in inspected.findings)
    assert 'date = ["?"]' in inspected.mapping
    text = file("quickbooks_journal.csv").read_text().replace("Supplies,$", "Mystery,$")
    (tmp_path / "journal.csv").write_text(text)
    inspected = inspect_file(tmp_path / "journal.csv")
    assert inspected.findings[-1] == "accounts without a type: Mystery"
    assert '"Mystery" = "?"' in inspected.mapping
    (tmp_path / "journal.csv").write_text("Date,Plus,Minus\n2025-01-02,1,\n")
    assert 'amount = ["?"]  # or debit and credit' in inspect_file(tmp_path / "journal.csv").mapping
    (tmp_path / "journal.csv").write_text("a,b\n1,2\n")
    assert "its first row of several cells is ['a', 'b']" in inspect_file(tmp_path / "journal.csv").findings[-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colums = 1", "unknown field"),
        ("[columns]\ndat = ['Date']", "unknown field"),
        ("kind = 'ledger'", "Invalid enum value"),
        ("extends = 'nothing'", "there is no mapping 'nothing'"),
        ("total = '('", "is not a regular expression"),
        ("x", "is not TOML"),
        ("extends = 'quickbooks'\n[accounts]\nChecking = 'bank'", "'Checking' = 'bank': a type is assets"),
    ],
)
def test_invalid_mappings(imported, tmp_path, text, message):
    """A mapping with a mistake is refused, and the message names it."""
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        imported("quickbooks_journal.csv", str(tmp_path / "wrong.toml"))


def test_a_journal_without_separators(imported, tmp_path):
    """Where a person removed totals and empty rows, entries end where they balance, which is noted."""
    rows = file("quickbooks_journal.csv").read_text().splitlines()[4:]
    kept = [row for row in rows if row.split(",")[5:6] not in ([""], []) and not row.startswith("TOTAL")]
    (tmp_path / "clean.csv").write_text("\n".join(kept))
    with Store.open(tmp_path / "books.db") as store:
        summary = import_books(store, create_instance(store), tmp_path / "clean.csv", mapping="quickbooks")
    assert (summary.entries, summary.lines) == (10, 22)
    assert any("each ends where its debits equal its credits" in note for note in summary.notes)
    again = imported("quickbooks_journal.csv", "quickbooks")
    assert (again.entries, again.known) == (0, 10)


@pytest.mark.parametrize(
    "heading",
    [
        "ID 7",
        "ID: 7",
        "Journal ID 7",
        "4 Mar 2025,ID 7",
        "ID 7,Posted 5 Mar 2025 by Ann Lee",
        "4 Mar 2025 ID 7 Posted 5 Mar 2025 by Ann Lee",
    ],
)
def test_headings_of_xero(tmp_path, heading):
    """The number of an entry is in a row above it, alone or with its day and who posted it."""
    day = "" if "4 Mar" in heading else "4 Mar 2025"
    lines = f"{day},Business Bank Account,5.00,\n{day},Sales,,5.00\nTotal,,5.00,5.00\n"
    accounts = '[accounts]\n"Sales" = "income"\n'
    (tmp_path / "own.toml").write_text(f'extends = "xero"\n{accounts}')
    (tmp_path / "journal.csv").write_text(f"Journal Report\n\nDate,Account,Debit,Credit\n{heading}\n{lines}")
    with Store.open(tmp_path / "books.db") as store:
        summary = import_books(
            store, create_instance(store), tmp_path / "journal.csv", mapping=str(tmp_path / "own.toml")
        )
        with store.reading() as connection:
            (entry_id,) = connection.exec_driver_sql("select id from journal_entries").scalars()
    assert (summary.entries, summary.start_date) == (1, "2025-03-04")
    assert entry_id.startswith("xero_7-")
