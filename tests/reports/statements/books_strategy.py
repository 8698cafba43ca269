"""Random books, the frames of them, and random requests for statements."""

import datetime as dt
from decimal import Decimal
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st
from naive_statements import DAY, NaiveBooks, NaiveLedger, NaiveLine

SUB_TYPES = {
    "asset": ("current_assets", "non-current_assets", "special", "equity"),
    "liability": ("current_liabilities", "non-current_liabilities", "special", "current_assets"),
    "equity": ("equity", "special", "current_assets"),
    "revenue": ("operating_revenues", "other_income", "special", "operating_expenses"),
    "expense": ("cost_of_goods_sold", "operating_expenses", "other_expenses", "special", "other_income"),
}
"""Sub_types of each type; the package does not know `special`, and the last one belongs to another type."""
ACCOUNTS = {"asset": (None, "accounts_receivable", "loan"), "liability": (None, "accounts_payable", "loan")}
ZONES = ("UTC", "America/New_York", "Pacific/Auckland", "America/Santiago", "Asia/Kolkata")
NAMES = ("Rent", "Sales", "Loans", "Misc", "Fees")
TRANSFERS = NaiveLedger("transfers", "Transfers", "asset", "transfers_between_accounts", is_required=True)
OPENING = NaiveLedger("opening", "Opening", "equity", "equity", "credit", is_required=True)
INFLOW = NaiveLedger("inflow", "Uncategorized in", "asset", "uncategorized_assets", "credit", is_required=True)
OUTFLOW = NaiveLedger("outflow", "Uncategorized out", "asset", "uncategorized_assets", "debit", is_required=True)
CASH = (
    NaiveLedger("bank", "Bank", "asset", "current_assets", is_cash=True, account="bank_account"),
    NaiveLedger("card", "Card", "liability", "current_liabilities", "credit", is_cash=True, account="credit_card"),
)
DEEP = tuple(
    NaiveLedger(f"deep{level}", f"Level {level}", "expense", sub_type, parent=f"deep{level - 1}" if level > 1 else None)
    for level, sub_type in enumerate([*["operating_expenses"] * 3, "other_expenses", *["operating_expenses"] * 2], 1)
)
"""Six levels, of which the fourth is in another section."""
FIRST_DAY, LAST_DAY = dt.date(2024, 1, 1), dt.date(2025, 6, 30)
MONTH_ENDS = [dt.date(2024, month, 1) - DAY for month in range(2, 13)]
CHANGES = [dt.date(2024, 3, 10), dt.date(2024, 4, 7), dt.date(2024, 9, 8), dt.date(2024, 11, 3), dt.date(2024, 9, 29)]
DAYS = st.one_of(
    st.sampled_from([*MONTH_ENDS, *(day + DAY for day in MONTH_ENDS), *CHANGES, dt.date(2025, 2, 28)]),
    st.dates(FIRST_DAY, LAST_DAY),
)
AMOUNTS = st.one_of(st.integers(-2000, 2000), st.integers(-(10**13), 10**13))


class Request(NamedTuple):
    """Days, columns and fiscal year of a statement."""

    start: dt.date
    end: dt.date
    unit: str
    first_month: int


@st.composite
def requests(draw):
    """Draw days within the books, a kind of column and a fiscal year."""
    start, end = sorted((draw(DAYS), draw(DAYS)))
    return Request(start, end, draw(st.sampled_from(["month", "quarter", "year"])), draw(st.sampled_from([1, 4, 7])))


