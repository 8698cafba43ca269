"""Our figures against hledger's and ledger's, on books that beancount's example generator made.

The journals are written here, from what ``bean-example`` generates: every posting in its weight (what it cost, for
shares), so that entries balance in USD; shares cost fractions of a cent, so the part below a cent of an entry goes to
its investment posting. Two more commodities stay in the journal, vacation hours (VACHR) and contribution room
(IRAUSD): they balance on their own inside their entries, which is what an import with a commodity selected requires.

Both programs take end dates as exclusive, so one day more than ours; both take regular expressions for accounts, so
each cash account is one anchored and escaped pattern of its own.

How ``--related`` counts: hledger 1.25 takes, of each transaction that has a posting matched by the whole query, the
postings that are **not** matched, once each; so does ledger. With all cash accounts in one query that is our definition
of a cash flow line, also where a transaction has several cash postings (a transfer, a card payment): they neither count
each other nor count a category twice. Asking account by account and adding up would do both.
"""

import csv
import datetime as dt
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from typing import NamedTuple

import pandas as pd
import pytest

from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.client import LedgerClient
from accounting_analytics.discovery import discover_ledgers
from accounting_analytics.errors import ImportRefusedError
from accounting_analytics.loader import load_cash_flow_report, load_line_entries
from accounting_analytics.reconciliation import reconcile
from accounting_analytics.service.auth.access_tokens import issue_token
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running

pytestmark = pytest.mark.hledger

GENERATE = "from beancount.scripts.example import main; main()"
CENT = Decimal("0.01")
BANK, BROKER, CARD = "Assets:US:BofA:Checking", "Assets:US:ETrade:Cash", "Liabilities:US:Chase:Slate"
BOOKS_BEGIN, BOOKS_END = "2023-01-01", "2024-12-31"
PERIODS = {
    ("2023-01-01", "2024-12-31"): 25,
    ("2023-11-05", "2024-03-10"): 20,
    ("2024-02-29", "2024-02-29"): 1,
}
"""Periods, and how many categories must have a flow in them at least: two empty answers are no agreement."""

CASES = {"bank only": (2025, (BANK,)), "card as cash": (7, (BANK, BROKER, CARD))}


class Case(NamedTuple):
    """A journal, the accounts counted as cash, and the service that has imported it."""

    journal: str
    cash: tuple[str, ...]
    client: LedgerClient
    paths: dict[str, str]
    ledgers: pd.DataFrame
    line_entries: pd.DataFrame


def require(program, is_there):
    """Skip when something is missing, or fail where everything is required."""
    if not is_there:
        said = f"{program} is not installed"
        (pytest.fail if os.environ.get("ACCOUNTING_ANALYTICS_REQUIRE_ALL") == "1" else pytest.skip)(said)


def run(*arguments):
    """Output of a program that must succeed."""
    finished = subprocess.run(arguments, capture_output=True, text=True, check=False)  # noqa: S603 (a test's own)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request, tmp_path_factory):
    """Generate books, write them as a journal, import what hledger prints of it, and serve it."""
    require("beancount", importlib.util.find_spec("beancount"))
    seed, cash = CASES[request.param]
    folder = tmp_path_factory.mktemp("books")
    journal = folder / "books.journal"
    journal.write_text(journal_of(generated(seed, folder / "books.bean")), encoding="utf-8")
    printed = folder / "printed.csv"
    printed.write_text(run("hledger", "-f", str(journal), "print", "-O", "csv"), encoding="utf-8")
    with Store.open(folder / "books.db") as store:
        instance_id = create_instance(store)
        with pytest.raises(ImportRefusedError, match="several commodities: IRAUSD, USD, VACHR"):
            import_books(store, instance_id, printed, cash=cash)
        summary = import_books(store, instance_id, printed, cash=cash, commodity="USD")
        token = issue_token(store, instance_id)
        paths = account_paths(store.ledgers(instance_id))
    assert summary.cash == cash
    assert summary.notes
    with (
        running(folder / "books.db") as service,
        LedgerClient(service.base_url, token=token, instance_id=instance_id) as client,
    ):
        ledgers = discover_ledgers(client, BOOKS_BEGIN, BOOKS_END, progress=False)
        line_entries = load_line_entries(client, ledgers["id"], BOOKS_BEGIN, BOOKS_END, progress=False)
        yield Case(str(journal), cash, client, paths, ledgers, line_entries)


def generated(seed, path):
    """Transactions of a generated beancount ledger."""
    from beancount import loader  # noqa: PLC0415 (test-time only)
    from beancount.core.data import Transaction  # noqa: PLC0415

    days = ("--date-begin", BOOKS_BEGIN, "--date-end", BOOKS_END)
    run(sys.executable, "-c", GENERATE, *days, "--seed", str(seed), "-o", str(path))
    entries, errors, _ = loader.load_file(str(path))
    assert not errors
    return [entry for entry in entries if isinstance(entry, Transaction)]


def journal_of(transactions):
    """Write transactions as an hledger journal, each posting in its weight, USD to the cent."""
    from beancount.core.convert import get_weight  # noqa: PLC0415 (test-time only)

    written = []
    for entry in transactions:
        weights = [get_weight(posting) for posting in entry.postings]
        amounts = [weight.number.quantize(CENT) if weight.currency == "USD" else weight.number for weight in weights]
        gap = sum(amount for amount, weight in zip(amounts, weights, strict=True) if weight.currency == "USD")
        if gap:
            held = next(place for place, posting in enumerate(entry.postings) if posting.cost is not None)
            amounts[held] -= gap
        written.append(f"{entry.date} * {' '.join(filter(None, (entry.payee, entry.narration)))}".replace(";", ","))
        written.extend(
            f"    {posting.account}    {amount} {weight.currency}"
            for posting, amount, weight in zip(entry.postings, amounts, weights, strict=True)
        )
        written.append("")
    return "\n".join(written)


