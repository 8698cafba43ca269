"""Journals in the styles that people publish theirs in, opened as they are: figures are those of hledger and beancount.

Each is of January to March 2025. Cash is what hledger takes for it, so that its cash flow is comparable.
"""

import csv
import io
import shutil
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hledger_journals import anchored, monthly_report, output_of, require
from statement_checks import row_units

import accounting_analytics as aa
from accounting_analytics.core.errors import ImportRefusedError

MONTHS = "2025-01/2025-03"
RETAINED = "Opening Balance Retained Earnings"


class Journal(NamedTuple):
    """A journal: its text, the options that it is opened with, the first words of each note, and other files."""

    text: str
    options: dict[str, Any]
    notes: tuple[str, ...] = ()
    files: dict[str, str] = {}  # noqa: RUF012 (never changed)
    commodity: str = "$"

    def write(self, folder, suffix):
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        file = folder / f"books{suffix}"
        file.write_text(self.text, encoding="utf-8")
        return file


CASH = "assets:bank*"
OPENED = "entries of equity:opening"
HLEDGER = {
    "personal, with a budget": Journal(
        """
; everyday money, with envelopes beside it
2025-01-01 * opening balances
    assets:bank:checking          $1,000.00
    assets:cash                      $50.00
    assets:house                $250,000.00
    liabilities:visa               $-120.00
    liabilities:mortgage       $-200,000.00
    equity:opening balances

2025-01-05 * Employer | salary
    assets:bank:checking          $2,000.00
    income:salary                $-2,400.00
    expenses:taxes                  $400.00
    [budget:food]                   $300.00
    [budget:available]             $-300.00

2025-02-06 Grocer
    expenses:food                    $80.25
    liabilities:visa
    (budget:food)                   $-80.25

2025-03-01 * pay the card  ; in full
    liabilities:visa                $200.25
    assets:bank:checking
""",
        {"cash": [CASH, "assets:cash"]},
        ("3 virtual postings", OPENED),
    ),
    "several commodities": Journal(
        """
P 2025-01-01 EUR $1.04
commodity $1,000.00
commodity 1,000.0000 ACME

2025-01-02 opening
    assets:bank:checking         $5,000.00
    equity:opening:bank

2025-01-15 buy shares
    assets:broker                10 ACME @ $12.345
    assets:bank:checking         $-123.45

2025-02-03 holiday money
    assets:bank:abroad           100.00 EUR @@ $104.37
    assets:bank:checking

2025-02-20 hotel
    expenses:travel              40.00 EUR @@ $41.75
    assets:bank:abroad           -40.00 EUR @@ $41.75

2025-03-10 sell some
    assets:broker                -4 ACME @ $13.00
    assets:bank:checking         $52.00
""",
        {"cash": CASH, "commodity": "$"},
        (OPENED,),
    ),
    "assertions and rules": Journal(
        """
= expenses:food
    (budget:food)                *-1

~ monthly
    expenses:rent                $700.00
    assets:bank:checking

2025-01-01 opening balances
    assets:bank:checking         $900.00 = $900.00
    equity:opening balances

2025-01-20 market
    expenses:food                $25.00
    assets:bank:checking         = $875.00

2025-03-02 rent
    expenses:rent                $700.00
    assets:bank:checking         $-700.00 =* $175.00
""",
        {"cash": CASH},
        (OPENED,),
    ),
    "secondary dates": Journal(
        """
2025-01-01 opening balances
    assets:bank:checking         $300.00
    equity:opening balances

2025-01-30=2025-02-02 transfer that takes days
    assets:bank:savings          $100.00
    assets:bank:checking

2025-02-27=2025-03-03 card
    expenses:books               $19.99
    assets:bank:checking         $-19.99  ; date2:2025-03-04
""",
        {"cash": CASH},
        ("the secondary dates of 2 entries", OPENED),
    ),
    "includes and aliases": Journal(
        """
alias giro=assets:bank:checking
alias /^food$/=expenses:food
include accounts.journal
include 2025-02.journal

2025-01-01 opening balances
    giro                         $400.00
    equity:opening balances
""",
        {"cash": CASH},
        (OPENED, "Entries of included files"),
        {
            "accounts.journal": "account assets:bank:checking  ; type: C\naccount expenses:food\n",
            "2025-02.journal": "2025-02-14 dinner for two\n    food          $64.10\n    giro\n\n"
            "2025-03-14 dinner for one\n    food          $21.05\n    giro\n",
        },
    ),
    "roots of one's own": Journal(
        """
account me:assets                    ; type: A
account me:assets:bank:checking      ; type: C
account me:equity                    ; type: E
account me:expenses                  ; type: X
account me:income                    ; type: R

2025-01-01 start
    me:assets:bank:checking      $70.00
    me:assets:owed by ann        $30.00
    me:equity:opening

2025-02-01 ann pays
    me:assets:bank:checking      $30.00
    me:assets:owed by ann

2025-03-01 consulting
    me:assets:bank:checking      $500.00
    me:income:consulting

2025-03-02 lunch
    me:expenses:lunch            $12.50
    me:assets:bank:checking
""",
        {"cash": CASH, "roots": {f"me:{one}": one for one in ("assets", "equity", "expenses", "income")}},
        (OPENED,),
    ),
    "as ledger writes it": Journal(
        """
Y 2025
; -*- ledger -*-
01/02 * (0001) Opening Balance
    Assets:Bank:Checking         $640.00
    Equity:Opening Balances

01/09=01/12 ! (1024) Hardware store
    ; :tools:
    Expenses:Home:Tools          $45.00
    ! Assets:Bank:Checking

02/11 * (dep 7) Employer
    Assets:Bank:Checking         $1,200.00
    Income:Salary

03/31 Bank
    Expenses:Fees:Bank           $3.20
    Assets:Bank:Checking         $-3.20
""",
        {"cash": CASH},
        ("the secondary date of 1 entry was left out", "entries of Equity:Opening Balances are"),
    ),
    "declared accounts": Journal(
        """
account Aktiva:Girokonto     ; type: C
account Passiva:Kredit       ; type: L
account Kapital:Eröffnung    ; type: E
account Ertrag:Gehalt        ; type: R
account Aufwand:Miete        ; type: X
decimal-mark ,

2025-01-01 Eröffnungsbilanz
    Aktiva:Girokonto          € 1.500,00
    Passiva:Kredit            € -400,00
    Kapital:Eröffnung

2025-01-31 Gehalt
    Aktiva:Girokonto          € 2.100,50
    Ertrag:Gehalt

2025-02-03 Miete
    Aufwand:Miete             € 780,00
    Aktiva:Girokonto

2025-03-03 Tilgung
    Passiva:Kredit            € 100,00
    Aktiva:Girokonto
""",
        {"cash": "*girokonto", "opening_ledgers": "*eröffnung"},
        ("entries of equity:Kapital:Eröffnung",),
        commodity="€",
    ),
    "years that close and open": Journal(
        """
2025-01-01 opening balances
    assets:bank:checking         $220.00
    equity:opening/closing balances

2025-01-17 gift
    assets:bank:checking         $80.00
    income:gifts

2025-01-31 closing balances
    assets:bank:checking         $-300.00 = $0.00
    equity:opening/closing balances

2025-02-01 opening balances
    assets:bank:checking         $300.00 = $300.00
    equity:opening/closing balances

2025-03-03 bus
    expenses:travel              $2.75
    assets:bank:checking
""",
        {"cash": CASH},
        (OPENED,),
    ),
}