@st.composite
def charts(draw):
    """Draw a chart of accounts: cash and required ledgers, and others in trees of up to six levels."""
    suspense_types = draw(st.sampled_from([("asset", "asset"), ("revenue", "expense")]))
    required = [TRANSFERS, OPENING]
    for ledger, kind in zip((INFLOW, OUTFLOW), suspense_types, strict=True):
        sub_type = {"asset": ledger.sub_type, "revenue": "other_income", "expense": "operating_expenses"}[kind]
        required.append(ledger._replace(type=kind, sub_type=sub_type))
    chart, levels = [*CASH, *required, *DEEP], {}
    kinds = draw(st.lists(st.sampled_from(list(SUB_TYPES)), min_size=1, max_size=5, unique=True))
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(kinds))
        above = [one.id for one in chart if one.type == kind and 0 < levels.get(one.id, 0) < 6]
        parent = draw(st.one_of(st.sampled_from([None, *above[-1:]]), st.sampled_from([None, *above])))
        levels[f"l{number}"] = levels.get(parent, 0) + 1
        chart.append(
            NaiveLedger(
                *(f"l{number}", draw(st.sampled_from(NAMES)), kind, draw(st.sampled_from(SUB_TYPES[kind]))),
                *(draw(st.sampled_from(["debit", "credit"])), parent),
                account=draw(st.sampled_from(ACCOUNTS.get(kind, (None,)))),
            )
        )
    return chart


@st.composite
def books(draw):
    """Draw books whose entries balance."""
    chart, zone = draw(charts()), draw(st.sampled_from(ZONES))
    ledger_ids = st.sampled_from([one.id for one in chart])
    lines = []
    for entry in range(draw(st.integers(0, 14))):
        day, minute = draw(DAYS), draw(st.one_of(st.sampled_from([0, 90, 150, 1439]), st.integers(0, 1439)))
        local = dt.datetime.combine(day, dt.time(minute // 60, minute % 60), dt.UTC)
        instant = local - dt.timedelta(hours=draw(st.integers(-13, 12)))  # near midnight of any zone
        amounts = draw(st.lists(AMOUNTS, min_size=1, max_size=3))
        for amount in (*amounts, -sum(amounts)):
            lines.append(NaiveLine(f"le{len(lines)}", draw(ledger_ids), f"je{entry}", instant, amount))
    return NaiveBooks(chart, lines, zone)


def ledger_frame(naive):
    rows = [
        {
            "id": one.id,
            "name": one.name,
            "type": one.type,
            "sub_type": one.sub_type,
            "debit_credit": one.debit_credit,
            "financial_account_type": one.account,
            "report_cash_flow": one.is_cash,
            "is_required": one.is_required,
            "parent_id": one.parent,
            "sort_code": f"{number:03}",
        }
        for number, one in enumerate(naive.ledgers.values())
    ]
    text = dict.fromkeys(("sub_type", "financial_account_type", "parent_id"), "str")
    return pd.DataFrame(rows).astype(text)


def line_table(naive, *, decimals=False):
    """Line entries as an Arrow table."""
    lines = naive.lines
    text = [Decimal(line.units) / 100 for line in lines]
    amounts = pa.array(text, pa.decimal128(18, 2)) if decimals else pa.array(map(float, text), pa.float64())
    return pa.table(
        {
            "id": pa.array([line.id for line in lines], pa.string()),
            "ledger_id": pa.array([line.ledger for line in lines], pa.string()),
            "journal_entry_id": pa.array([line.entry for line in lines], pa.string()),
            "journal_entry_description": pa.array([f"Entry {line.entry}" for line in lines], pa.string()),
            "datetime": pa.array([line.instant for line in lines], pa.timestamp("us", "UTC")),
            "signed_amount": amounts,
        }
    )


def naive_books(ledgers, line_entries, zone, first_month=1):
    """Books of frames that the package loaded."""
    chart = [
        NaiveLedger(
            *(row["id"], row["name"], row["type"], row["sub_type"], row["debit_credit"]),
            parent=row["parent_id"] if isinstance(row["parent_id"], str) else None,
            is_cash=bool(row["report_cash_flow"]),
            is_required=row["is_required"] is True or bool(row["is_required"] == True),  # noqa: E712 (may be NA)
            account=row["financial_account_type"] if isinstance(row["financial_account_type"], str) else None,
        )
        for row in ledgers.to_dict("records")
    ]
    names = ["id", "ledger_id", "journal_entry_id", "datetime", "signed_amount"]
    lines = [
        NaiveLine(line_id, ledger, entry, instant.to_pydatetime(), round(Decimal(repr(amount)) * 100))
        for line_id, ledger, entry, instant, amount in line_entries[names].itertuples(index=False)
    ]
    return NaiveBooks(chart, lines, zone, first_month)
