"""Journal reports of QuickBooks and Xero as books: figures, decisions, totals, balances, and what is refused."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import AccountingAnalyticsError, ImportRefusedError

IMPORTS = Path(__file__).parents[2] / "data" / "imports"
QUICKBOOKS = {
    "kind": "quickbooks",
    "time_zone": "America/New_York",
    "currency": "USD",
    "accounts": {
        "Checking": "assets:bank:checking",
        "Undeposited Funds": "assets:undeposited funds",
        "Accounts Receivable (A/R)": "assets:receivable",
        "Accounts Payable (A/P)": "liabilities:payable",
        "Visa Business Card": "liabilities:card",
        "Owner's Equity": "equity:owner",
        "Sales of Product Income": "income:sales",
        "Services": "income:services",
        "Cost of Goods Sold": "expenses:cost of goods sold",
        "Rent or Lease": "expenses:rent",
        "Supplies": "expenses:supplies",
    },
    "date_order": "month day year",
    "decimal_mark": ".",
    "cash": ["assets:bank*", "liabilities:card"],
    "opening": "2025-01-01",
    "closing": {"assets:bank:checking": "22314.60", "liabilities:card": Decimal("312.07")},
    "period": "2025-01/2025-02",
}
XERO = {
    "kind": "xero",
    "time_zone": "Europe/London",
    "currency": "GBP",
    "accounts": {
        "Business Bank Account": "assets:bank:business",
        "Accounts Receivable": "assets:receivable",
        "VAT": "liabilities:VAT",
        "Owner A Funds Introduced": "equity:owner A",
        "Sales": "income:sales",
        "Rent": "expenses:rent",
        "Bank Fees": "expenses:bank fees",
        "Printing & Stationery": "expenses:printing",
    },
    "date_order": "day month year",
    "decimal_mark": ".",
    "cash": "assets:bank*",
    "opening": "2025-03-01",
    "closing": {"assets:bank:business": "12422.06"},
    "period": "2025-03",
}
FILES = {"quickbooks": (IMPORTS / "quickbooks_journal.csv", QUICKBOOKS), "xero": (IMPORTS / "xero_journal.csv", XERO)}


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens a sample in which a text was replaced, with other options; None leaves one out."""

    def open_sample(kind, old="", new="", **options):
        sample, given = FILES[kind]
        text = sample.read_text(encoding="utf-8")
        assert old in text
        file = tmp_path / "journal.csv"
        file.write_text(text.replace(old, new) if old else text, encoding="utf-8")
        chosen = {name: value for name, value in {**given, **options}.items() if value is not None}
        return aa.open_accounting_export(file, **chosen)

    return open_sample


@pytest.fixture
def refusal(opened):
    """Return a function that opens a changed sample, and returns why it is refused, without the name of the file."""

    def message(kind, old="", new="", **options):
        with pytest.raises(ImportRefusedError) as refused:
            opened(kind, old, new, **options)
        return str(refused.value).removeprefix("journal.csv: nothing was read: ")

    return message


def value(statement, row, column=-1):
    return statement[row, statement.columns[column].key].exact()


def test_quickbooks_report_is_books(opened):
    books = opened("quickbooks", company="Ridgeline")
    income = aa.income_statement(books)
    assert [value(income, "net_income", column) for column in (0, 1)] == [Decimal("-2877.90"), Decimal("-119.57")]
    assert value(income, "expenses:cost of goods sold:Green Coffee", 0) == Decimal("1050.00")
    assert value(aa.balance_sheet(books), "assets:bank:checking") == Decimal("22314.60")
    assert books.opening.sentence() == "Balances are sums since 1 Jan 2025, the first day of the books."
    assert books.notes[:2] == (
        "Compared with the lines, and equal: the totals of 10 entries, the totals of all lines.",
        "Compared with the entries, and equal: the closing balance of assets:bank:checking, liabilities:card.",
    )
    assert len(books.lines) == 22
    sales = books.lines[books.lines["journal_entry_description"].str.startswith("Sales Receipt")]
    assert sales["journal_entry_id"].nunique() == 2
    assert set(sales["transaction_description"].dropna()) == {"Walk-in"}
    assert opened("quickbooks").lines["id"].tolist() == books.lines["id"].tolist()


