"""A small queue of every kind of group, its chart of accounts, and what is proposed for some of its transactions."""

import pandas as pd
import pytest
from payment_lines import make_chart, payments
from plain_books import books_of

import accounting_analytics as aa

TRANSACTIONS = [
    # id, account, day, amount, description, and what a split is of
    ("uber-1", "card", 3, "-20.00", "UBER TRIP 1111"),
    ("uber-2", "card", 4, "-30.01", "UBER TRIP 2222"),
    ("uber-3", "card", 5, "-9.99", "UBER TRIP 3333"),
    ("deli-1", "card", 6, "-12.50", "CORNER DELI"),
    ("deli-2", "card", 7, "-12.50", "CORNER DELI"),
    ("client", "bank", 8, "900.00", "ACME CORP INVOICE"),
    ("split", "card", 9, "-80.00", "COSTCO", ("out", "30.00"), ("meals", "50.00")),
    ("sent", "bank", 20, "-500.00", "TRANSFER TO CARD"),
    ("received", "card", 21, "500.00", "PAYMENT THANK YOU"),
]
PROPOSED = {"uber-1": "travel", "uber-2": "travel", "uber-3": "travel", "client": "sales", "split": "meals"}


@pytest.fixture(scope="session")
def ledgers(build):
    """Return the chart of accounts; tests do not modify it."""
    return make_chart(build)


@pytest.fixture(scope="session")
def make_queue(ledgers):
    """Return a function that makes a queue of transactions in March."""

    def make_queue(transactions=TRANSACTIONS):
        ids, accounts, days, amounts, texts, *_ = zip(*(one[:5] for one in transactions), strict=True)
        parts = (one[5:] for one in transactions)
        rows = zip(accounts, amounts, texts, parts, strict=True)
        lines = payments(*((account, amount, text, *of_row) for account, amount, text, of_row in rows))
        number = lines["journal_entry_id"].str.removeprefix("entry-").astype(int)
        is_payment = lines["transaction_id"].notna()
        moved = {
            "transaction_id": number.map(dict(enumerate(ids))).where(is_payment),
            "datetime": number.map({at: pd.Timestamp(f"2025-03-{day:02}T12:00Z") for at, day in enumerate(days)}),
        }
        return aa.uncategorized_queue(books_of(ledgers, lines.assign(**moved)))

    return make_queue


@pytest.fixture(scope="session")
def propose(build):
    """Return a function that proposes categories for transactions of a queue by a rule."""
    return lambda queue, categories=PROPOSED, *rule: build.proposals(queue, categories, *rule)


@pytest.fixture
def queue(make_queue):
    """Return a queue of three rides, two meals, a receipt, a split, and both sides of a transfer."""
    return make_queue()


@pytest.fixture
def review(propose, queue, ledgers, tmp_path):
    return aa.review(books_of(ledgers), queue, proposals=propose(queue), rules_file=tmp_path / "rules.toml")
