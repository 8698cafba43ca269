"""Line entries of payments from an account, and the chart of accounts that they are of."""

import datetime as dt
from decimal import Decimal, localcontext

from accounting_analytics.core.schemas import LineEntries

NOON = dt.datetime(2025, 3, 10, 12, tzinfo=dt.UTC)
COLUMNS = (
    *("id", "name", "type", "sub_type", "debit_credit"),
    *("financial_account_type", "report_cash_flow", "is_required", "parent_id"),
)
CHART = [
    ("bank", "Bank", "asset", "current_assets", "debit", "bank_account", True, False, None),
    ("card", "Card", "liability", "current_liabilities", "credit", "credit_card", True, False, None),
    ("loan", "Loan", "liability", "current_liabilities", "credit", "loan", False, False, None),
    ("in", "Inflow to sort", "asset", "uncategorized_assets", "credit", None, False, True, None),
    ("out", "Outflow to sort", "asset", "uncategorized_assets", "debit", None, False, True, None),
    ("transfers", "Transfers", "asset", "transfers_between_accounts", "debit", None, False, True, None),
    ("expenses", "Expenses", "expense", "operating_expenses", "debit", None, False, False, None),
    ("meals", "Meals", "expense", "operating_expenses", "debit", None, False, False, "expenses"),
    ("travel", "Travel", "expense", "operating_expenses", "debit", None, False, False, "expenses"),
    ("software", "Software", "expense", "operating_expenses", "debit", None, False, False, "expenses"),
    ("cogs", "Cost of Goods", "expense", "cost_of_goods_sold", "debit", None, False, False, None),
    ("cogs-software", "Software", "expense", "cost_of_goods_sold", "debit", None, False, False, "cogs"),
    ("sales", "Sales", "revenue", "operating_revenues", "credit", None, False, False, None),
]


def make_chart(build, rows=CHART):
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    return build.ledgers(columns.pop("id"), **columns)


def line_entries(*entries, descriptions=None):
    """Return line entries; each entry is a list of (ledger id, signed amount text). Accounts have transactions."""
    accounts = {row[0] for row in CHART if row[5] is not None}
    rows = []
    for number, entry in enumerate(entries):
        signed = [(ledger_id, Decimal(text)) for ledger_id, text in entry]
        with localcontext(prec=200):
            assert sum(amount for _, amount in signed) == 0
        for index, (ledger_id, amount) in enumerate(signed):
            opposing = dict.fromkeys(other for other, size in signed if (size > 0) != (amount > 0))
            is_account = ledger_id in accounts
            rows.append(
                {
                    "id": f"line-{number}-{index}",
                    "ledger_id": ledger_id,
                    "ledger_name": ledger_id.title(),
                    "journal_entry_id": f"entry-{number}",
                    "journal_entry_description": "the entry",
                    "datetime": NOON + dt.timedelta(days=number),
                    "amount": amount.copy_abs(),
                    "debit_credit": "debit" if amount > 0 else "credit",
                    "signed_amount": amount,
                    "description": "",
                    "transaction_id": f"txn-{number}-{index}" if is_account else None,
                    "related_line_entry_id": None,
                    "editable": True,
                    "opposing_ledger_ids": "|".join(opposing),
                    "tag_ids": "",
                    # without its sign, so the direction must not be taken from it
                    "transaction_amount": amount.copy_abs() if is_account else None,
                    "transaction_description": (descriptions or {}).get(number, "") if is_account else None,
                    "transaction_review_status": "unreviewed" if is_account else None,
                }
            )
    return LineEntries.from_columns({name: [row[name] for row in rows] for name in rows[0]})


def payments(*rows):
    """Return line entries of (account, amount, text), and of what each moves instead of `out` or `in` after these."""
    entries = []
    for account, amount, _, *parts in rows:
        opposing = ("out", amount.removeprefix("-")) if amount.startswith("-") else ("in", f"-{amount}")
        entries.append([(account, amount), *(parts or [opposing])])
    return line_entries(*entries, descriptions={number: row[2] for number, row in enumerate(rows)})
