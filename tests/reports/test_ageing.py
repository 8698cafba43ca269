"""Receivables and payables by age: what payments are set against, and what sums to the balance."""

import datetime as dt
import json
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_books import Line, line_frame

import accounting_analytics as aa
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


def chart(rows=CHART):
    """Return a chart of accounts."""
    columns = {name: [row[at] for row in rows] for at, name in enumerate(NAMES)}
    codes = {"sort_code": [f"{at:03}" for at in range(len(rows))], "is_required": [False] * len(rows)}
    absent = dict.fromkeys(("parent_id", "editable", "created_at"), [None] * len(rows))
    return Ledgers.from_columns(columns | codes | absent)


def lines(*entries):
    """Return line entries: each entry is its days before the last one, its text, amount, and two ledgers."""
    return line_frame(
        [
            Line(f"line-{number:03}-{ledger}", ledger, f"entry-{number:03}", instant, sign * Decimal(amount), text)
            for number, (days, text, amount, debit, credit) in enumerate(entries)
            for instant in [dt.datetime.combine(LAST - dt.timedelta(days=days), dt.time(12), dt.UTC)]
            for sign, ledger in ((1, debit), (-1, credit))
        ],
        as_decimals=False,
    )


def invoice(days, text, amount):
    """Return an entry that a customer owes."""
    return days, text, amount, "ar", "sales"


def payment(days, text, amount):
    """Return a payment of a customer."""
    return days, text, amount, "bank", "ar"


def aged(*entries, **options):
    """Return what is open on the last day."""
    return aa.ageing(lines(*entries), chart(), LAST, time_zone="UTC", **options)


def open_items(*entries):
    """Return description and open amount of each open item."""
    frame = aged(*entries).open_items
    return dict(zip(frame["description"], frame["open_amount"], strict=True))


def test_the_days_of_each_bucket():
    """The entry of today is 0 days old; 30, 60 and 90 days are the last of their buckets."""
    days = (0, 30, 31, 60, 61, 90, 91, 400)
    (row,) = aged(*(invoice(one, "Invoice to Books Ltd", f"{2**at}.00") for at, one in enumerate(days))).frame.to_dict(
        "records"
    )
    assert list(row.values()) == ["Receivables", "BOOKS LTD", 3.0, 12.0, 48.0, 192.0, 255.0]


def test_a_payment_is_set_against_its_invoice_number():
    """The number decides, whatever the amounts and parties; the rest of a payment goes to the party's oldest item."""
    first, second = invoice(50, "Invoice 7 to Deli", "100.00"), invoice(40, "Invoice 8 to Deli", "100.00")
    assert open_items(first, second, payment(9, "Payment of invoice 8 by Deli", "100.00")) == {first[1]: 100.0}
    assert open_items(first, second, payment(9, "Paid #8", "60.00")) == {first[1]: 100.0, second[1]: 40.0}
    assert open_items(first, second, payment(9, "Payment of invoice 8 by Deli", "130.00")) == {first[1]: 70.0}
    assert open_items(first, (5, "Invoice 7 of Deli written off", "100.00", "costs", "ar"), second) == {
        second[1]: 100.0
    }


def test_without_a_number_the_amount_and_then_the_age_decide():
    """Exactly the amount of an item of the party is that item; any other amount is set against the oldest.

    Opening balances, which never pay, are paid by the only payment of exactly their amount, whoever makes it.
    """
    items = (invoice(50, "Bill to Cafe A", "80.00"), invoice(40, "Bill to Cafe A again", "30.00"))
    named = [items[0], (40, "Bill to Cafe A", "30.00", "ar", "sales")]
    assert aged(*named, payment(9, "Payment by Cafe A", "30.00")).open_items["open_amount"].tolist() == [80.0]
    assert aged(*named, payment(9, "Payment by Cafe A", "90.00")).open_items["open_amount"].tolist() == [20.0]
    other = invoice(45, "Invoice to Cafe B", "500.00")
    assert open_items(*items, other, payment(9, "Payment by Cafe B", "100.00"))["Invoice to Cafe B"] == 400.0
    opening, last_year = invoice(300, "Opening balances", "640.00"), payment(9, "Last year's invoices", "640.00")
    assert open_items(opening, invoice(20, "Invoice to Deli", "5.00"), last_year) == {"Invoice to Deli": 5.0}


def test_payments_before_and_beyond_items():
    """A payment made before its item is set against it; what is left of payments is a row of its own."""
    assert open_items(payment(50, "Payment by Deli", "30.00"), invoice(40, "Invoice to Deli", "100.00")) == {
        "Invoice to Deli": 70.0
    }
    result = aged(invoice(40, "Invoice to Deli", "1000.00"), payment(9, "Payment by Cafe", "30.00"))
    parties = dict(zip(result.frame["party"], result.frame["total"], strict=True))
    assert parties == {"DELI": 1000.0, "not matched": -30.0}
    assert result["Receivables", "total"].amount == 970.0


