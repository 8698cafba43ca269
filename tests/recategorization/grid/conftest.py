"""A small queue of every kind of group, its chart of accounts, and what is proposed for some of its transactions."""

from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.schemas import Queue
from accounting_analytics.recategorization.queue import with_groups
from accounting_analytics.reports.merchants import merchants

COLUMNS = ("name", "type", "debit_credit", "report_cash_flow", "is_required", "parent_id")
LEDGERS = [
    # id, and these
    ("bank", "Bank", "asset", "debit", True, False, None),
    ("card", "Card", "liability", "credit", True, False, None),
    ("in", "Inflow to sort", "asset", "credit", False, True, None),
    ("out", "Outflow to sort", "asset", "debit", False, True, None),
    ("transfers", "Transfers", "asset", "debit", False, True, None),
    ("expenses", "Expenses", "expense", "debit", False, False, None),
    ("meals", "Meals", "expense", "debit", False, False, "expenses"),
    ("travel", "Travel", "expense", "debit", False, False, "expenses"),
    ("sales", "Sales", "revenue", "credit", False, False, None),
]
SUB_TYPES = {"in": "uncategorized_assets", "out": "uncategorized_assets", "transfers": "transfers_between_accounts"}
TRANSACTIONS = [
    # id, account, day, amount, description, opposing ledgers, uncategorized part
    ("uber-1", "card", 3, "-20.00", "UBER TRIP 1111", "out", "-20.00"),
    ("uber-2", "card", 4, "-30.01", "UBER TRIP 2222", "out", "-30.01"),
    ("uber-3", "card", 5, "-9.99", "UBER TRIP 3333", "out", "-9.99"),
    ("deli-1", "card", 6, "-12.50", "CORNER DELI", "out", "-12.50"),
    ("deli-2", "card", 7, "-12.50", "CORNER DELI", "out", "-12.50"),
    ("client", "bank", 8, "900.00", "ACME CORP INVOICE", "in", "900.00"),
    ("split", "card", 9, "-80.00", "COSTCO", "out|meals", "-30.00"),
    ("sent", "bank", 20, "-500.00", "TRANSFER TO CARD", "out", "-500.00"),
    ("received", "card", 21, "500.00", "PAYMENT THANK YOU", "in", "500.00"),
]
PROPOSED = {"uber-1": "travel", "uber-2": "travel", "uber-3": "travel", "client": "sales", "split": "meals"}


def make_queue(transactions=TRANSACTIONS, *, as_decimals=False):
    """Return a queue of transactions, in any order."""
    ids, accounts, days, amounts, descriptions, opposing, parts = zip(*transactions, strict=True)
    names = {row[0]: row[1] for row in LEDGERS}
    made = Queue.from_columns(
        {
            "transaction_id": ids,
            "ledger_id": accounts,
            "ledger_name": [names[one] for one in accounts],
            "line_entry_id": [f"line-{one}" for one in ids],
            "journal_entry_id": [f"entry-{one}" for one in ids],
            "datetime": [pd.Timestamp(f"2025-03-{day:02}T12:00Z") for day in days],
            "uncategorized_amount": [Decimal(part or amount) for part, amount in zip(parts, amounts, strict=True)],
            "uncategorized_is_certain": [part is not None for part in parts],
            "transaction_amount": list(map(Decimal, amounts)),
            "direction": ["outflow" if one.startswith("-") else "inflow" for one in amounts],
            "description": descriptions,
            "category_ledger_id": [one.split("|")[0] for one in opposing],
            "opposing_ledger_ids": opposing,
            "review_status": [None] * len(ids),
            "tag_ids": [None] * len(ids),
            "merchant": merchants(descriptions),
        },
        as_decimals=True,
    )
    return Queue.from_exact(with_groups(made), 2, as_decimals=as_decimals)


@pytest.fixture
def ledgers(books):
    """Return the chart of accounts."""
    return books["ledgers"]()


@pytest.fixture
def queue():
    """Return a queue of three rides, two meals, a receipt, a split, and both sides of a transfer."""
    return make_queue()


@pytest.fixture
def review(books, queue, ledgers, tmp_path):
    """Return a review of the queue with its proposals."""
    return aa.review(queue, ledgers, proposals=books["proposals"](queue), rules_file=tmp_path / "rules.toml")


@pytest.fixture
def groups(queue):
    """Return the id of the group of each merchant."""
    found = aa.group_queue(queue)
    return dict(zip(found["merchant"], found["group_id"], strict=True))


@pytest.fixture(scope="session")
def books(build):
    """Return the builders of queues, proposals and the chart of accounts."""
    ids, *cells = zip(*LEDGERS, strict=True)
    columns = dict(zip(COLUMNS, cells, strict=True)) | {
        "sub_type": [SUB_TYPES.get(one, "operating_expenses") for one in ids]
    }
    return {
        "queue": make_queue,
        "proposals": lambda queue, categories=PROPOSED, *rule: build.proposals(queue, categories, *rule),
        "ledgers": lambda: build.ledgers(ids, **columns),
    }