def account_paths(ledgers):
    """Account path of every ledger id."""
    by_id = {ledger.id: ledger for ledger in ledgers}

    def path(ledger):
        return f"{path(by_id[ledger.parent_id])}:{ledger.name}" if ledger.parent_id else ledger.name

    return {ledger.id: path(ledger) for ledger in ledgers}


def anchored(account):
    """Regular expression that only the account itself matches."""
    return "^" + re.sub(r"([\[\]\\^$.|?*+(){}])", r"\\\1", account) + "$"


def day_after(day):
    """Day that an exclusive end date must name."""
    return str(dt.date.fromisoformat(day) + dt.timedelta(days=1))


def hledger_balances(case, *options):
    """Balances in USD that ``hledger balance`` prints, by account; zero ones left out."""
    arguments = ("hledger", "-f", case.journal, "balance", "--flat", "--no-total", "--output-format", "csv")
    patterns = [f"acct:{anchored(account)}" for account in case.cash]
    rows = csv.DictReader(io.StringIO(run(*arguments, "--layout", "bare", *options, *patterns, "cur:USD")))
    return {row["account"]: Decimal(row["balance"]) for row in rows}


def ledger_related(case, start_date, end_date):
    """Balances in USD that ``ledger balance --related --invert`` prints, by account; zero ones left out."""
    printed = run(
        *("ledger", "--args-only", "--file", case.journal, "balance", "--flat", "--no-total"),
        *("--related", "--invert", "--begin", start_date, "--end", day_after(end_date)),
        *("--balance-format", "%(account)|%(scrub(display_total))#"),
        *(f"/{anchored(account)}/" for account in case.cash),
    )
    # an account in several commodities has one amount a line
    rows = [row.split("|") for row in printed.split("#")[:-1]]
    amounts = {account: re.search(r"(\S+) USD", balance) for account, balance in rows}
    return {account: Decimal(found[1]) for account, found in amounts.items() if found}


def reports(case, start_date, end_date):
    """Report of the service and the one recomputed from all line entries, which must tie."""
    reported = load_cash_flow_report(case.client, start_date, end_date)
    recomputed = recompute_cash_flow(case.line_entries, case.ledgers, start_date, end_date)
    assert reconcile(reported, recomputed).ties
    return reported, recomputed


def by_path(case, frame, column):
    """Amounts of a report's table by account path."""
    return {case.paths[key]: amount for key, amount in zip(frame["ledger_id"], frame[column], strict=True)}


def without_zeros(amounts):
    """Amounts that are not zero."""
    return {account: amount for account, amount in amounts.items() if amount}


@pytest.mark.parametrize(("start_date", "end_date"), PERIODS)
def test_cash_flow_by_category_is_the_related_balance(case, start_date, end_date):
    """What each category brought in or took is what hledger and ledger show opposite all cash accounts, to the cent."""
    period = ("--begin", start_date, "--end", day_after(end_date))
    expected = hledger_balances(case, "--related", "--invert", *period)
    assert len(expected) >= PERIODS[start_date, end_date]
    for report in reports(case, start_date, end_date):
        # parents of a category are listed too, without a flow of their own
        assert without_zeros(by_path(case, report.ledgers, "net_cash_flow")) == expected
    require("ledger", shutil.which("ledger"))
    assert ledger_related(case, start_date, end_date) == expected


@pytest.mark.parametrize(("start_date", "end_date"), PERIODS)
def test_cash_balances_are_hledgers(case, start_date, end_date):
    """Starting and ending balance and net change of each cash account are hledger's, to the cent."""
    before = hledger_balances(case, "--historical", "--end", start_date)
    after = hledger_balances(case, "--historical", "--end", day_after(end_date))
    change = hledger_balances(case, "--begin", start_date, "--end", day_after(end_date))
    assert set(after) <= set(case.cash)
    assert BANK in after
    for report in reports(case, start_date, end_date):
        starting = by_path(case, report.starting_balances, "cash_balance")
        ending = by_path(case, report.ending_balances, "cash_balance")
        assert set(starting) == set(ending) == set(case.cash)
        assert without_zeros(starting) == before
        assert without_zeros(ending) == after
        moved = {account: ending[account] - starting[account] for account in case.cash}
        assert without_zeros(moved) == change
        assert report.net_cash_flow == sum(change.values())


def test_the_books_are_worth_comparing(case):
    """The books have hundreds of cash lines, and entries with several cash postings where the card is cash."""
    _, recomputed = reports(case, BOOKS_BEGIN, BOOKS_END)
    assert len(recomputed.lines) > 500
    printed = run("hledger", "-f", case.journal, "print", "-O", "csv", f"acct:{anchored(CARD)}")
    accounts = {}
    for row in csv.DictReader(io.StringIO(printed)):
        accounts.setdefault(row["txnidx"], set()).add(row["account"])
    several = [one for one in accounts.values() if len(one & set(case.cash)) > 1]
    assert bool(several) == (CARD in case.cash)