def test_xero_ids_are_numbers_of_journals(opened):
    books = opened("xero")
    assert value(aa.income_statement(books), "net_income") == Decimal("200.30")
    assert value(aa.cash_flow_statement(books), "net_cash_flow") == Decimal("12422.06")
    assert set(books.lines["journal_entry_id"]) == {f"xero-{number}" for number in (2041, 2042, 2043, 2044, 2047)}
    assert set(books.lines["journal_entry_description"]) >= {"Journal 2041"}


def test_without_an_opening_balances_are_movements(opened):
    books = opened("xero", opening=None, closing=None)
    assert books.opening.is_movement
    assert "No balance was compared with the entries (closing=)." in books.notes
    given = opened("xero", opening={"assets:bank:business": "100.00"}, closing={"assets:bank:business": "12522.06"})
    assert value(aa.cash_flow_statement(given), "ending_cash_balance") == Decimal("12522.06")


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        ("date_order", "'day month year' reads 1 Feb 2025, 1 Mar 2025, 1 Aug 2025; 'month day year' reads 2 Jan 2025"),
        ("decimal_mark", "'.' reads 25,000.00, 25,000.00, 2,400.00; ',' reads no amount, no amount, no amount"),
        ("accounts", "{'Checking': '', \"Owner's Equity\": '', 'Rent or Lease': ''"),
    ],
)
def test_a_decision_that_is_not_stated_is_refused_with_its_readings(refusal, left_out, message):
    found = refusal("quickbooks", **{left_out: None})
    assert found.startswith(f"decisions are not stated:\n- {left_out}= ")
    assert message in found


WALK_IN = "02/14/2025,Sales Receipt,1044,Walk-in,,Checking,$96.25,\n,,,Walk-in,5 bags,Sales of Product Income,,$96.25\n"
RENT = (
    "ID 2043,,,,\n11 Mar 2025,469,Rent,900.00,\n11 Mar 2025,090,Business Bank Account,,900.00\nTotal,,,900.00,900.00\n"
)


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        (
            "quickbooks",
            WALK_IN,
            "",
            "line 44: it states totals of 96.25 and 96.25, and 20 lines from line 6 on sum to 31,966.62",
        ),
        ("quickbooks", "01/08/2025", "08/01/2025", "line 14: 1 Aug 2025 is not in the period, Jan 2025 to Feb 2025"),
        (
            "quickbooks",
            "01/08/2025",
            "13/01/2025",
            "line 14: '13/01/2025' is not a day by 'month day year'; by 'day month",
        ),
        ("quickbooks", ",Supplies,", ",Packaging,", "line 37: account 'Packaging' has no path: add it to accounts="),
        ("quickbooks", ",$68.40,", ",$68.40,$1.00", "line 16: it has a debit and a credit"),
        (
            "quickbooks",
            ",$68.40,",
            ',"68,40",',
            "line 16: '68,40' is not an amount with the decimal mark '.'; with ',' it",
        ),
        (
            "quickbooks",
            ",$68.40,",
            ",€68.40,",
            "line 16: '€68.40' is not an amount with the decimal mark '.' of USD: it is",
        ),
        (
            "quickbooks",
            ',,,,,,"$1,118.40","$1,118.40"\n,,,,,,,\n01/15/2025',
            "01/15/2025",
            "line 14: this entry has no row of totals, as others have",
        ),
        (
            "xero",
            RENT,
            "",
            "line 30: it states totals of 15,717.94 and 15,717.94, and 11 lines from line 7 on sum to 14,817",
        ),
        (
            "xero",
            "11 Mar 2025",
            "Mar 11 2025",
            "line 18: 'Mar 11 2025' is not a day by 'day month year'; by 'month day",
        ),
        (
            "xero",
            "469,Rent,900.00,",
            "469,Rent,,900.00",
            "line 20: it states totals of 900.00 and 900.00, and 2 lines from line 18 on",
        ),
        ("xero", "Total,,,900.00,900.00\n", "", "line 18: this entry has no row of totals, as others have"),
        ("xero", "ID 2043,,,,\n", "", "line 17: no row with the number of its entry"),
        (
            "xero",
            "ID 2044",
            "ID 2043",
            "line 23: entry 2043 is on line 18 too: it is doubled, or its lines are in two places",
        ),
        ("xero", "Debit,Credit\n", "Soll,Haben\n", "no line has the headings 'Debit', 'Credit'; its headings are"),
    ],
)
def test_damaged_file_is_refused_with_its_first_wrong_line(refusal, kind, old, new, message):
    assert message in refusal(kind, old, new)


