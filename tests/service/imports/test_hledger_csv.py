"""hledger's CSV: what is read of it, and what is refused with the hledger option that helps."""

import csv
import datetime as dt
import subprocess
from decimal import Decimal

import pytest

from accounting_analytics.errors import ImportRefusedError
from accounting_analytics.service.imports.hledger_csv import COLUMNS, read_hledger_csv

HEADER = (*COLUMNS, "date2", "code", "credit", "debit")


@pytest.fixture
def write(tmp_path):
    """Return a function that writes postings, given as (txnidx, account, amount, commodity) and other fields."""

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
    """Rows of one txnidx are one entry at noon; a cleared status reviews, comments become the line's description."""
    path = write(
        ("1", "assets:bank", "-3.50", "$"),
        ("1", "expenses:food", "3.50", "$"),
        description='Coffee "x" | note',
        comment="with: tag, more",
        status="*",
    )
    books = read_hledger_csv(path, cash=["assets:bank"], time_zone="Asia/Tokyo")
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
    """Only what hledger calls cleared is reviewed."""
    path = write(("1", "assets:bank", "-1", "$"), ("1", "expenses:food", "1", "$"), status=status)
    (entry,) = read_hledger_csv(path, cash=["assets:bank"]).entries
    assert entry.lines[0].transaction.review_status == reviewed


def test_several_commodities_are_refused_by_name(write):
    """Several commodities are refused, naming each, and amounts without one too."""
    path = write(
        ("1", "assets:bank", "-3.50", "$"),
        ("1", "expenses:food", "3.50", "$"),
        ("2", "assets:vacation", "5", "VACHR"),
        ("2", "income:vacation", "-5", "VACHR"),
        ("3", "assets:other", "5", ""),
        ("3", "income:other", "-5", ""),
    )
    with pytest.raises(ImportRefusedError, match=r"several commodities: \(no commodity\), \$, VACHR; select one"):
        read_hledger_csv(path)
    books = read_hledger_csv(path, commodity="$")
    assert len(books.entries) == 1
    assert books.notes == ("4 lines in other commodities than $ were left out, and with them 2 whole entries",)
    with pytest.raises(
        ImportRefusedError, match=r"no amounts in commodity 'EUR'; there are \(no commodity\), \$, VACHR"
    ):
        read_hledger_csv(path, commodity="EUR")


def test_a_selected_commodity_keeps_its_lines_of_mixed_entries(write):
    """An entry whose other commodity balances by itself keeps its lines in the selected one; a bare zero stays too."""
    path = write(
        ("1", "assets:bank", "100.00", "USD"),
        ("1", "income:salary", "-100.00", "USD"),
        ("1", "assets:vacation", "4.62", "VACHR"),
        ("1", "income:vacation", "-4.62", "VACHR"),
        ("1", "expenses:none", "0", ""),
    )
    books = read_hledger_csv(path, commodity="USD")
    assert [len(entry.lines) for entry in books.entries] == [3]
    assert "assets:vacation" not in {ledger.name for ledger in books.ledgers}


def test_a_selected_commodity_must_balance(write):
    """Shares bought for money do not balance in the money alone: refused by the line the entry starts on."""
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
        read_hledger_csv(path, commodity="USD")


def test_one_commodity_needs_no_choice(write):
    """A file in one commodity, or in none, is read as it is; bare zeros do not count as another."""
    assert len(read_hledger_csv(write(("1", "assets:a", "1", ""), ("1", "equity:b", "-1", ""))).entries) == 1
    path = write(("1", "assets:a", "1", "€"), ("1", "equity:b", "-1", "€"), ("1", "expenses:c", "0", ""))
    assert len(read_hledger_csv(path).entries[0].lines) == 3


@pytest.mark.parametrize(
    ("posting", "said"),
    [
        (("1", "assets:bank", "1000,50", "EUR"), r"line 2: '1000,50' is not an amount.*-c '1000.00 EUR'"),
        (("1", "assets:bank", "1.005", "$"), r"line 2: amount '1.005' does not fit 2 fraction digits"),
        (("1", "Bank", "1", "$"), r"line 2: account 'Bank' is neither"),
    ],
)
def test_postings_that_are_refused(write, posting, said):
    """Decimal commas, too many digits and unknown roots are refused by line, with what helps."""
    with pytest.raises(ImportRefusedError, match=said):
        read_hledger_csv(write(posting, ("1", "equity:x", "-1", posting[3])))


def test_columns_are_required(tmp_path):
    """A CSV without a column that is read is refused, naming it."""
    header = ",".join(name for name in COLUMNS if name != "commodity")
    (tmp_path / "printed.csv").write_text(f"{header}\n", encoding="utf-8")
    with pytest.raises(ImportRefusedError, match="line 1: these columns are missing: commodity"):
        read_hledger_csv(tmp_path / "printed.csv")


@pytest.mark.hledger
def test_what_the_real_hledger_prints(tmp_path):
    """Quotes, a code, two dates, a balanced total price and a comment come through hledger's own CSV."""
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
    printed = subprocess.run(arguments, capture_output=True, check=True)  # noqa: S603 (a test's own)
    path.write_bytes(printed.stdout)
    books = read_hledger_csv(path, cash=["assets:bank"])
    coffee, two = books.entries
    assert books.notes == ("3 virtual postings, to accounts in (parentheses) or [brackets], were left out",)
    assert coffee.description == 'Coffee "x" | note'
    assert [str(line.amount) for line in (*coffee.lines, *two.lines)] == ["3.50", "3.50", "1000.50", "1000.50"]
    assert coffee.lines[0].description == "line, comment"
