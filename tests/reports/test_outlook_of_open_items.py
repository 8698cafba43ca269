"""Open invoices and bills in the weeks ahead: they come on the day on which their party usually pays."""

import datetime as dt
from collections import Counter
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invoiced_books import CHART, LAST, bill, bill_paid, chart, invoice, lines_of, payment

import accounting_analytics as aa

DAY = dt.timedelta(days=1)
TOOK = {"Bakery": 20, "Deli": 40, "Roaster": 30}
MONTHS = 24
OPENING = ("opening", "Opening", "equity", "equity", "credit", None, False)


def traded(open_only=(), *, months=MONTHS, last=LAST):
    """Return entries of two customers and a supplier, invoiced each 30 days and paid after the days of each."""
    shift = (LAST - last).days
    entries = [(30 * months + 60, "Opening capital", "90000.00", "bank", "opening")]
    for number in range(months):
        issued = 5 + 30 * number
        for party, took in TOOK.items():
            code, amount = f"{party[0]}-{number + 100}", f"{300 + number}.00"
            make, pay, by = (bill, bill_paid, "to") if party == "Roaster" else (invoice, payment, "by")
            name = "Bill" if party == "Roaster" else "Invoice"
            entries.append(make(issued, f"{name} {code} {'of' if party == 'Roaster' else 'to'} {party}", amount))
            if issued >= took and code not in open_only:
                entries.append(pay(issued - took, f"Payment of {name.lower()} {code} {by} {party}", amount))
        entries.append((issued - 2, f"POS SALE {'ABCD'[number % 4]}", f"{40 + 7 * (number % 5)}.00", "bank", "sales"))
    return [entry for entry in entries if entry[0] >= shift]


def ahead(entries=None, as_of=LAST, **options):
    """Return the outlook of such books."""
    books = aa.Books(lines_of(*(entries or traded())), chart([OPENING, *CHART]), time_zone="UTC", opening="2024-01-01")
    return aa.outlook(books, as_of=as_of, **options)


def due(result, who=None):
    """Return day, counterparty and amount of the open items that are due, of all or of one."""
    rows = [
        ((row.date.date() - LAST).days, row.counterparty, row.amount)
        for row in result.payments.query("rhythm == 'open item'").itertuples()
    ]
    return [row for row in rows if who in {None, row[1]}]


def test_open_items_come_when_their_party_usually_pays():
    result = ahead()
    assert due(result) == [
        (5, "DELI", 301.0),
        (15, "BAKERY", 300.0),
        (25, "ROASTER", -300.0),
        (35, "DELI", 300.0),
    ]
    weeks = result.frame.set_index("week")["open_items"]
    assert dict(weeks[weeks != 0]) == {1: 301.0, 3: 300.0, 4: -300.0, 5: 300.0}
    item = result["open_items", 3].terms[0]
    assert item.exact() == Decimal(300)
    assert list(item.entries["ledger_id"]) == ["ar"]
    assert item.entries["figure_amount"].sum() == 300
    assert "its party usually pays after 20 days, of 12 paid items" in item.calculation
    assert not set(result.payments.query("rhythm != 'open item'")["counterparty"]) & {"BAKERY", "DELI", "ROASTER"}


def test_an_item_that_is_older_than_any_paid_one_is_not_expected():
    assert due(ahead(traded({"B-101"})), "BAKERY") == [(15, "BAKERY", 300.0)]
    slow = [entry for entry in traded({"B-102"}) if "invoice B-104" not in entry[1]]
    slow.append(payment(125 - 90, "Payment of invoice B-104 by Bakery", "304.00"))
    assert due(ahead(slow), "BAKERY") == [(15, "BAKERY", 300.0), (25, "BAKERY", 302.0)]


def test_what_is_left_of_an_item_is_expected():
    part = payment(1, "Payment of invoice D-100 by Deli", "120.00")
    result = ahead([*traded(), part])
    assert due(result, "DELI") == [(5, "DELI", 301.0), (35, "DELI", 180.0)]
    (item,) = result["open_items", 5].terms
    assert item.calculation.startswith("what is left of 300.00, open since 25 Jun 2026")


def test_later_items_come_as_fast_as_those_before():
    result = ahead()
    later = [result["other_cash", week].terms[0] for week in range(1, 14)]
    units = [figure.units for figure in later]
    assert units[:2] == [0, 0]
    paid = [(days, sign * cents) for days, cents, sign in settled(26 * 7)]
    assert units[12] == round(sum(cents for _, cents in paid) / 26)
    soon = sum(cents for days, cents in paid if days <= 7 * 3 + 3) / 26
    assert units[3] == round(soon)
    assert all(figure.label.startswith("Invoices and bills to come") for figure in later)


def settled(within):
    """Yield days, cents and sign in cash of the items that were paid within so many days before the last."""
    for number in range(MONTHS):
        for party, took in TOOK.items():
            paid = 5 + 30 * number - took
            if 0 <= paid < within:
                yield took, 100 * (300 + number), -1 if party == "Roaster" else 1


def test_an_account_whose_payments_match_nothing_is_in_the_average_only():
    unmatched = [(30 * number + 3, f"Payment by Cafe {number}", "500.00", "bank", "ar") for number in range(MONTHS)]
    result = ahead([*traded(), *unmatched])
    assert due(result) == [(25, "ROASTER", -300.0)]
    assert not any("CAFE" in who for who in result.payments["counterparty"])


def test_a_known_item_is_an_open_one():
    known = pd.DataFrame([("2026-09-01", "300.00", "", "Deli")], columns=["date", "amount", "category", "note"])
    result = ahead(known=known)
    assert due(result, "DELI") == [(5, "DELI", 301.0)]
    assert "The known 300.00 on 1 Sep 2026 replaces DELI, 300.00 due on 4 Aug 2026." in result.notes
    before = ahead()
    assert result["cash", 13].exact() == before["cash", 13].exact()
    with pytest.raises(aa.errors.InputError, match=r"may be DELI, 300\.00 due on 4 Aug 2026, or another payment"):
        ahead(known=known.assign(amount="299.00"))


@pytest.mark.parametrize("days", [11, 100])
def test_an_outlook_of_open_items_knows_nothing_of_later_lines(days):
    day = LAST - days * DAY
    with_later, without = ahead(as_of=day), ahead(traded(last=day), as_of=day)
    pd.testing.assert_frame_equal(with_later.frame, without.frame)
    pd.testing.assert_frame_equal(with_later.payments, without.payments)
    assert with_later.score == without.score


@given(st.lists(st.tuples(st.sampled_from(sorted(TOOK)), st.integers(0, 40)), max_size=6, unique=True))
@settings(max_examples=15, deadline=None)
def test_what_is_due_is_what_ageing_has_open(extra):
    items = [
        (bill if party == "Roaster" else invoice)(
            days, f"{'Bill of' if party == 'Roaster' else 'Invoice to'} {party}", f"{10 + at}.00"
        )
        for at, (party, days) in enumerate(extra)
    ]
    entries = [*traded(), *items]
    books = aa.Books(lines_of(*entries), chart([OPENING, *CHART]), time_zone="UTC", opening="2024-01-01")
    rows = ahead(entries, weeks=13).payments.query("rhythm == 'open item'")
    aged = aa.ageing(books, as_of=LAST).open_items
    young = aged[aged["age_days"] < aged["counterparty"].str.title().map(TOOK)]
    signs = young["ledger_name"].map({"Receivables": 1, "Payables": -1})
    expected = Counter(zip(young["counterparty"], signs * young["open_amount"], strict=True))
    assert Counter(zip(rows["counterparty"], rows["amount"], strict=True)) == expected
