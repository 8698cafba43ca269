"""hledger's CSV: what is imported from it, and what is refused with advice."""

import csv
import datetime as dt
import subprocess
from decimal import Decimal

import pytest

from accounting_analytics.errors import ImportRefusedError
from accounting_analytics.service.imports.book_files import read_books
from accounting_analytics.service.imports.hledger_csv import COLUMNS
from accounting_analytics.service.imports.parsed_books import ImportOptions

HEADER = (*COLUMNS, "date2", "code", "credit", "debit")


@pytest.fixture
def write(tmp_path):
    """Return a function that writes postings (txnidx, account, amount, commodity) with other fields."""

    def write(*postings, **entry):
        path = tmp_path / "printed.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, HEADER, restval="", quoting=csv.QUOTE_ALL)
            table.writeheader()
            for index, account, amount, commodity in postings:
                posting = {"txnidx": index, "account": account, "amount": amount, "commodity": commodity}
                table.writerow({"date": "2025-01-02", "description": "x"} | entry | posting)
        return path

    return write


def test_an_entry_with_all_its_fields(write):
    """Rows of one txnidx are one entry at noon; a cleared status means reviewed, a comment is the description."""
    path = write(
        ("1", "assets:bank", "-3.50", "$"),
        ("1", "expenses:food", "3.50", "$"),
        description='Coffee "x" | note',
        comment="with: tag, more",
        status="*",
    )
    books = read_books(path, ImportOptions(cash=["assets:bank"], time_zone="Asia/Tokyo"))
    (entry,) = books.entries
    bank, food = entry.lines
    assert entry.datetime == dt.datetime(2025, 1, 2, 3, tzinfo=dt.UTC)
    assert entry.description == 'Coffee "x" | note'
    assert (bank.debit_credit, bank.amount, bank.description) == ("credit", Decimal("3.50"), "with: tag, more")
    assert (bank.transaction.description, bank.transaction.review_status) == ('Coffee "x" | note', "reviewed")
    assert (food.debit_credit, food.transaction) == ("debit", None)
    assert books.cash == ("assets:bank",)


@pytest.mark.parametrize(("status", "reviewed"), [("*", "reviewed"), ("!", "unreviewed"), ("", "unreviewed")])
def test_status(write, status, reviewed):
    """Only a cleared entry is reviewed."""
    path = write(("1", "assets:bank", "-1", "$"), ("1", "expenses:food", "1", "$"), status=status)
    (entry,) = read_books(path, ImportOptions(cash=["assets:bank"])).entries
    assert entry.lines[0].transaction.review_status == reviewed


def test_several_commodities_are_refused_by_name(write):
    """A file with several commodities is refused with a list of them; amounts without one are listed too."""
    path = write(
        ("1", "assets:bank", "-3.50", "$"),
        ("1", "expenses:food", "3.50", "$"),
        ("2", "assets:vacation", "5", "VACHR"),
        ("2", "income:vacation", "-5", "VACHR"),
        ("3", "assets:other", "5", ""),
        ("3", "income:other", "-5", ""),
    )
    with pytest.raises(ImportRefusedError, match=r"several commodities: \(no commodity\), \$, VACHR; select one"):
        read_books(path)
    books = read_books(path, ImportOptions(commodity="$"))
    assert len(books.entries) == 1
    assert books.notes == ("4 lines in other commodities than $ were left out, among them 2 complete entries",)
    with pytest.raises(ImportRefusedError, match=r"no amounts in commodity 'EUR'; it has \(no commodity\), \$, VACHR"):
        read_books(path, ImportOptions(commodity="EUR"))


def test_lines_in_the_selected_commodity_are_imported_from_mixed_entries(write):
    """Of an entry in two commodities, the lines in the selected one are imported, and bare zeros too."""
    path = write(
        ("1", "assets:bank", "100.00", "USD"),
        ("1", "income:salary", "-100.00", "USD"),
        ("1", "assets:vacation", "4.62", "VACHR"),
        ("1", "income:vacation", "-4.62", "VACHR"),
        ("1", "expenses:none", "0", ""),
    )
    books = read_books(path, ImportOptions(commodity="USD"))
    assert [len(entry.lines) for entry in books.entries] == [3]
    assert "assets:vacation" not in {ledger.name for ledger in books.ledgers}