def opened(journal, file):
    """Open a journal, and check that it says what it left out."""
    books = aa.open_journal(file, MONTHS, time_zone="UTC", **journal.options)
    assert len(books.notes) == len(journal.notes), books.notes
    for start in journal.notes:
        assert any(note.lower().startswith(start.lower()) for note in books.notes), (start, books.notes)
    assert [books.names.path(one) for one in books.opening.equity] == [RETAINED]
    return books


@pytest.mark.hledger
@pytest.mark.parametrize("name", HLEDGER)
def test_figures_are_those_of_hledger(name, tmp_path):
    journal = HLEDGER[name]
    file = journal.write(tmp_path, ".journal")
    books, days = opened(journal, file), ("-b", "2025-01-01", "-e", "2025-04-01", "--real")

    def report(name, *options):
        return monthly_report(file, journal.commodity, name, *days, *options, at_cost="commodity" in journal.options)

    is_, bs, cf = report("incomestatement"), report("balancesheet"), report("cashflow")
    income, balance = aa.income_statement(books), aa.balance_sheet(books)
    assert row_units(income, "net_income") == (is_["net"][""] or [0, 0, 0])
    assert row_units(balance, "total_assets") == bs["assets"][""]
    assert row_units(balance, "total_liabilities") == (bs["liabilities"][""] or [0, 0, 0])
    compared = {path: _row(path, income, balance) for path in map(books.names.path, books.ledgers["id"])}
    expected = {path: row for one in (is_, bs) for rows in one.values() for path, row in rows.items() if path}
    leaves = {one for one in expected if not any(other.startswith(f"{one}:") for other in expected)}
    for leaf in leaves:
        ours = [path for path in compared if f"{leaf}".endswith(path) or path.endswith(leaf)]
        assert [compared[path] for path in ours] == [expected[leaf]], leaf
    flows = aa.cash_flow_statement(books)
    openings, net = (row_units(flows, key) for key in ("opening_balances", "net_cash_flow"))
    assert [sum(both) for both in zip(openings, net, strict=True)] == cf["net"][""]
    assert any(openings)
    cash = [f"acct:{anchored(one)}" for one in cf["cash flows"] if one]
    assert row_units(flows, "ending_cash_balance") == report("balance", "--historical", *cash)[""][""]


