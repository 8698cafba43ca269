"""Top customers and payees: whose rows they are, compared with pandas, and that table and chart have one figure."""

import datetime as dt
from decimal import Decimal

import pandas as pd
import pytest
from payee_books import LEDGERS, BookEntry, frame_of

import accounting_analytics as aa
from accounting_analytics import charts

MORE = pd.DataFrame(
    [
        ("processor", "Card Processor", "asset", "current_assets", "debit", "payments", True, False),
        ("owed", "Receivables", "asset", "current_assets", "debit", "accounts_receivable", False, False),
        ("bills", "Payables", "liability", "current_liabilities", "credit", "accounts_payable", False, False),
        ("tax", "Sales Tax", "liability", "current_liabilities", "credit", None, False, False),
        ("advances", "Employee Advances", "asset", "current_assets", "debit", None, False, False),
        ("interest", "Interest", "revenue", "other_income", "credit", None, False, False),
        ("open", "No category", "asset", "uncategorized_assets", "credit", None, False, True),
    ],
    columns=[*LEDGERS.columns[:7], "is_required"],
).assign(parent_id=None, sort_code=[f"9{number}" for number in range(7)])
CHART = pd.concat([LEDGERS, MORE], ignore_index=True)
CHART["is_required"] |= CHART["sub_type"] == "transfers_between_accounts"
RECEIPTS = (
    ("BIRCH CAFE", {"owed": -9_000}),
    ("OAK DELI", {"sales": -4_000, "tax": -400}),
    ("M ORTIZ", {"sales": -1_000, "open": -600}),
    ("", {"sales": -300}),
    ("SUPPLIER REFUND", {"bills": -2_500}),
    ("T NGUYEN", {"advances": -1_500}),
    ("BANK INTEREST", {"interest": -70}),
    ("K ABADI", {"open": -800}),
    ("LENDER", {"loan": -50_000}),
    ("FROM SAVINGS", {"own": -7_000}),
)


def amounts_of(pack, name):
    """Return the amounts of this period of a table of a pack by label."""
    table = pack.content.tables[name]
    return {row.label: table.figure(row.cells[0].key).exact() for row in table.table.rows}


@pytest.fixture
def receipts_pack(pack_of_lines):
    """Return the pack of receipts of every kind, two of them through a payment processor."""
    entries = [
        BookEntry(dt.date(2025, 3, number + 1), text, (*of.items(), ("bank", -sum(of.values()))))
        for number, (text, of) in enumerate(RECEIPTS)
    ]
    entries += [
        BookEntry(
            dt.date(2025, 3, 20), "PROCESSOR BATCH", (("sales", -units), ("processor", units)), is_transaction=False
        )
        for units in (12_000, 8_000)
    ]
    period = aa.Period("2025-03-01", "2025-03-31", "UTC")
    return pack_of_lines(frame_of(entries), CHART, period, "2025-03-01")


def test_customers_are_whose_receipts_are_sales_or_settle_receivables(receipts_pack):
    assert amounts_of(receipts_pack, "customers") == {
        "BIRCH CAFE": Decimal("90.00"),
        "OAK DELI": Decimal("44.00"),
        "M ORTIZ": Decimal("10.00"),
        "All other customers": Decimal("3.00"),
        "Customers through Card Processor": Decimal("200.00"),
        "Not categorized": Decimal("14.00"),
        "Other receipts": Decimal("540.70"),
        "Transfers between own accounts": Decimal("70.00"),
        "Cash in": receipts_pack["key_figures:cash_in|2025-03"].exact(),
    }
    (note,) = receipts_pack.content.tables["customers"].table.notes
    assert note.startswith("A customer is the counterparty of a receipt that is operating revenue")


def test_demo_customers_exclude_processor_and_employees(demo_pack):
    amounts = amounts_of(demo_pack, "customers")
    assert list(amounts) == [
        *("NORTHSIDE GROCERS", "HOTEL WYTHE BAR", "DUMBO CO-WORKING", "FORT GREENE DELI", "RED HOOK BAKERY"),
        *("VENMO CASHOUT", "All other customers", "Customers through Card Payments Processor", "Not categorized"),
        *("Other receipts", "Transfers between own accounts", "Cash in"),
    ]
    assert amounts["Not categorized"] == Decimal("402.43")  # as the sentence has it
    assert amounts["Cash in"] == sum(amount for label, amount in amounts.items() if label != "Cash in")


def test_demo_parties_are_those_of_pandas(demo_pack, load_month):
    frame = aa.analysis_frame(load_month("2026-05"), "2026-05")
    own = ~frame["journal_entry_id"].isin(
        frame.loc[frame["sub_type"] == "transfers_between_accounts", "journal_entry_id"]
    )
    moved = frame[frame["is_cash"] & own].groupby(["journal_entry_id", "counterparty"])["signed_amount"].sum()
    for name, of_side in (("customers", moved[moved > 0]), ("payees", moved[moved < 0])):
        by_party = of_side.groupby("counterparty").sum().round(2)
        shown = {label: amount for label, amount in amounts_of(demo_pack, name).items() if label in by_party}
        assert len(shown) >= 6
        assert {label: float(amount) for label, amount in shown.items()} == by_party[list(shown)].to_dict()


def test_chart_and_table_of_payees_have_one_figure(demo_pack, load_month):
    column = aa.cash_flow_statement(load_month("2026-05"), "2026-05").column("2026-05")
    drawn = charts.top_payees(column).frame["Paid"]
    amounts = {label: float(amount) for label, amount in amounts_of(demo_pack, "payees").items()}
    assert len(drawn) == 11
    assert list(drawn.iloc[:-1].items()) == list(amounts.items())[:10]
    assert drawn.iloc[-1] == amounts["All others"]
