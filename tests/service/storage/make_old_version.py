r"""Make the small books that `test_migrations.py` migrates, with the program of an older version.

Check out the last commit that has the version, and run this file with that checkout on PYTHONPATH, once with the path
of a new file, and once with the address of an empty PostgreSQL database. Then:

    gzip -9n -c books.db > versions/version_N.db.gz
    pg_dump --inserts --no-owner --no-privileges postgresql://... | grep -v '^\\' > versions/version_N.sql

Version 2 was made with the commit "Write the note on removed rounding noise in one function",
version 3 with "Share the places of the service among its instances".
"""

import datetime as dt
import sys
from decimal import Decimal

import httpx

from accounting_analytics.service.auth import issue_client, issue_token
from accounting_analytics.service.bookkeeping.instances import NewInstance, create_instance
from accounting_analytics.service.bookkeeping.ledgers import NewLedger, create_ledger
from accounting_analytics.service.bookkeeping.post_entries import (
    NewJournalEntry,
    NewLine,
    NewTag,
    NewTransaction,
    post_entries,
)
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running


def make_books(store, instance):
    """Create an instance with a bank, two categories and twelve tagged transactions."""
    start = dt.date(2024, 1, 1)
    create_instance(store, NewInstance(id=instance, entries_start=start, localtime="America/New_York"))
    create_ledger(store, instance, NewLedger("Bank", financial_account_type="bank_account", id="bank"))
    expense = {"type": "expense", "sub_type": "operating_expenses", "debit_credit": "debit", "report_cash_flow": False}
    for name in ("food", "rent"):
        create_ledger(store, instance, NewLedger(name.title(), sort_code=f"5{name}", id=name, **expense))
    post_entries(store, instance, [entry(month) for month in range(1, 13)])


def entry(month):
    """Return an entry that buys food from the bank account."""
    account = "A1" if month % 2 else None
    bought = NewTransaction(id=f"T{month}", description="Grüne Straße", source_account_id=account)
    tags = (NewTag("class", "one"),)
    lines = (
        NewLine("bank", "credit", Decimal("12345.67"), transaction=bought, tags=tags),
        NewLine("food", "debit", Decimal("12345.67"), description="weekly"),
    )
    return NewJournalEntry(dt.datetime(2025, month, 3, 12, tzinfo=dt.UTC), "Groceries", lines)


def recategorize(database, token):
    """Recategorize a transaction, which leaves an audit row."""
    headers = {"authorization": f"Bearer {token}", "service-instance-id": "books", "modified-by": "anna"}
    with running(database) as service:
        url = f"{service.base_url}/v0/ledgers/bank/transactions/T3/categories"
        httpx.put(url, json={"updated_category_ledger_id": "rent"}, headers=headers).raise_for_status()


def main(database):
    """Make the books of two instances, a token, a client and an audit row."""
    with Store.open(database) as store:
        make_books(store, "books")
        make_books(store, "others")
        token = issue_token(store, "books", label="nightly")
        issue_client(store, "books", label="client")
    recategorize(database, token)


if __name__ == "__main__":
    main(sys.argv[1])
