"""Write the books of the demo company into the package: ``python tests/demo_company/books_file.py``."""

import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from harbor_lane.accounts import REQUIRED_LEDGERS, ledger_id, new_ledgers
from harbor_lane.entry_generator import journal_entries

PACKAGE = Path(__file__).parents[2] / "accounting_analytics" / "demo_company"
LINES, LEDGERS = PACKAGE / "line_entries.parquet", PACKAGE / "ledgers.csv"
LEDGER_COLUMNS = ("id", "name", "parent_id", "sort_code", "type", "sub_type", "debit_credit", "financial_account_type")
SCHEMA = pa.schema([
    ("entry_id", pa.string()),
    ("datetime", pa.timestamp("us", "UTC")),
    ("entry_description", pa.string()),
    ("ledger", pa.string()),
    ("debit_credit", pa.string()),
    ("amount", pa.decimal128(12, 2)),
    ("description", pa.string()),
    ("transaction_id", pa.string()),
    ("transaction_description", pa.string()),
    ("personal", pa.bool_()),
    ("review_status", pa.string()),
    ("source_account_id", pa.string()),
    ("tags", pa.string()),
])  # fmt: skip


def line_table():
    """Return every line entry of the company, as the file of the package has them."""
    entries = journal_entries({key: ledger_id(key) for key in REQUIRED_LEDGERS})
    rows = [_row(entry, line) for entry in entries for line in entry.lines]
    return pa.Table.from_pylist(rows, SCHEMA)


def _row(entry, line):
    transaction = line.transaction
    of_transaction = transaction and {
        "transaction_id": transaction.id,
        "transaction_description": transaction.description,
        "personal": transaction.personal,
        "review_status": transaction.review_status,
        "source_account_id": transaction.source_account_id,
    }
    return {
        "entry_id": entry.id,
        "datetime": entry.datetime,
        "entry_description": entry.description,
        "ledger": line.ledger_id,
        "debit_credit": str(line.debit_credit),
        "amount": line.amount,
        "description": line.description,
        "tags": ";".join(f"{tag.group}={tag.name}" for tag in line.tags) or None,
        **(of_transaction or {}),
    }


def ledger_text():
    """Return the ledgers that the company has besides the required ones, parents first, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(LEDGER_COLUMNS)
    writer.writerows([getattr(ledger, name) for name in LEDGER_COLUMNS] for ledger in new_ledgers())
    return text.getvalue()


if __name__ == "__main__":
    pq.write_table(line_table(), LINES, compression="zstd", compression_level=19)
    LEDGERS.write_text(ledger_text(), encoding="utf-8")
