"""The demo company: the same realistic books every time, served by a real service."""

import datetime as dt
import hashlib
import itertools
import os
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import books_file
import httpx
import pandas as pd
import pyarrow.parquet as pq
import pytest
from harbor_lane.accounts import (
    ACCOUNTS,
    REQUIRED_LEDGERS,
    UNCATEGORIZED_INFLOW,
    UNCATEGORIZED_OUTFLOW,
)
from harbor_lane.daybook import Daybook, Posting, local_time
from harbor_lane.entry_generator import journal_entries

import accounting_analytics as aa
from accounting_analytics.demo_company import DemoCompany
from accounting_analytics.service.storage.store import Store

PROJECT = Path(__file__).parents[2]
NEW_YORK = ZoneInfo("America/New_York")
CASH = {"led_operating", "led_savings", "led_processor", "led_card"}
DIGEST = """
import hashlib
from harbor_lane.accounts import REQUIRED_LEDGERS
from harbor_lane.entry_generator import journal_entries
print(hashlib.sha256(repr(journal_entries({key: key for key in REQUIRED_LEDGERS})).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def entries():
    """Return the company's journal entries, with the keys of the required ledgers as their ids."""
    return journal_entries({key: key for key in REQUIRED_LEDGERS})


def signed(line):
    """Signed amount of a posted line."""
    return line.amount if line.debit_credit == "debit" else -line.amount


def test_entries_are_reproducible(entries):
    """Another process, with another hash seed and time zone, generates the same entries to the last id and second."""
    environment = os.environ | {"PYTHONHASHSEED": "4711", "TZ": "Asia/Tokyo"}
    arguments = [sys.executable, "-c", DIGEST]
    folder = Path(__file__).parent
    other = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment, cwd=folder)  # noqa: S603 (ours)
    assert other.stdout.strip() == hashlib.sha256(repr(entries).encode()).hexdigest()


def test_the_package_has_the_generated_books():
    """The files of the package have the generated rows; ``python tests/demo_company/books_file.py`` writes them."""
    assert books_file.LEDGERS.read_text(encoding="utf-8") == books_file.ledger_text()
    assert pq.read_table(books_file.LINES).equals(books_file.line_table())
    assert books_file.LINES.stat().st_size < 400_000


def test_the_service_has_every_generated_line(demo_company, entries):
    """The served lines are the generated ones, with their ledgers, sides, amounts, times and texts."""
    days = (demo_company.start_date, demo_company.end_date)
    ledgers = aa.discover_ledgers(demo_company.client, *days, progress=False)
    served = aa.load_line_entries(demo_company.client, ledgers["id"], *days, progress=False)
    columns = ["ledger_id", "datetime", "debit_credit", "amount", "description", "journal_entry_description"]
    assert Counter(served[columns].itertuples(index=False, name=None)) == Counter(
        (
            f"led_{line.ledger_id.removeprefix('led_')}",
            pd.Timestamp(entry.datetime),
            str(line.debit_credit),
            float(line.amount),
            line.description,
            entry.description,
        )
        for entry in entries
        for line in entry.lines
    )


def test_size_of_the_books(entries):
    """About three thousand entries from January 2025 to June 2026 in the company's zone, in order, with unique ids."""
    assert 2800 <= len(entries) <= 3500
    days = [entry.datetime.astimezone(NEW_YORK).date() for entry in entries]
    assert (days[0], days[-1]) == (dt.date(2025, 1, 1), dt.date(2026, 6, 30))
    assert all(one.datetime <= other.datetime for one, other in itertools.pairwise(entries))
    lines = [line.id for entry in entries for line in entry.lines]
    assert len(set(lines)) == len(lines)
    assert all(sum(map(signed, entry.lines)) == 0 for entry in entries)


def test_uncategorized_share(entries):
    """Eight to twelve percent of the transactions of cash accounts are uncategorized."""
    suspense = {UNCATEGORIZED_INFLOW, UNCATEGORIZED_OUTFLOW}
    uncategorized = [
        line.ledger_id in CASH and bool(suspense & {other.ledger_id for other in entry.lines})
        for entry in entries
        for line in entry.lines
        if line.ledger_id in CASH
    ]
    assert 0.08 <= sum(uncategorized) / len(uncategorized) <= 0.12
    sides = Counter(line.ledger_id for entry in entries for line in entry.lines if line.ledger_id in suspense)
    assert min(sides.values()) >= 15