def test_closing_balance_is_compared(refusal):
    assert "a closing balance of assets:bank:business of 12,422.05 is stated, and" in refusal(
        "xero", closing={"assets:bank:business": "12422.05"}
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opening": None}, "closing is compared with the opening balances and the entries: state opening="),
        ({"closing": {"assets:bank": 1}}, "closing: 'assets:bank' has no entry; the accounts are assets:bank:business"),
        ({"closing": {"assets:bank:business": 1.5}}, "closing, assets:bank:business: an amount is exact"),
    ],
)
def test_closing_without_an_opening_or_entries_is_refused(opened, options, message):
    with pytest.raises(AccountingAnalyticsError, match=re.escape(message)):
        opened("xero", **options)


def test_another_program_is_refused():
    with pytest.raises(AccountingAnalyticsError, match="kind is 'sage', and not one of 'quickbooks', 'xero'"):
        aa.open_accounting_export(IMPORTS / "xero_journal.csv", **{**XERO, "kind": "sage"})


def test_without_cash_the_likely_accounts_are_named(refusal):
    assert "likely: assets:bank:checking, liabilities:card" in refusal("quickbooks", cash=None)


def test_an_entry_without_amounts_is_left_out(opened):
    """A voided entry has lines of zero, or none."""
    voided = "02/11/2025,Expense,,Rio,Voided,Checking,$0.00,\n,,,Rio,Voided,Supplies,,\n,,,,,,$0.00,$0.00\n,,,,,,,\n"
    books = opened("quickbooks", "02/14/2025,Sales Receipt,1043", f"{voided}02/14/2025,Sales Receipt,1043")
    assert len(books.lines) == 22
    assert "Entries without amounts, such as voided ones, were left out: line 40." in books.notes


def test_numbers_of_entries_separate_them(tmp_path):
    """As a report of the desktop program has them, which repeats no day and has no empty rows."""
    file = tmp_path / "journal.csv"
    file.write_text(
        "Trans #,Type,Date,Num,Name,Memo,Account,Debit,Credit\n"
        "1,Check,01/03/2025,12,Landlord,January,Checking,,900.00\n"
        ",,,,Landlord,January,Rent,900.00,\n"
        "2,Deposit,01/04/2025,,Cafe,,Checking,50.00,\n"
        ",,,,Cafe,,Sales,,50.00\n",
        encoding="utf-8",
    )
    accounts = {"Checking": "assets:bank:checking", "Rent": "expenses:rent", "Sales": "income:sales"}
    options = {**QUICKBOOKS, "accounts": accounts, "closing": {}, "cash": "assets:bank*", "period": None}
    books = aa.open_accounting_export(file, **options)
    assert set(books.lines["journal_entry_id"]) == {"quickbooks-1", "quickbooks-2"}
    assert set(books.lines["journal_entry_description"]) == {"Check 12 Landlord", "Deposit Cafe"}
    assert any(note.startswith("The file states no totals, so a line that is missing") for note in books.notes)


QB_HEAD = "Date,Transaction Type,Num,Name,Memo,Account,Debit,Credit\n"
NEW_QB_HEAD = "Transaction date,Transaction type,Num,Name,Description,Full name,Debit,Credit\n"
LINES = (
    "01/03/2025,Check,12,Landlord,January,Checking,,900.00\n01/03/2025,Check,12,Landlord,January,Rent,900.00,\n"
    "01/04/2025,Deposit,,Cafe,,Checking,50.00,\n01/04/2025,Deposit,,Cafe,,Sales,,50.00\n"
)
XERO_LINES = (
    "2041,3 Jan 2025,090,Checking,,900.00\n2041,3 Jan 2025,469,Rent,900.00,\n"
    "2042,4 Jan 2025,090,Checking,50.00,\n2042,4 Jan 2025,200,Sales,,50.00\n"
)
XERO_HEAD = "Date,Account Code,Account,Debit,Credit\n"
XERO_ENTRIES = (
    "ID 2041,,,,\n3 Jan 2025,090,Checking,,900.00\n3 Jan 2025,469,Rent,900.00,\nTotal,,,900.00,900.00\n"
    "{between}ID 2042,,,,\n4 Jan 2025,090,Checking,50.00,\n4 Jan 2025,200,Sales,,50.00\nTotal,,,50.00,50.00\n"
)
SMALL = {"Checking": "assets:bank:checking", "Rent": "expenses:rent", "Sales": "income:sales"}
CODES = {"090": "assets:bank:checking", "469": "expenses:rent", "200": "income:sales"}