def test_ages_that_are_not_known():
    """Where payments without an item are more than a tenth of what is open, no age is stated, but the balance is."""
    result = aged(invoice(40, "Invoice to Deli", "1000.00"), payment(9, "Payment by Cafe", "101.00"))
    assert result.frame["total"].isna().all()
    assert result.frame["days_31_60"].isna().tolist() == [True, False]
    assert result["Receivables", "31-60"].amount is None
    assert result.summary() == (
        "Receivables: 899.00 open on 30 Jun 2026; its ages are not known: 1 payment of 2 entries match no item, which "
        "is more than a tenth of what is open. Payables: nothing is open on 30 Jun 2026."
    )


def test_average_days_to_pay():
    """Days between items and their payments of a year, weighted by amount; a write-off is no payment."""
    result = aged(
        invoice(100, "Invoice 1 to Deli", "300.00"),
        payment(90, "Payment of invoice 1", "300.00"),
        invoice(100, "Invoice 2 to Deli", "100.00"),
        payment(50, "Payment of invoice 2", "100.00"),
        invoice(100, "Invoice 3 to Deli", "900.00"),
        (1, "Invoice 3 written off", "900.00", "costs", "ar"),
        invoice(900, "Invoice 4 to Deli", "900.00"),
        payment(500, "Payment of invoice 4", "900.00"),
        invoice(3, "Invoice 5 to Deli", "1.00"),
    )
    assert result.accounts[0].average_days == 20
    assert result.summary() == (
        "Receivables: 1.00 open on 30 Jun 2026, 0.00 of it for more than 90 days; paid after 20 days on average. "
        "Payables: nothing is open on 30 Jun 2026."
    )


def test_payables_are_positive_too():
    """What is owed to suppliers is positive; named ledgers are those that are listed; a line twice is refused."""
    entries = [(20, "Bill of Roaster", "70.00", "costs", "ap"), (5, "Paid to Roaster", "20.00", "ap", "bank")]
    result = aged(*entries, invoice(3, "Invoice 5 to Deli", "1.00"))
    assert result["Payables", "0-30"].amount == 50.0
    assert [one.name for one in aged(*entries, accounts=["Payables"]).accounts] == ["Payables"]
    with pytest.raises(aa.errors.InputError, match="no ledger is an account of type accounts_receivable"):
        aa.ageing(lines(*entries), chart([row for row in CHART if row[0] not in {"ar", "ap"}]), LAST, time_zone="UTC")
    with pytest.raises(aa.errors.InputError, match="is not a figure: give a ledger"):
        result["Payables", "30-60"]
    once = lines(*entries)
    with pytest.raises(aa.errors.FrameError, match="a line entry id occurs more than once"):
        aa.ageing(pd.concat([once, once]), chart(), LAST, time_zone="UTC")


def test_the_demo_company(demo_company):
    """Its receivables are those of five customers, sum to the balance sheet, and are made of items."""
    client, days = demo_company.client, ("2025-01-01", "2026-06-30")
    ledgers = aa.discover_ledgers(client, *days)
    entries = aa.load_line_entries(client, ledgers["id"], *days)
    assert any("counted since 1 Jan 2025" in note for note in aa.ageing(entries, ledgers).notes)
    result = aa.ageing(entries, ledgers, books_start="2025-01-01")
    assert not any("counted since" in note for note in result.notes)
    sheet = aa.balance_sheet(entries, ledgers, "2026-06-01", LAST, books_start="2025-01-01")
    for name in ("Wholesale Receivables", "Supplier Payables"):
        assert result[name, "total"].exact() == sheet[name, "2026-06"].exact()
    assert len(result["Wholesale Receivables", "total"].terms) == 5
    item = result["Wholesale Receivables", "0-30"].terms[0].terms[0]
    assert (item.label, item.amount) == ("Invoice 1120 to Northside Grocers, 4 Jun 2026", 3931.08)
    content = json.loads(result.to_json())
    assert sum(Decimal(one["total"]) for one in content["parties"]) == Decimal("36587.29")
    some = aa.load_line_entries(client, ["led_operating"], *days)
    with pytest.raises(aa.errors.IncompleteLoadError, match="'Wholesale Receivables' was not loaded"):
        aa.ageing(some, ledgers)


TEXTS = st.sampled_from(["Invoice 1 to A", "Invoice 2 to B", "Bill of A", "Payment by B", "Opening", "by A of 2", ""])
ENTRIES = st.lists(
    st.tuples(st.integers(0, 200), TEXTS, st.integers(1, 9), st.booleans(), st.sampled_from(["ar", "ap"]))
)


@given(ENTRIES.filter(bool), st.integers(0, 200))
@settings(max_examples=60)
def test_the_rows_sum_to_the_balance(entries, days):
    """Whatever is set against what, open items sum to the balance of the ledger, at any day, and none is too large."""
    books = lines(
        *(
            (one, text, f"{units}.00", *(("costs", ledger) if is_debit else (ledger, "costs")))
            for one, text, units, is_debit, ledger in entries
        )
    )
    last = LAST - dt.timedelta(days=days)
    result = aa.ageing(books, chart(), last, time_zone="UTC")
    until = books[books["datetime"].dt.date <= last]
    for ledger_id, sign, account in zip(("ar", "ap"), (1, -1), result.accounts, strict=True):
        balance = sign * until.loc[until["ledger_id"] == ledger_id, "signed_amount"].sum()
        assert sum(one.open_units for one in account.items) == round(100 * balance)
        assert all(0 < one.open_units / one.item.units <= 1 for one in account.items)
