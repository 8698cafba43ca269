"""Line entries and ledgers of the payments of ``noisy_books.py``, as an analyst loads them at the end of a month."""

import datetime as dt
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pandas as pd

from accounting_analytics.core.chart_of_accounts import TYPE_OF_SUB_TYPE, RequiredLedger
from accounting_analytics.core.schemas import Ledgers, LineEntries

COMPANY = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("statement_texts.py"))))
OUTFLOW, INFLOW = COMPANY.OUTFLOW, COMPANY.INFLOW


class Frames(NamedTuple):
    """Line entries and ledgers as an analyst loads them, and the true category by transaction id."""

    line_entries: pd.DataFrame
    ledgers: pd.DataFrame
    truth: dict[str, str]


def frames(payments, uncategorized_from, *, until=None):
    """Return the line entries of payments before `until`; those from a day on are uncategorized."""
    rows, truth = [], {}
    for number, one in enumerate(payments):
        if until is not None and one.day >= until:
            continue
        transaction_id = f"txn_{number:06}"
        truth[transaction_id] = COMPANY.ledger_id(one.category)
        category = COMPANY.ledger_id(one.label)
        if one.day >= uncategorized_from:
            category = OUTFLOW if one.amount < 0 else INFLOW
        rows += _lines(number, one, transaction_id, category)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Frames(LineEntries.from_columns(columns), chart(), truth)


def _lines(number, one, transaction_id, category):
    own = COMPANY.ledger_id(one.account)
    for position, (ledger, opposing, amount) in enumerate(((own, category, one.amount), (category, own, -one.amount))):
        is_own = position == 0
        yield {
            "id": f"line_{number:06}_{position}",
            "ledger_id": ledger,
            "ledger_name": ledger.removeprefix("led_").replace("_", " ").title(),
            "journal_entry_id": f"entry_{number:06}",
            "journal_entry_description": "Payment",
            "datetime": dt.datetime.combine(one.day, dt.time(12), dt.UTC),
            "amount": one.amount.copy_abs(),
            "debit_credit": "debit" if amount > 0 else "credit",
            "signed_amount": amount,
            "description": "",
            "transaction_id": transaction_id if is_own else None,
            "related_line_entry_id": None,
            "editable": True,
            "opposing_ledger_ids": opposing,
            "tag_ids": "",
            "transaction_amount": one.amount.copy_abs() if is_own else None,
            "transaction_description": one.text if is_own else None,
            "transaction_review_status": "unreviewed" if is_own else None,
        }


def chart():
    rows = [
        (COMPANY.ledger_id(account), name, "current_assets", "debit", kind, True, False, None)
        for account, (name, kind) in COMPANY.ACCOUNTS.items()
    ]
    required = {
        RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS: ("transfers_between_accounts", "debit"),
        RequiredLedger.UNCATEGORIZED_INFLOW: ("uncategorized_assets", "credit"),
        RequiredLedger.UNCATEGORIZED_OUTFLOW: ("uncategorized_assets", "debit"),
    }
    for role, (sub_type, side) in required.items():
        rows.append((COMPANY.REQUIRED[role], role.title(), sub_type, side, None, False, True, None))
    for parent, ((_, sub_type, side), names) in COMPANY.CATEGORIES.items():
        for number, name in enumerate((parent, *names)):
            above = COMPANY.ledger_id(parent) if number else None
            rows.append((COMPANY.ledger_id(name), name, sub_type, side, None, False, False, above))
    names = (
        *("id", "name", "sub_type", "debit_credit", "financial_account_type"),
        *("report_cash_flow", "is_required", "parent_id"),
    )
    columns = {name: [row[position] for row in rows] for position, name in enumerate(names)}
    count = len(rows)
    return Ledgers.from_columns(
        {
            **columns,
            "type": [str(TYPE_OF_SUB_TYPE[sub_type]) for sub_type in columns["sub_type"]],
            "editable": [True] * count,
            "sort_code": [f"{number:03}" for number in range(count)],
            "created_at": [None] * count,
        }
    )