def test_uncategorized_descriptions_are_noisy(entries):
    """Descriptions of uncategorized transactions differ nearly always, with digits and asterisks, as a bank's do."""
    texts = [
        line.transaction.description
        for entry in entries
        for line in entry.lines
        if line.transaction and UNCATEGORIZED_OUTFLOW in {other.ledger_id for other in entry.lines}
    ]
    assert len(set(texts)) > 0.9 * len(texts)
    assert sum(any(character.isdigit() for character in text) for text in texts) > 0.8 * len(texts)
    assert sum("*" in text for text in texts) > 0.3 * len(texts)


def test_dates_cover_edge_cases(entries):
    """There are entries within a minute of midnight, on both sides, and in hours that clocks skip or repeat."""
    clocks = [entry.datetime.astimezone(NEW_YORK) for entry in entries]
    assert sum(clock.time() <= dt.time(0, 1) for clock in clocks) >= 5
    assert sum(clock.time() >= dt.time(23, 59) for clock in clocks) >= 20
    assert sum(clock.date() != clock.astimezone(dt.UTC).date() for clock in clocks) > 300
    month_ends = [clock for clock in clocks if clock.month != clock.astimezone(dt.UTC).month]
    assert len({(clock.year, clock.month) for clock in month_ends}) == 18
    repeated = [clock.utcoffset() for clock in clocks if clock.replace(tzinfo=None) == dt.datetime(2025, 11, 2, 1, 30)]  # noqa: DTZ001 (a wall clock)
    assert len(set(repeated)) == 2
    assert {clock.date() for clock in clocks} >= {dt.date(2025, 3, 9), dt.date(2026, 3, 8)}


def test_all_kinds_of_entries_occur(entries):
    """Splits, transfers in transit and inside cash, entries without cash, tags, personal purchases, reviewed ones."""
    touched = [{line.ledger_id for line in entry.lines} for entry in entries]
    assert sum(len(ledgers) > 2 for ledgers in touched) > 300
    assert sum(ledgers <= CASH for ledgers in touched) >= 18
    assert sum("transfers" in ledgers for ledgers in touched) >= 20
    assert sum(not ledgers & CASH for ledgers in touched) > 200
    assert {tag.group for entry in entries for line in entry.lines for tag in line.tags} == {"channel", "project"}
    transactions = [line.transaction for entry in entries for line in entry.lines if line.transaction]
    assert {one.personal for one in transactions} == {True, False}
    assert {one.review_status for one in transactions} == {"reviewed", "unreviewed"}
    assert {account.financial_account_type for account in ACCOUNTS} - {None} == {
        "bank_account",
        "payments",
        "credit_card",
        "loan",
        "accounts_receivable",
        "accounts_payable",
    }
    parents = {account.key: account.parent for account in ACCOUNTS}
    depths = {key: 1 + bool(parent) + bool(parent and parents[parent]) for key, parent in parents.items()}
    assert set(depths.values()) == {1, 2, 3}
    assert len({account.name for account in ACCOUNTS}) == len(ACCOUNTS)


def test_cash_dips_and_recovers(entries):
    """Cash falls to a tenth by autumn 2025 and recovers; transfers end at zero, the inventory stays positive."""
    balance, by_day = Decimal(0), {}
    for entry in entries:
        balance += sum(signed(line) for line in entry.lines if line.ledger_id in CASH)
        by_day[entry.datetime.astimezone(NEW_YORK).date()] = balance
    lowest = min(by_day, key=by_day.get)
    assert dt.date(2025, 9, 1) <= lowest <= dt.date(2025, 11, 7)
    assert by_day[lowest] < 10_000
    assert by_day[dt.date(2026, 6, 30)] > 60_000
    ending = Counter()
    for line in (line for entry in entries for line in entry.lines):
        ending[line.ledger_id] += signed(line)
    assert ending["transfers"] == 0
    assert ending["led_inventory"] > 0
    assert ending["led_receivable"] > 0
    assert ending["led_loan"] < 0


def test_unbalanced_entries_are_refused():
    """An entry that does not balance is refused with its description and time."""
    book = Daybook()
    with pytest.raises(ValueError, match="'slip' of 2025-01-02 10:00:00-05:00 does not balance"):
        book.add(local_time(dt.date(2025, 1, 2), "10:00"), "slip", Posting("rent", 100), Posting("operating", -99))