def test_a_selected_commodity_must_balance(write):
    """A purchase of shares does not balance in money alone, and is refused with its first line."""
    path = write(
        ("1", "assets:bank", "-2.00", "USD"),
        ("1", "equity:opening", "2.00", "USD"),
        ("2", "assets:shares", "10.12345", "VTI"),
        ("2", "assets:bank", "-1000.00", "USD"),
        ("2", "expenses:fee", "4.95", "USD"),
    )
    with pytest.raises(
        ImportRefusedError, match=r"line 5: entry .* does not balance: debits exceed credits by -995.05"
    ):
        read_books(path, ImportOptions(commodity="USD"))


def test_one_commodity_needs_no_choice(write):
    """A file with one commodity or none is imported without a selection; a bare zero is not another commodity."""
    assert len(read_books(write(("1", "assets:a", "1", ""), ("1", "equity:b", "-1", ""))).entries) == 1
    path = write(("1", "assets:a", "1", "€"), ("1", "equity:b", "-1", "€"), ("1", "expenses:c", "0", ""))
    assert len(read_books(path).entries[0].lines) == 3


@pytest.mark.parametrize(
    ("posting", "message"),
    [
        (("1", "assets:bank", "1000,50", "EUR"), r"line 2: '1000,50' is not an amount.*-c '1000.00 EUR'"),
        (("1", "assets:bank", "1.005", "$"), r"line 2: amount '1.005' does not fit 2 fraction digits"),
        (("1", "Bank", "1", "$"), r"line 2: account 'Bank' is neither"),
    ],
)
def test_invalid_postings(write, posting, message):
    """Decimal commas, too many digits and unknown account types are refused with the line and advice."""
    with pytest.raises(ImportRefusedError, match=message):
        read_books(write(posting, ("1", "equity:x", "-1", posting[3])))


def test_columns_are_required(tmp_path):
    """A CSV without a required column is refused with the name of the column."""
    header = ",".join(name for name in COLUMNS if name != "commodity")
    (tmp_path / "printed.csv").write_text(f"{header}\n", encoding="utf-8")
    with pytest.raises(ImportRefusedError, match="line 1: these columns are missing: commodity"):
        read_books(tmp_path / "printed.csv")


@pytest.mark.hledger
def test_the_output_of_hledger_itself(tmp_path):
    """An entry with quotes, a code, two dates, virtual postings and a comment is imported from hledger's own CSV."""
    journal = tmp_path / "books.journal"
    journal.write_text(
        '2025-01-05=2025-01-07 * (c1) Coffee "x" | note ; comment, with: tag\n'
        "    expenses:food:a b   $3.50 ; line, comment\n"
        "    (budget:food)   $-3.50\n"
        "    assets:bank\n"
        "2025-01-06 All in the budget\n"
        "    [budget:food]   $5\n"
        "    [assets:bank]   $-5\n"
        "2025-01-06 ! Two, three\n"
        "    expenses:x   $1,000.50\n"
        "    assets:bank\n",
        encoding="utf-8",
    )
    path = tmp_path / "printed.csv"
    arguments = ["hledger", "-f", str(journal), "print", "-O", "csv"]
    printed = subprocess.run(arguments, capture_output=True, check=True)  # noqa: S603 (our own test)
    path.write_bytes(printed.stdout)
    books = read_books(path, ImportOptions(cash=["assets:bank"]))
    coffee, two = books.entries
    assert books.notes == ("3 virtual postings, to accounts in (parentheses) or [brackets], were left out",)
    assert coffee.description == 'Coffee "x" | note'
    assert [str(line.amount) for line in (*coffee.lines, *two.lines)] == ["3.50", "3.50", "1000.50", "1000.50"]
    assert coffee.lines[0].description == "line, comment"