def _row(path, *statements):
    """Row of a ledger by month in the statement that has it."""
    for statement in statements:
        for row in statement.rows:
            if row.path == path:
                return row_units(statement, row.key)
    return None


OPEN = "".join(
    f"2025-01-01 open {one}\n"
    for one in (
        *("Assets:Bank:Checking", "Assets:Bank:Euro", "Assets:Broker", "Assets:Broker:Cash", "Liabilities:Card"),
        *("Equity:Opening-Balances", "Equity:Start", "Income:Salary", "Income:Gains", "Expenses:Food", "Expenses:Rent"),
    )
)
BEANCOUNT = {
    "pad and balance": Journal(
        OPEN
        + """
2025-01-01 pad Assets:Bank:Checking Equity:Start
2025-01-02 balance Assets:Bank:Checking  1000.00 USD

2025-01-31 * "Employer" "salary" #work ^pay-01
  Assets:Bank:Checking    2000.00 USD
  Income:Salary

2025-02-07 ! "Grocer" ""
  Expenses:Food             80.25 USD
  Liabilities:Card

2025-03-01 balance Liabilities:Card  -80.25 USD
""",
        {"cash": "assets:bank:checking"},
        ("entries of Equity:Start",),
    ),
    "cost and price": Journal(
        OPEN
        + """
2025-01-01 * "Opening"
  Assets:Bank:Checking    5000.00 USD
  Equity:Opening-Balances

2025-01-15 * "Buy"
  Assets:Broker               10 ACME {12.34 USD, "lot-1"}
  Assets:Bank:Checking   -123.40 USD

2025-02-20 * "Holiday money"
  Assets:Bank:Euro        100.00 EUR @ 1.0437 USD
  Assets:Bank:Checking   -104.37 USD

2025-03-10 * "Sell"
  Assets:Broker               -4 ACME {12.34 USD} @ 13.00 USD
  Assets:Bank:Checking     52.00 USD
  Income:Gains             -2.64 USD
""",
        {"cash": "assets:bank*", "commodity": "USD"},
        ("entries of Equity:Opening-Balances",),
    ),
    "two operating currencies": Journal(
        """option "title" "Two homes"
option "operating_currency" "USD"
option "operating_currency" "EUR"
"""
        + OPEN
        + """
2025-01-01 * "Opening"
  Assets:Bank:Checking    700.00 USD
  Assets:Bank:Euro        300.00 EUR
  Equity:Opening-Balances

2025-02-01 * "Rent here"
  Expenses:Rent           450.00 USD
  Assets:Bank:Checking

2025-03-01 * "Rent there"
  Expenses:Rent           120.00 EUR
  Assets:Bank:Euro
""",
        {"cash": "assets:bank:checking", "commodity": "USD"},
        ("4 postings in other commodities, left out: EUR (4)", "entries of Equity:Opening-Balances"),
    ),
    "plugins and includes": Journal(
        """plugin "beancount.plugins.auto_accounts"
plugin "beancount.plugins.implicit_prices"
include "march.beancount"

pushtag #home
2025-01-02 * "Opening"
  Assets:Bank:Checking    90.00 USD
  Equity:Opening-Balances

2025-02-02 * "Market" "eggs"
  Expenses:Food            4.10 USD
  Assets:Bank:Checking
poptag #home
""",
        {"cash": "assets:bank*"},
        ("entries of Equity:Opening-Balances", "Entries of included files"),
        {"march.beancount": '2025-03-03 * "Market"\n  Expenses:Food  5.05 USD\n  Assets:Bank:Checking\n'},
    ),
}
_SUMS = (
    "SELECT account, year, month, str(sum(number(weight))) AS amount WHERE currency(weight) = 'USD' GROUP BY 1, 2, 3"
)