def test_the_company_is_served(demo_company):
    """Its client, and one connected by its environment, reach the same books; its repr hides the token."""
    assert isinstance(demo_company, DemoCompany)
    report = demo_company.client.retrieve_cash_flow_report(demo_company.start_date, demo_company.end_date)
    assert report.ending_cash_balance
    assert demo_company.token not in repr(demo_company)
    environment = os.environ | demo_company.environment()
    code = "import accounting_analytics as aa; print(aa.connect().instance_id, aa.connect())"
    arguments = [sys.executable, "-c", code]
    other = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)  # noqa: S603 (ours)
    assert other.stdout.startswith(demo_company.instance_id)
    assert demo_company.token not in other.stdout


def test_every_demo_company_has_the_same_lines(demo_company):
    """Local books of one demo company are those of the next: no id is random, those of tags included."""
    with aa.demo() as other:
        ledgers = aa.discover_ledgers(other.client, "2025-01-01", "2025-03-31")["id"]
        loads = [
            aa.load_line_entries(one.client, ledgers, "2025-01-01", "2025-03-31", progress=False)
            for one in (demo_company, other)
        ]
    assert (loads[0]["tag_ids"] != "").any()
    pd.testing.assert_frame_equal(*loads)


def test_serving_it_loads_no_charts_and_no_notebooks():
    """Commands with --demo do not wait for the libraries of charts, nor the demo run for those of notebooks."""
    code = (
        "import sys; from accounting_analytics.demo_company import demo; print(*sys.modules);"
        "from accounting_analytics.demo_company import run_demo; print(*sys.modules)"
    )
    arguments = [sys.executable, "-c", code]
    loaded = subprocess.run(arguments, capture_output=True, text=True, check=True)  # noqa: S603 (ours)
    served, whole_loop = (set(line.split()) for line in loaded.stdout.splitlines())
    assert served & {"plotly", "nbformat"} == set()
    assert whole_loop & {"plotly", "nbformat", "nbconvert"} == {"plotly"}


def test_closing_stops_it():
    """A closed company refuses connections and leaves no database; closing again does nothing."""
    company = aa.demo()
    assert company.database.exists()
    company.close()
    company.close()
    assert not company.database.exists()
    with pytest.raises(httpx.ConnectError):
        httpx.get(company.base_url)


def test_it_closes_when_the_interpreter_exits(tmp_path):
    """A script that does not close the company ends without a hang, and the temporary database is deleted."""
    code = "import accounting_analytics as aa; print(aa.demo().database)"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    arguments = [sys.executable, "-W", "error", "-c", code]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=True, env=environment)  # noqa: S603 (ours)
    assert ended.stderr == ""
    assert not Path(ended.stdout.strip()).parent.exists()


def test_a_given_database_is_kept(tmp_path):
    """In a given file the books are created once, and served again with later changes."""
    database = tmp_path / "company.db"
    with aa.demo(database=database) as company:
        page = company.client.list_line_entries("led_card", "2025-01-02", "2025-01-31", time_zone="America/New_York")
        line = page.records[0]
        changed = company.client.recategorize_transaction(
            "led_card", line.transaction_id, updated_category_ledger_id="led_travel"
        )
    with aa.demo(database=str(database)) as company:
        again = company.client.recategorize_transaction(
            "led_card", line.transaction_id, updated_category_ledger_id="led_travel"
        )
        assert again.categories == changed.categories
    with Store.open(database) as store:
        assert [instance.id for instance in store.instances()] == ["harbor-lane"]


def test_the_rules_categorize_most_transactions(demo_company):
    """The sample rules give a category to most of the queue, not all of it, and most rules match something."""
    days = (demo_company.start_date, demo_company.end_date)
    ledgers = aa.discover_ledgers(demo_company.client, *days, time_zone=demo_company.time_zone, progress=False)
    lines = aa.load_line_entries(
        demo_company.client, ledgers["id"], *days, time_zone=demo_company.time_zone, progress=False
    )
    queue = aa.uncategorized_queue(lines, ledgers)
    rules = aa.load_rules(PROJECT / "data" / "rules.toml")
    proposals = aa.propose(queue, rules, ledgers)
    assert 0.6 <= len(proposals) / len(queue) <= 0.9
    assert len(set(proposals["rule"])) >= 0.8 * len(rules)
    assert ledgers["parent_known"].all()