@pytest.fixture
def opened_text(tmp_path):
    """Return a function that opens a text as the report of a program."""

    def open_text(kind, text, **options):
        file = tmp_path / "journal.csv"
        file.write_text(text, encoding="utf-8")
        given = {**FILES[kind][1], "accounts": SMALL, "cash": "assets:bank*", **options}
        for name in ("opening", "closing", "period"):
            del given[name]
        return aa.open_accounting_export(file, **given)

    return open_text


@pytest.mark.parametrize(
    ("kind", "text", "options"),
    [
        ("quickbooks", NEW_QB_HEAD + LINES, {}),
        ("quickbooks", QB_HEAD + LINES + "TOTAL,,,,,,950.00,950.00\n", {}),
        ("quickbooks", QB_HEAD + LINES.replace(",50.00,", ",,-50.00"), {}),
        ("quickbooks", QB_HEAD + LINES.replace(",,900.00", ",-,900.00"), {}),
        (
            "quickbooks",
            QB_HEAD + LINES.replace("\n01/04/2025,Deposit,,Cafe,,Sales", "\n,,,,a note,,,\n,,,Cafe,,Sales"),
            {},
        ),
        ("xero", XERO_HEAD + XERO_ENTRIES.format(between=XERO_HEAD), {}),
        (
            "xero",
            XERO_HEAD + XERO_ENTRIES.format(between="").replace("ID 2041,", '"ID: 2041 | Posted 3 Jan by A",'),
            {},
        ),
        ("xero", "Journal #,Date,Account Code,Account,Debit,Credit\n" + XERO_LINES + "Total,,,,950.00,950.00\n", {}),
        ("xero", "Journal #,Date,Account Code,Label,Debit,Credit\n" + XERO_LINES, {"accounts": CODES}),
    ],
)
def test_layouts_of_the_same_entries_are_the_same_books(opened_text, kind, text, options):
    books = opened_text(kind, text, **options)
    own = books.lines[books.lines["ledger_name"] == "checking"]
    assert list(zip(own["local_date"].dt.day, own["signed_amount"], strict=True)) == [(3, -900.0), (4, 50.0)]
    assert books.lines["journal_entry_id"].nunique() == 2
    assert value(aa.income_statement(books), "net_income") == Decimal("-850.00")


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("quickbooks", QB_HEAD + LINES.replace("Sales,,50.00", ",,50.00"), "line 5: it has an amount and no account"),
        ("quickbooks", QB_HEAD + LINES + QB_HEAD + LINES, "line 6: the headings are here again"),
        (
            "quickbooks",
            QB_HEAD + LINES.replace(",50.00,", ",50.00 CR,"),
            "line 4: '50.00 CR' says CR in a column of one",
        ),
        (
            "quickbooks",
            QB_HEAD + LINES.replace("Rent,", "Space:Rent,"),
            "no path: add it or 'Space', which it is below,",
        ),
        (
            "quickbooks",
            QB_HEAD.replace("\n", ",Currency\n") + LINES.replace("\n", ",EUR\n"),
            "'Currency' says 'EUR', and currency= 'USD'",
        ),
    ],
)
def test_a_file_that_could_be_read_wrong_is_refused(opened_text, kind, text, message):
    with pytest.raises(ImportRefusedError, match=re.escape(message)):
        opened_text(kind, text)


def test_days_of_another_order_and_equal_entries_are_noted(opened_text):
    entry = "01/03/2025,Deposit,,Cafe,,Checking,50.00,\n,,,Cafe,,Sales,,50.00\n,,,,,,50.00,50.00\n"
    notes = opened_text("quickbooks", QB_HEAD + entry * 2).notes
    assert "1 entry with the day and the lines of another one were read too." in notes
    assert any("3 Jan 2025 by date_order 'month day year', and would be 1 Mar 2025 by" in one for one in notes)
    with pytest.raises(AccountingAnalyticsError, match="accounts is of type list, not Mapping"):
        opened_text("quickbooks", QB_HEAD + entry, accounts=["Checking"])
