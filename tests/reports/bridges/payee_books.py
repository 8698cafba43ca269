"""Random books with payees, and the frames of them."""

import datetime as dt
from typing import NamedTuple

import pandas as pd
from hypothesis import strategies as st

LEDGERS = pd.DataFrame(
    [
        ("bank", "Bank", "asset", "current_assets", "debit", "bank_account", True),
        ("card", "Card", "liability", "current_liabilities", "credit", "credit_card", True),
        ("rent", "Rent", "expense", "operating_expenses", "debit", None, False),
        ("wages", "Wages", "expense", "operating_expenses", "debit", None, False),
        ("sales", "Sales", "revenue", "operating_revenues", "credit", None, False),
        ("loan", "Loan", "liability", "non-current_liabilities", "credit", "loan", False),
        ("own", "Transfers", "asset", "transfers_between_accounts", "debit", None, False),
    ],
    columns=["id", "name", "type", "sub_type", "debit_credit", "financial_account_type", "report_cash_flow"],
).assign(is_required=False, parent_id=None, sort_code=[f"{number}" for number in range(7)])
CATEGORIES = ("rent", "wages", "sales", "loan")
PAYEES = ("OAK STREET", "BLUE BOTTLE", "M ORTIZ", "")


class BookEntry(NamedTuple):
    """A journal entry: its day, its text, and units by ledger, debits positive."""

    day: dt.date
    text: str
    units: tuple[tuple[str, int], ...]
    is_transaction: bool = True
    entry_id: str = ""


def frame_of(entries):
    """Line entries of journal entries at noon UTC."""
    rows = []
    for number, entry in enumerate(entries):
        entry_id = entry.entry_id or f"je{number}"
        for position, (ledger, units) in enumerate(entry.units):
            on_cash = ledger in {"bank", "card"}
            rows.append(
                {
                    "id": f"{entry_id}-{position}",
                    "ledger_id": ledger,
                    "journal_entry_id": entry_id,
                    "journal_entry_description": None if entry.is_transaction else entry.text or None,
                    "transaction_description": entry.text if on_cash and entry.is_transaction else None,
                    "datetime": pd.Timestamp(entry.day, tz="UTC") + pd.Timedelta(hours=12),
                    "signed_amount": units / 100,
                }
            )
    columns = ["id", "ledger_id", "journal_entry_id", "journal_entry_description", "transaction_description"]
    frame = pd.DataFrame(rows, columns=[*columns, "datetime", "signed_amount"])
    texts = dict.fromkeys(columns, "str") | {"datetime": "datetime64[us, UTC]", "signed_amount": "float64"}
    return frame.astype(texts)


@st.composite
def entries_of(draw, first=dt.date(2025, 1, 1), last=dt.date(2025, 3, 31), *, size=24):
    """Draw journal entries with few payees, days near the edges of months, and amounts that repeat."""
    edges = [dt.date(2025, month, 1) + dt.timedelta(days) for month in (2, 3) for days in range(-3, 4)]
    days = st.one_of(st.sampled_from(edges), st.dates(first, last))
    amounts = st.one_of(st.sampled_from([-5000, 5000, 7500]), st.integers(-(10**12), 10**12))
    found = []
    for number in range(draw(st.integers(1, size))):
        parts = tuple(
            (draw(st.sampled_from([*CATEGORIES, "card"])), draw(amounts)) for _ in range(draw(st.integers(1, 3)))
        )
        cash = ("bank", -sum(units for _, units in parts))
        touches_cash = draw(st.integers(0, 5)) > 0
        own = cash if touches_cash else ("loan", cash[1])
        found.append(
            BookEntry(draw(days), draw(st.sampled_from(PAYEES)), (*parts, own), draw(st.booleans()), f"je{number}")
        )
    return found


def paid(*days, cents=-320_000, counterparty="OAK STREET", ledger="rent"):
    """Return payments of a counterparty on days, those of 2025 written month-day."""
    return [
        BookEntry(
            dt.date.fromisoformat(day if len(day) > 5 else f"2025-{day}"),
            counterparty,
            ((ledger, -cents), ("bank", cents)),
            entry_id=f"{counterparty}{day}",
        )
        for day in days
    ]
