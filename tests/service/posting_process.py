"""Post and import entries until killed; print what is committed.

python posting_process.py DATABASE INSTANCE NAME FOLDER
"""

import datetime as dt
import itertools
import sys
import time
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from accounting_analytics.core.errors import OperationRefusedError
from accounting_analytics.service.imports import import_books
from accounting_analytics.service.post_entries import NewJournalEntry, NewLine, post_entries
from accounting_analytics.service.store import Store

FILE = 10
"""Entries of a file."""


def post(store, instance, name):
    """Post one entry of three lines."""
    lines = (
        NewLine("bank", -750),
        NewLine("food", 250),
        NewLine("rent", 500),
    )
    moment = dt.datetime(2025, 6, 1, tzinfo=dt.UTC)
    post_entries(store, instance, [NewJournalEntry(moment, "posted", lines, id=f"{name}.0")])
    return 1


def import_file(store, instance, name, folder):
    """Import a file of entries with two lines each."""
    rows = ["entry_id,datetime,entry_description,ledger,debit_credit,amount"]
    for number in range(FILE):
        start = f"{name}.{number},2025-06-02T12:00:00Z,imported"
        rows += [f"{start},bank,debit,1.25", f"{start},food,credit,1.25"]
    path = folder / "books.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    import_books(store, instance, path)
    return FILE


def main(database, instance, name, folder):
    """Post for ever and print each success; what fails is not repeated."""
    with Store.open(database) as store:
        for number in itertools.count(1):
            entry = f"{name}-{number}"
            try:
                if number % 3:
                    count = post(store, instance, entry)
                else:
                    count = import_file(store, instance, entry, Path(folder))
            except (DBAPIError, OperationRefusedError):
                time.sleep(0.05)
            else:
                print(entry, count, flush=True)  # noqa: T201 (read by the test)


if __name__ == "__main__":
    main(*sys.argv[1:])
