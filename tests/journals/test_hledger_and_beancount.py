"""Journals of hledger and beancount, read by these programs themselves."""

import csv
import datetime as dt
import io
import os
import subprocess
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from accounting_analytics.core.errors import ImportRefusedError
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.journals.file_entries import ReadOptions
from accounting_analytics.journals.read_file import read_books

DATA = Path(__file__).parents[2] / "data"
PROGRAMS = Path(sys.executable).parent
OPEN = "".join(f"2024-01-01 open {one}\n" for one in ("Assets:Bank", "Assets:Fund", "Expenses:Food", "Income:Pay"))
hledger = pytest.mark.hledger


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a journal with the given text."""

    def read(text, name="books.journal", **options):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return read_books(tmp_path / name, ReadOptions(**options))

    return read


def sums(books, scale=2):
    """Balance of each account that is not zero."""
    found = defaultdict(Decimal)
    for entry in books.entries.values():
        for line in entry.lines:
            found[line.ledger_id] += from_minor_units(line.units, scale)
    return {account: amount for account, amount in found.items() if amount}


@hledger
def test_the_sample_has_the_balances_of_hledger():
    journal = DATA / "sample.journal"
    command = ["hledger", "-f", str(journal), "balance", "--flat", "-N", "-O", "csv", "--layout", "bare"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 (a test's own)
    expected = {row["account"]: Decimal(row["balance"]) for row in csv.DictReader(io.StringIO(printed))}
    books = read_books(journal)
    assert (len(books.entries), sum(len(entry.lines) for entry in books.entries.values()), books.notes) == (10, 23, [])
    assert sums(books) == expected
    assert len(expected) == 11


@hledger
def test_entries_are_at_noon_and_cleared_ones_reviewed(read):
    statuses = (("*", ""), ("", "*"), ("!", ""), ("", ""))
    entries = (
        f'2025-01-02=2025-01-07 {entry} (c{number}) Coffee "x" | note  ; with: tag, more\n'
        f"    {posting} assets:bank   $-3.50\n    expenses:food:a b   $3.50  ; line, comment\n"
        for number, (entry, posting) in enumerate(statuses)
    )
    books, reviewed = read("\n".join(entries), time_zone="Asia/Tokyo"), []
    for found in books.entries.values():
        bank, food = found.lines
        assert (found.datetime, found.description) == (dt.datetime(2025, 1, 2, 3, tzinfo=dt.UTC), 'Coffee "x" | note')
        assert (bank.units, bank.description) == (-350, "with: tag, more")
        assert bank.transaction.description == 'Coffee "x" | note'
        assert (food.units, food.description) == (350, "line, comment")
        reviewed.append(bank.transaction.review_status)
    assert reviewed == ["reviewed", "reviewed", "unreviewed", "unreviewed"]
    assert books.notes == ["the secondary dates of 4 entries were left out"]


@hledger
def test_inferred_price_balances_the_entry_as_in_hledger(read):
    books = read(
        "2024-01-02 Buy\n    assets:shares   10 VTI\n    assets:bank   -1000.00 USD\n    expenses:fee   4.95 USD\n"
    )
    assert sums(books) == {
        "assets:shares": Decimal("995.05"),
        "assets:bank": Decimal(-1000),
        "expenses:fee": Decimal("4.95"),
    }


@hledger
def test_prices_convert_and_rounding_is_stated(read):
    books = read(
        "commodity 1.00 USD\n"
        "2024-01-01 * Buy\n    assets:fund   3 AAA @ 10.333 USD\n    assets:bank   -31.00 USD  ; comment\n"
        "2024-01-02 Sell\n    assets:fund   -1 AAA @@ 12 USD\n    assets:bank\n"
        "2024-01-03 Lots\n    assets:fund   3 BBB @ 1.115 USD\n"
        "    assets:fund   3 BBB @ 1.115 USD\n    assets:bank   -6.69 USD\n"
    )
    assert sums(books) == {
        "assets:fund": Decimal("25.68"),
        "assets:bank": Decimal("-25.69"),
        "equity:rounding": Decimal("0.01"),
    }
    assert next(iter(books.entries.values())).lines[1].description == "comment"
    rounded, remainder = books.notes
    assert rounded == (
        "amounts at prices were rounded to 2 digits, which changes 1 accounts, most assets:fund by 0.009; "
        "a new database imported with --scale, or a file opened with scale=, has more digits"
    )
    assert remainder == (
        "what remained of 1 entries after rounding is on equity:rounding: 0.01 in all, at most 0.01 in one"
    )


@hledger
def test_several_commodities_are_refused_unless_one_is_selected(read):
    text = (
        "2024-01-01 Pay\n    assets:bank   10 EUR\n    income:pay\n"
        "2024-01-02 Days\n    assets:vacation   5 DAYS\n    income:days\n"
        "2024-01-03 Both\n    assets:bank   1 EUR\n    income:pay   -1 EUR\n"
        "    assets:vacation   1 DAYS\n    income:days   -1 DAYS\n"
    )
    with pytest.raises(ImportRefusedError, match=r"EUR \(4\), DAYS \(4\); select one \(--commodity EUR,"):
        read(text)
    books = read(text, commodity="EUR")
    assert sums(books) == {"assets:bank": Decimal(11), "income:pay": Decimal(-11)}
    (note,) = books.notes
    assert note == (
        "4 postings in other commodities, left out: DAYS (4); among them 1 whole entry: 2024-01-02 'Days'"
        "; of these accounts nothing is left: assets:vacation, income:days"
    )
    with pytest.raises(ImportRefusedError, match="no amounts in commodity 'USD'"):
        read(text, commodity="USD")


@hledger
def test_virtual_postings_are_counted_or_imported(read):
    text = "2024-01-01 A\n    (assets:a)   3\n2024-01-02 B\n    [assets:b]   4\n    [assets:c]   -4\n"
    with pytest.raises(ImportRefusedError, match=r"all 3 postings are virtual, .* --virtual \(virtual=True\)"):
        read(text)
    books = read(text, virtual=True)
    assert sums(books) == {"assets:a": 3, "assets:b": 4, "assets:c": -4, "equity:virtual": -3}
    more = "2024-01-03 C\n    assets:a   1\n    equity:x\n"
    books = read(text + more)
    assert sums(books) == {"assets:a": 1, "equity:x": -1}
    assert books.notes[0].startswith("3 virtual postings")


@hledger
def test_roots_are_replaced_and_declared_types_used(read):
    text = (
        "account kasse  ; type:C\naccount ertrag  ; type:R\n"
        "2024-01-01 A\n    me:assets:bank   3\n    me:income\n"
        "2024-01-02 B\n    kasse   4\n    ertrag\n"
        "2024-01-03 C\n    me:assetsx   1\n    me:income\n"
    )
    books = read(text, roots=[("me:assets", "assets"), ("me:income", "income:mine"), ("*", "expenses")])
    assert sums(books) == {
        "assets:bank": 3,
        "income:mine": -4,
        "assets:kasse": 4,
        "income:ertrag": -4,
        "expenses:me:assetsx": 1,
    }


@hledger
def test_more_digits_are_refused_with_the_scale_needed(read):
    text = "2024-01-01 A\n    assets:a   0.12345 BTC\n    equity:x\n"
    with pytest.raises(ImportRefusedError, match=r"line 1: 0.12345 BTC has 5 .* new database with --scale 5"):
        read(text)
    assert sums(read(text, scale=5), scale=5) == {"assets:a": Decimal("0.12345"), "equity:x": Decimal("-0.12345")}


@hledger
def test_problems_name_line_day_and_entry(read, tmp_path):
    with pytest.raises(ImportRefusedError, match=r"line 1: hledger cannot read it: .*balance"):
        read("2024-01-01 A\n    assets:a   1 EUR\n    equity:x   -2 EUR\n")
    (tmp_path / "other.journal").write_text("\n2024-01-05 Odd\n    assets:a   0.123\n    equity:x\n")
    with pytest.raises(ImportRefusedError, match=r"other.journal line 2: .*\(2024-01-05 'Odd'\)"):
        read("include other.journal\n")
    with pytest.raises(ImportRefusedError, match="it has no transactions"):
        read("; nothing\n")
    books = read("2024-01-01 Zero\n    assets:a   0\n2024-01-02 B\n    assets:a   1\n    equity:x\n")
    assert books.notes == ["1 entries of a single posting of zero were left out: 2024-01-01 'Zero'"]


def test_missing_program_says_how_to_install_it(read, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ImportRefusedError, match="apt-get install hledger"):
        read("")
    with pytest.raises(ImportRefusedError, match="pip install beancount beanquery"):
        read("", "books.beancount")


def test_beancount_costs_prices_and_texts_are_read(read):
    books = read(
        f'{OPEN}2024-01-02 ! "Shop" "Food, \\"fresh\\""\n  Expenses:Food  3.50 EUR\n  Assets:Bank\n'
        '2024-01-03 * "Buy"\n  Assets:Fund  3 AAA {10.333 EUR}\n  Assets:Bank  -31.00 EUR\n'
        '2024-01-04 * "Sell"\n  Assets:Fund  -1 AAA {10.333 EUR} @ 12 EUR\n'
        "  Assets:Bank  12 EUR\n  Income:Pay  -1.667 EUR\n",
        "books.beancount",
    )
    assert sums(books) == {
        "Expenses:Food": Decimal("3.50"),
        "Assets:Bank": Decimal("-22.50"),
        "Assets:Fund": Decimal("20.67"),
        "Income:Pay": Decimal("-1.67"),
    }
    shop = next(iter(books.entries.values()))
    assert shop.description == 'Shop | Food, "fresh"'
    assert shop.lines[1].transaction.review_status == "unreviewed"


def test_beancount_problems_are_named_and_nothing_imported(read):
    wrong = (
        '2024-01-02 * "A"\n  Assets:Bank  1 EUR\n  Income:Pay  -2 EUR\n\n'
        '2024-01-03 * "B"\n  Assets:None  1 EUR\n  Income:Pay\n'
    )
    with pytest.raises(ImportRefusedError) as refused:
        read(OPEN + wrong, "books.beancount")
    assert [(one.line, one.problem) for one in refused.value.problems] == [
        ("line 9", "bean-check: Invalid reference to unknown account 'Assets:None'"),
        ("line 5", "bean-check: Transaction does not balance: (-1 EUR)"),
    ]


@pytest.mark.long
def test_beancount_example_has_the_sums_of_bean_query(tmp_path):
    file = tmp_path / "example.beancount"
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    command = [PROGRAMS / "bean-example", "--seed", "1", "-o", str(file)]
    subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: S603 (a test's own)
    query = (
        "SELECT account, year, month, str(sum(number(weight))) AS total WHERE currency(weight) = 'USD' "
        "GROUP BY account, year, month"
    )
    command = [PROGRAMS / "bean-query", "-f", "csv", str(file), query]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout  # noqa: S603
    expected = {
        (row["account"], int(row["year"]), int(row["month"])): Decimal(row["total"])
        for row in csv.DictReader(io.StringIO(printed))
    }
    books = read_books(file, ReadOptions(commodity="USD", scale=6))
    found = defaultdict(Decimal)
    for entry in books.entries.values():
        for line in entry.lines:
            key = (line.ledger_id, entry.datetime.year, entry.datetime.month)
            found[key] += from_minor_units(line.units, 6)
    rounding = {key: amount for key, amount in found.items() if key[0] == "equity:rounding"}
    assert {key: amount for key, amount in found.items() if key not in rounding} == expected
    assert sum(rounding.values()) == -sum(expected.values())
    assert len(expected) > 900


def test_options_of_journals_are_refused_for_tables(read):
    with pytest.raises(ImportRefusedError, match="a line table is read without --virtual, --root"):
        read("", "books.csv", virtual=True, roots=[("*", "assets")])
