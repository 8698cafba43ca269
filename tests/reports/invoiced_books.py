"""Books of invoices, bills and their payments, by the days before the last one."""

import datetime as dt
from decimal import Decimal

from planted_books import Line, line_frame

from accounting_analytics.core.schemas import Ledgers

LAST = dt.date(2026, 6, 30)
CHART = (
    ("bank", "Bank", "asset", "current_assets", "debit", "checking_account", True),
    ("ar", "Receivables", "asset", "current_assets", "debit", "accounts_receivable", False),
    ("ap", "Payables", "liability", "current_liabilities", "credit", "accounts_payable", False),
    ("sales", "Sales", "revenue", "operating_revenues", "credit", None, False),
    ("costs", "Costs", "expense", "operating_expenses", "debit", None, False),
)
NAMES = ("id", "name", "type", "sub_type", "debit_credit", "financial_account_type", "report_cash_flow")


def chart(rows=CHART, parents=None, **columns):
    """Return a chart of accounts; `parents` are ids by id."""
    fields = {name: [row[at] for row in rows] for at, name in enumerate(NAMES)}
    codes = {"sort_code": [f"{at:03}" for at in range(len(rows))], "is_required": [False] * len(rows)}
    above = {"parent_id": [(parents or {}).get(row[0]) for row in rows]}
    absent = dict.fromkeys(("editable", "created_at"), [None] * len(rows))
    return Ledgers.from_columns(fields | codes | above | absent | columns)


def ledger(ledger_id, name, of_type="asset", side="debit"):
    """Return a row of the chart without a type of account."""
    sub_type = {"asset": "current_assets", "liability": "current_liabilities"}[of_type]
    return ledger_id, name, of_type, sub_type, side, None, False


def lines_of(*entries):
    """Return line entries: each entry is its days before the last one, its text, amount, and two ledgers."""
    return line_frame(
        [
            Line(f"line-{number:03}-{ledger}", ledger, f"entry-{number:03}", instant, sign * Decimal(amount), text)
            for number, (days, text, amount, debit, credit) in enumerate(entries)
            for instant in [dt.datetime.combine(LAST - dt.timedelta(days=days), dt.time(12), dt.UTC)]
            for sign, ledger in ((1, debit), (-1, credit))
        ]
    )


def invoice(days, text, amount):
    """Return an entry that a customer owes."""
    return days, text, amount, "ar", "sales"


def payment(days, text, amount):
    return days, text, amount, "bank", "ar"


def bill(days, text, amount):
    """Return an entry that is owed to a supplier."""
    return days, text, amount, "costs", "ap"


def bill_paid(days, text, amount):
    return days, text, amount, "ap", "bank"
