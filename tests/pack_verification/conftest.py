"""Packs of small books, and books with unusual names that are served."""

import csv
import datetime as dt
import random

import pytest
from small_packs import UNUSUAL_NAMES

FIRST_DAY = dt.date(2026, 1, 1)
CASH = "assets:Bank \U0001f600"
CATEGORIES = (
    "expenses:</script><script>alert(1)</script>",
    "expenses:Rent & \xabcaf\xe9\xbb",
    "income:\u6771\u4eac 12.50",
)
COLUMNS = ("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount")


def write_books(path):
    """Write five months of entries whose ledgers and payees have unusual names."""
    chance = random.Random(1)  # noqa: S311 (the same books in each run)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for entry in range(400):
            day = FIRST_DAY + dt.timedelta(days=chance.randrange(150))
            category = chance.choice(CATEGORIES)
            counterparty, amount = chance.choice(UNUSUAL_NAMES["payees"]), f"{chance.randint(1, 10**7) / 100:.2f}"
            is_inflow = category.startswith("income")
            for ledger, is_debit in ((CASH, is_inflow), (category, not is_inflow)):
                writer.writerow([f"e{entry}", day, counterparty, ledger, "debit" if is_debit else "credit", amount])


@pytest.fixture(scope="session")
def unusual_client(posted_books, tmp_path_factory):
    """Return a client of books with unusual names, which are served until the tests end."""
    file = tmp_path_factory.mktemp("unusual") / "lines.csv"
    write_books(file)
    with posted_books.import_file(file, cash=["assets:*"]).client() as client:
        yield client