@pytest.mark.parametrize("name", BEANCOUNT)
def test_figures_are_those_of_beancount(name, tmp_path):
    journal = BEANCOUNT[name]
    file = journal.write(tmp_path, ".beancount")
    books = opened(journal, file)
    printed = output_of(str(Path(sys.executable).parent / "bean-query"), "--format", "csv", str(file), _SUMS)
    expected = defaultdict(Decimal)
    for row in csv.DictReader(io.StringIO(printed)):
        is_opening = row["account"] in {"Equity:Opening-Balances", "Equity:Start"}
        account = RETAINED if is_opening else row["account"]
        expected[account, int(row["month"])] += Decimal(row["amount"])
    found = defaultdict(Decimal)
    lines = aa.schemas.LineEntries.exact(books.lines).frame
    for ledger_id, day, amount in zip(lines["ledger_id"], lines["local_date"], lines["signed_amount"], strict=True):
        found[books.names.path(ledger_id), day.month] += amount
    assert found == expected
    income, flows = aa.income_statement(books), aa.cash_flow_statement(books)
    for number, column in enumerate(income.columns, 1):
        net = -sum(expected[one] for one in expected if one[1] == number and one[0].startswith(("Income", "Expenses")))
        assert income.value("net_income", column.key) == net
        cash = sum(expected[books.names.path(one), number] for one in books.tree.cash)
        moved = (flows.value(key, column.key) for key in ("opening_balances", "net_cash_flow"))
        assert sum(moved) == cash
    assert flows.value("opening_balances", "2025-01")


REFUSED = {
    "postings of several days": (
        ".journal",
        "2025-01-30 card\n    expenses:food  $9.00\n    assets:bank  $-9.00  ; date:2025-02-01\n",
        r"line 1: the postings of this entry have several days \(2025-01-30, 2025-02-01\), .*use_entry_dates=True",
    ),
    "a root without a type": (
        ".journal",
        "2025-01-30 card\n    food  $9.00\n    assets:bank\n",
        r"line 1: account 'food' is neither a ledger of the books nor a path that starts with assets, .*roots=",
    ),
    "several commodities": (
        ".journal",
        "2025-01-30 a\n    expenses:food  $9.00\n    expenses:rent  EUR 9\n    assets:bank\n",
        r"several commodities, at their prices: \$ \(2\), EUR \(2\); select one \(--commodity '\$', or commodity=\)",
    ),
    "an assertion that fails": (
        ".journal",
        "2025-01-30 a\n    assets:bank  $9.00 = $10.00\n    income:gifts\n",
        r"line 2: hledger cannot read it: .*balance assertion",
    ),
    "virtual postings only": (
        ".journal",
        "2025-01-30 a\n    [assets:bank]  $9.00\n    [budget:food]\n",
        r"all 2 postings are virtual, .*--virtual \(virtual=True\) takes them in",
    ),
    "an entry that does not balance": (
        ".journal",
        "2025-01-30 a\n    assets:bank  $9.00\n    income:gifts  $-8.00\n",
        r"hledger cannot read it: .*could not balance this transaction",
    ),
    "a balance that fails": (
        ".beancount",
        OPEN + "2025-01-02 balance Assets:Bank:Checking  5.00 USD\n",
        r"line 12: bean-check: Balance failed for 'Assets:Bank:Checking': expected 5.00 USD",
    ),
    "an account that was not opened": (
        ".beancount",
        '2025-01-02 * "x"\n  Assets:Bank  5.00 USD\n  Income:Gifts\n',
        r"line 1: bean-check: Invalid reference to unknown account 'Assets:Bank'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_where_and_what_to_do(name, tmp_path):
    suffix, text, message = REFUSED[name]
    if suffix == ".journal":
        require("hledger", shutil.which("hledger"))
    file = tmp_path / f"books{suffix}"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ImportRefusedError, match=f"^books{suffix}: nothing was read: .*{message}"):
        aa.open_journal(file, time_zone="UTC", cash="assets:bank*")
