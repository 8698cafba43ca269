"""Receivables and payables by age: what payments are set against, and what sums to the balance."""

import datetime as dt
import json
import math
from decimal import Decimal
from typing import NamedTuple

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invoiced_books import CHART, LAST, bill, bill_paid, chart, invoice, ledger, lines_of, payment

import accounting_analytics as aa


def aged(*entries, **options):
    """Return what is open on the last day."""
    return aa.ageing(aa.Books(lines_of(*entries), chart(), time_zone="UTC"), as_of=LAST, **options)


def open_items(*entries):
    frame = aged(*entries).open_items
    return dict(zip(frame["description"], frame["open_amount"], strict=True))


def test_buckets_end_at_30_60_and_90_days():
    days = (0, 30, 31, 60, 61, 90, 91, 400)
    (row,) = aged(*(invoice(one, "Invoice to Books Ltd", f"{2**at}.00") for at, one in enumerate(days))).frame.to_dict(
        "records"
    )
    assert list(row.values())[:7] == ["Receivables", "BOOKS LTD", 3.0, 12.0, 48.0, 192.0, 255.0]


def test_a_payment_is_set_against_its_invoice_number():
    first, second = invoice(50, "Invoice 7 to Deli", "100.00"), invoice(40, "Invoice 8 to Deli", "100.00")
    assert open_items(first, second, payment(9, "Payment of invoice 8 by Deli", "100.00")) == {first[1]: 100.0}
    assert open_items(first, second, payment(9, "Paid #8", "60.00")) == {first[1]: 100.0, second[1]: 40.0}
    assert open_items(first, second, payment(9, "Payment of invoice 8 by Deli", "130.00")) == {first[1]: 70.0}
    assert open_items(first, (5, "Invoice 7 of Deli written off", "100.00", "costs", "ar"), second) == {
        second[1]: 100.0
    }


ALPHA, BETA = bill(50, "Bill 1001 from Alpha", "500.00"), bill(40, "Bill 1001 from Beta", "300.00")


@pytest.mark.parametrize(
    ("paid", "expected"),
    [
        ("Payment of bill 1001 to Beta", {ALPHA[1]: 500.0}),
        ("Payment to Beta for bill 1001", {ALPHA[1]: 500.0}),
        ("Payment of bill 1001", {ALPHA[1]: 500.0, BETA[1]: 300.0, "Payment of bill 1001": -300.0}),
        ("Payment of bill 1001 to Gamma", {ALPHA[1]: 500.0, BETA[1]: 300.0, "Payment of bill 1001 to Gamma": -300.0}),
        ("Payment of bill 1002 to Beta", {ALPHA[1]: 500.0, BETA[1]: 300.0, "Payment of bill 1002 to Beta": -300.0}),
        ("Payment by check 1001", {ALPHA[1]: 500.0, BETA[1]: 300.0, "Payment by check 1001": -300.0}),
    ],
)
def test_number_and_party_decide(paid, expected):
    """Suppliers use the same numbers: a payment is of its number and party; where these differ it matches nothing."""
    assert open_items(ALPHA, BETA, bill_paid(9, paid, "300.00")) == expected


def test_number_alone_suffices_where_one_party_has_it():
    paid = bill_paid(45, "Payment of bill 1001", "300.00")
    assert open_items(ALPHA, paid) == {ALPHA[1]: 200.0}
    assert open_items(ALPHA, paid, BETA) == {ALPHA[1]: 200.0, BETA[1]: 300.0}
    assert open_items(ALPHA, bill_paid(45, "Payment of bill 1001 to Beta", "300.00"), BETA) == {ALPHA[1]: 500.0}
    early = bill_paid(60, "Payment of bill 1001", "300.00")
    assert open_items(early, ALPHA, BETA) == {early[1]: -300.0, ALPHA[1]: 500.0, BETA[1]: 300.0}
    unnamed = invoice(50, "Invoice 7", "100.00")
    assert open_items(unnamed, payment(9, "Payment of invoice 7 by Deli", "100.00")) == {}
    assert open_items(unnamed, invoice(5, "Invoice 9", "1.00"), payment(4, "Payment of invoice 7", "100.00")) == {
        "Invoice 9": 1.0
    }


def test_each_invoice_that_a_payment_names_is_settled():
    items = [invoice(60 - at, f"Invoice {number} to Deli", "100.00") for at, number in enumerate((100, 101, 102, 103))]
    left = {"Invoice 100 to Deli": 100.0, "Invoice 103 to Deli": 100.0}
    for text in ("invoices 101 and 102", "invoices 101, 102", "invoices #101 & #102", "invoice 101 and invoice 102"):
        assert open_items(*items, payment(9, f"Payment of {text}", "200.00")) == left
        assert open_items(*items, payment(9, f"Payment of {text} by Deli", "200.00")) == left
    for text in ("invoices 101-103", "invoices 101 to 103 by Deli"):
        assert open_items(*items, payment(9, f"Payment of {text}", "300.00")) == {"Invoice 100 to Deli": 100.0}
    other = invoice(70, "Invoice 101 to Cafe", "100.00")
    expected = {"Invoice 101 to Cafe": 100.0} | left
    assert open_items(other, *items, payment(9, "Payment of invoices 101 and 102", "200.00")) == expected


@pytest.mark.parametrize(
    ("text", "party", "numbers"),
    [
        ("Invoice 7 to Department of Education", "DEPARTMENT OF EDUCATION", "7"),
        ("Department of Education", "DEPARTMENT OF EDUCATION", None),
        ("Board of Education", "BOARD OF EDUCATION", None),
        ("Bill to Farm to Fork Ltd", "FARM TO FORK LTD", None),
        ("Refund to Deli of invoice 7", "DELI", "7"),
        ("Sale on account to Deli", "DELI", None),
        ("Invoice of March", "INVOICE OF MARCH", None),
        ("INV-1001 Alpha", "ALPHA", "1001"),
        ("Invoice INV-1001 to Alpha", "ALPHA", "1001"),
        ("Invoice no. 2026/0012 to Ann", "ANN", "2026/0012"),
        ("Invoice 1001 - Alpha", "ALPHA", "1001"),
        ("Bill 1001, 30 days, from Alpha", "30 DAYS FROM ALPHA", "1001"),
        ("Rent of flat #12", "RENT OF FLAT #12", None),
        ("Rent unit #14 March", "RENT UNIT #14", None),
        ("Bill to Flat #12", "FLAT #12", None),
        ("Invoice 7", "not named", "7"),
        ("", "not named", None),
    ],
)
def test_texts_name_parties_and_numbers_of_invoices_only(text, party, numbers):
    result = aged(invoice(1, text, "1.00"))
    (item,) = result.open_items.to_dict("records")
    assert (item["counterparty"], item["invoice"] if isinstance(item["invoice"], str) else None) == (party, numbers)
    assert any("are read from the texts of entries" in note for note in result.notes)


def test_spellings_of_a_name_are_one_party():
    spellings = ("Caf\u00e9 Joe\u2019s", "Cafe\u0301 Joe's", "CAF\u00c9\u00a0JOE'S", "Caf\u00e9\u200b \uff2aoe's")
    (row,) = aged(*(invoice(9 - at, f"Bill to {one}", "1.00") for at, one in enumerate(spellings))).frame.to_dict(
        "records"
    )
    assert (row["counterparty"], row["total"]) == ("CAF\u00c9 JOE\u2019S", 4.0)


def test_without_a_number_the_amount_and_then_the_age_decide():
    items = (invoice(50, "Bill to Cafe A", "80.00"), invoice(40, "Bill to Cafe A again", "30.00"))
    named = [items[0], (40, "Bill to Cafe A", "30.00", "ar", "sales")]
    assert aged(*named, payment(9, "Payment by Cafe A", "30.00")).open_items["open_amount"].tolist() == [80.0]
    assert aged(*named, payment(9, "Payment by Cafe A", "90.00")).open_items["open_amount"].tolist() == [20.0]
    other = invoice(45, "Invoice to Cafe B", "500.00")
    assert open_items(*items, other, payment(9, "Payment by Cafe B", "100.00"))["Invoice to Cafe B"] == 400.0
    opening, last_year = invoice(300, "Opening balances", "640.00"), payment(9, "Last year's invoices", "640.00")
    assert open_items(opening, invoice(20, "Invoice to Deli", "5.00"), last_year) == {"Invoice to Deli": 5.0}
    two = (opening, invoice(299, "Opening balances of Ann", "640.00"))
    assert open_items(*two, last_year) == {one[1]: 640.0 for one in two} | {last_year[1]: -640.0}
    owed = invoice(300, "Invoice to Ann", "640.00")
    assert open_items(owed, last_year) == {owed[1]: 640.0, last_year[1]: -640.0}


def test_oldest_of_several_items_of_one_amount_is_settled():
    items = [invoice(days, "Invoice to Deli", "30.00") for days in (50, 40, 20)]
    result = aged(invoice(60, "Invoice to Deli", "80.00"), *items, payment(9, "Payment by Deli", "30.00"))
    assert result.open_items["age_days"].tolist() == [60, 40, 20]


def test_payments_before_items_and_leftovers_have_rows():
    assert open_items(payment(50, "Payment by Deli", "30.00"), invoice(40, "Invoice to Deli", "100.00")) == {
        "Invoice to Deli": 70.0
    }
    other, later = payment(50, "Payment of invoice 9 by Deli", "30.00"), invoice(30, "Invoice 9 to Deli", "80.00")
    item = invoice(40, "Invoice 8 to Deli", "100.00")
    assert open_items(other, item) == {other[1]: -30.0, item[1]: 100.0}
    assert open_items(other, item, later) == {item[1]: 100.0, later[1]: 50.0}
    assert open_items(item, payment(35, other[1], "30.00"), later) == {item[1]: 100.0, later[1]: 50.0}
    result = aged(invoice(40, "Invoice to Deli", "1000.00"), payment(9, "Payment by Cafe", "30.00"))
    parties = dict(zip(result.frame["counterparty"], result.frame["total"], strict=True))
    assert parties == {"DELI": 1000.0, "not matched": -30.0}
    assert result["Receivables", "total"].amount == 970.0


def test_ages_are_not_stated_where_payments_match_too_little():
    result = aged(invoice(40, "Invoice to Deli", "1000.00"), payment(9, "Payment by Cafe", "101.00"))
    assert result.frame["total"].isna().all()
    assert result.frame["days_31_60"].isna().tolist() == [True, False]
    assert result["Receivables", "31-60"].amount is None
    assert result.summary() == (
        "Receivables: 899.00 open on 30 Jun 2026; its ages are not known: 1 payment of 2 entries match no item, which "
        "is more than a tenth of what is open. Payables: nothing is open on 30 Jun 2026."
    )


@pytest.mark.parametrize(("paid", "change"), [(729, 10.0), (730, None)])
def test_days_to_pay_are_compared_with_the_year_before_the_last(paid, change):
    result = aged(
        invoice(100, "Invoice 1 to Deli", "10.00"),
        payment(50, "Payment of invoice 1", "10.00"),
        invoice(paid + 40, "Invoice 2 to Deli", "20.00"),
        payment(paid, "Payment of invoice 2", "20.00"),
    )
    (row,) = result.days_to_pay.to_dict("records")
    assert (None if math.isnan(row["change_days"]) else row["change_days"]) == change


def test_days_to_pay_count_items_paid_in_whole():
    result = aged(
        invoice(100, "Invoice 1 to Deli", "300.00"),
        payment(90, "Payment of invoice 1", "200.00"),
        payment(70, "Payment of invoice 1", "100.00"),
        invoice(100, "Invoice 2 to Deli", "100.00"),
        payment(50, "Payment of invoice 2", "100.00"),
        invoice(100, "Invoice 3 to Deli", "900.00"),
        (1, "Invoice 3 written off", "900.00", "costs", "ar"),
        invoice(40, "Invoice 6 to Deli", "80.00"),
        payment(20, "Payment of invoice 6", "50.00"),
        (1, "Rest of invoice 6 written off", "30.00", "costs", "ar"),
        invoice(900, "Invoice 4 to Deli", "900.00"),
        payment(500, "Payment of invoice 4", "900.00"),
        invoice(3, "Invoice 5 to Deli", "1.00"),
        (500, "Opening balance of Bakery", "70.00", "ar", "sales"),
        payment(60, "Payment by Bakery", "70.00"),
    )
    (row,) = result.days_to_pay.to_dict("records")
    measures = ["paid_items", "median_days", "average_days", "last_days", "change_days"]
    assert [row[name] for name in measures] == [2, 40.0, 40.0, 50, -360.0]
    assert math.isnan(row["late_after_days"])
    assert (row["counterparty"], row["last_date"]) == ("DELI", pd.Timestamp(LAST - dt.timedelta(days=50)))
    paid = result.paid_items
    assert list(paid["days"]) == [30, 50]
    assert paid["payment_line_ids"][0].split("|") == ["line-001-ar", "line-002-ar"]
    assert result.summary() == (
        "Receivables: 1.00 open on 30 Jun 2026, 0.00 of it for more than 90 days; usually paid after 40 days. "
        "Payables: nothing is open on 30 Jun 2026."
    )
    assert "of 2 items paid in the year to 30 Jun 2026, half took 40 days or less, 360 less" in result.explain()
    assert result["Receivables", "late"].amount is None


def test_lateness_without_due_dates_is_of_past_payments():
    habits = {"Deli": range(20, 30), "Bakery": range(50, 60)}
    paid = [
        entry
        for party, days in habits.items()
        for number, took in enumerate(days)
        for entry in (
            invoice(200 + number, f"Invoice {party[0]}-{number} to {party}", "10.00"),
            payment(200 + number - took, f"Payment of invoice {party[0]}-{number} by {party}", "10.00"),
        )
    ]
    items = [invoice(40, f"Invoice to {party}", "7.00") for party in (*habits, "Florist")]
    old = invoice(60, "Invoice to Florist", "2.00")
    result = aged(*paid, *items, old)
    rows = result.frame.set_index("counterparty")
    assert dict(rows["late"]) == {"DELI": 7.0, "BAKERY": 0.0, "FLORIST": 2.0}
    assert dict(rows["median_days"].dropna()) == {"DELI": 24.5, "BAKERY": 54.5}
    late = result["Receivables", "late"]
    assert late.amount == 9.0
    assert [part.label for part in late.terms] == ["FLORIST, late", "DELI, late"]
    assert (
        "Open for longer than nine of ten items of the same party took: FLORIST 2.00, DELI 7.00." in result.sentences()
    )
    assert result.open_items.set_index("counterparty")["late_after_days"]["DELI"] == pytest.approx(28.1)


def test_payments_of_exact_amounts_settle_items_before_the_books():
    unknown = [bill_paid(98 - 10 * number, "Paid to Roaster", f"{90 + number}.00") for number in range(3)]
    bills = [bill(100 - 10 * number, "Bill of Roaster", f"{100 + number}.00") for number in range(6)]
    paid = [bill_paid(70 - 10 * number, "Paid to Roaster", f"{100 + number}.00") for number in range(6)]
    result = aged(*bills, *unknown, *paid, bill(3, "Bill of Roaster, the latest", "5000.00"))
    assert list(result.paid_items["days"]) == [30] * 6
    assert result["Payables", "total"].amount == 5000 - 90 - 91 - 92
    shifted = aged(*bills, *unknown, *paid[:3], bill(3, "Bill of Roaster, the latest", "5000.00"))
    assert list(shifted.paid_items["days"])[:3] == [30] * 3


PARTY_HABITS = st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 60)), min_size=1, max_size=20)


@given(PARTY_HABITS)
@settings(max_examples=60)
def test_days_to_pay_are_those_of_the_payments(habits):
    entries, truth = [], []
    for number, (party, took) in enumerate(habits):
        entries.append(invoice(90 + number, f"Invoice {number} to {party}", f"{number + 1}.00"))
        entries.append(payment(90 + number - took, f"Payment of invoice {number} by {party}", f"{number + 1}.00"))
        truth.append((party, took, -(90 + number - took)))
    found = aged(*entries).days_to_pay.set_index("counterparty")
    expected = pd.DataFrame(truth, columns=["party", "days", "order"]).groupby("party")["days"]
    pd.testing.assert_series_equal(found["median_days"].sort_index(), expected.median(), check_names=False)
    pd.testing.assert_series_equal(found["average_days"].sort_index(), expected.mean().round(1), check_names=False)
    assert dict(found["paid_items"]) == dict(expected.size())


def test_payables_are_positive_too():
    entries = [(20, "Bill of Roaster", "70.00", "costs", "ap"), (5, "Paid to Roaster", "20.00", "ap", "bank")]
    result = aged(*entries, invoice(3, "Invoice 5 to Deli", "1.00"))
    assert result["Payables", "0-30"].amount == 50.0
    assert [one.name for one in aged(*entries, accounts=["Payables"]).accounts] == ["Payables"]
    with pytest.raises(aa.errors.InputError, match="no ledger is an account of type accounts_receivable"):
        aa.ageing(
            aa.Books(lines_of(*entries), chart([row for row in CHART if row[0] not in {"ar", "ap"}]), time_zone="UTC"),
            as_of=LAST,
        )
    with pytest.raises(aa.errors.InputError, match="is not a figure: give a ledger"):
        result["Payables", "30-60"]
    once = lines_of(*entries)
    with pytest.raises(aa.errors.FrameError, match="a line entry id occurs more than once"):
        aa.ageing(aa.Books(pd.concat([once, once]), chart(), time_zone="UTC"), as_of=LAST)


def test_demo_receivables_sum_to_the_balance_sheet(demo_company):
    client, days = demo_company.client, ("2025-01-01", "2026-06-30")
    ledgers = aa.discover_ledgers(client, *days)
    entries = aa.load_line_entries(client, ledgers["id"], *days)
    later = aa.load_line_entries(client, ledgers["id"], "2026-01-01", "2026-06-30")
    assert any("counted since 1 Jan 2026" in note for note in aa.ageing(aa.Books(later, ledgers)).notes)
    result = aa.ageing(aa.Books(entries, ledgers))
    assert not any("counted since" in note for note in result.notes)
    sheet = aa.balance_sheet(aa.Books(entries, ledgers), ("2026-06-01", LAST))
    for name in ("Wholesale Receivables", "Supplier Payables"):
        assert result[name, "total"].exact() == sheet[name, "2026-06"].exact()
    assert len(result["Wholesale Receivables", "total"].terms) == 5
    item = result["Wholesale Receivables", "0-30"].terms[0].terms[0]
    assert (item.label, item.amount) == ("Invoice 1120 to Northside Grocers, 4 Jun 2026", 3931.08)
    content = json.loads(result.to_json())
    assert sum(Decimal(one["total"]) for one in content["counterparties"]) == Decimal("36587.29")
    some = aa.load_line_entries(client, ["led_operating"], *days)
    with pytest.raises(aa.errors.IncompleteLoadError, match="'Wholesale Receivables' was not loaded"):
        aa.ageing(aa.Books(some, ledgers))


def test_the_sign_is_that_of_the_type():
    rows = [(*row[:4], {"ar": "credit", "ap": "debit"}.get(row[0], row[4]), *row[5:]) for row in CHART]
    entries = lines_of(invoice(5, "Invoice 7 to Deli", "700.00"), bill(4, "Bill 3 from Roaster", "40.00"))
    result = aa.ageing(aa.Books(entries, chart(rows), time_zone="UTC"), as_of=LAST)
    assert (result["Receivables", "total"].amount, result["Payables", "total"].amount) == (700.0, 40.0)


BELOW = (
    ledger("ada", "Ada"),
    ledger("bob", "Bob"),
    ledger("eu", "EU", side="credit"),
    ledger("eu-bob", "Bob"),
    *CHART,
)
PARENTS = {"ada": "ar", "bob": "ar", "eu": "ar", "eu-bob": "eu"}


def test_ledgers_below_are_parties():
    entries = lines_of(
        (50, "Consulting", "400.00", "ada", "sales"),
        (40, "Consulting", "180.00", "eu-bob", "sales"),
        (30, "Invoice 5 to Ada", "90.00", "ar", "sales"),
        (20, "Payment by Ada", "100.00", "bank", "ar"),
        (10, "Received", "50.00", "bank", "eu-bob"),
    )
    result = aa.ageing(aa.Books(entries, chart(BELOW, PARENTS), time_zone="UTC"), as_of=LAST)
    assert dict(zip(result.frame["counterparty"], result.frame["total"], strict=True)) == {
        "ADA": 390.0,
        "EU:BOB": 130.0,
    }
    assert result["Receivables", "total"].amount == 520.0
    untyped = chart([(*row[:5], None, row[6]) for row in BELOW], PARENTS)
    result = aa.ageing(aa.Books(entries, untyped, time_zone="UTC"), as_of=LAST, accounts=["Receivables"])
    assert result["Receivables", "total"].amount == 520.0


def test_ledgers_without_ages_are_refused():
    entries = lines_of(invoice(5, "Invoice 7 to Deli", "700.00"), (4, "Invoice 8 to Ada", "1.00", "ada", "sales"))
    for accounts, message in (
        (["Bank"], "'Bank' reports cash flow; ages are those of receivables"),
        (["Sales"], "'Sales' is of type revenue; ages are those of receivables"),
        (["Ada", "Receivables"], "'Receivables:Ada' is below 'Receivables', whose ages include it; name one"),
    ):
        with pytest.raises(aa.errors.InputError, match=message):
            aa.ageing(aa.Books(entries, chart(BELOW, PARENTS), time_zone="UTC"), as_of=LAST, accounts=accounts)
    unknown = chart(BELOW, parent_known=[row[0] != "ada" for row in BELOW])
    notes = " ".join(aa.ageing(aa.Books(entries, unknown, time_zone="UTC"), as_of=LAST).notes)
    assert "The parents of 1 ledger are not known (Ada): what is below a listed ledger may be missing" in notes


class Entry(NamedTuple):
    """A line of a receivable before it is written as text: positive units are an item, negative ones a payment."""

    days: int
    party: str | None
    numbers: tuple
    units: int

    @property
    def text(self):
        """Words of an accountant."""
        named = f"invoice{'s' * (len(self.numbers) > 1)} {' and '.join(self.numbers)}" if self.numbers else ""
        if self.units > 0:
            return f"{named or 'invoice'} to {self.party}" if self.party else named
        of_numbers = f" of {named}" if named else ""
        return f"Payment{of_numbers}{f' from {self.party}' if self.party else ''}"


class Oracle:
    """What is open of each entry, from what the entries are, without any text."""

    def __init__(self, entries):
        self.entries, self.left = entries, [one.units for one in entries]
        self.order = sorted(range(len(entries)), key=lambda at: (-entries[at].days, -entries[at].units, at))
        self.of_numbers = {at: self.numbered(at) for at in self.order if entries[at].units < 0}
        for paid, claimed in self.of_numbers.items():
            self.settle(paid, claimed)
        for place, at in enumerate(self.order):
            if entries[at].units < 0:
                self.settle(at, self.whole(at, self.same(place))[:1])
        for place, at in enumerate(self.order):
            self.bill(at, self.same(place)) if entries[at].units > 0 else self.pay(at, self.same(place))

    def same(self, place):
        """Entries of the same party before the one at a place."""
        party = self.entries[self.order[place]].party
        return [other for other in self.order[:place] if self.entries[other].party == party]

    def settle(self, paid, claimed):
        for at in claimed:
            units = max(min(-self.left[paid], self.left[at]), 0)
            self.left[paid] += units
            self.left[at] -= units

    def numbered(self, paid):
        """Items that the numbers of a payment are those of."""
        one = self.entries[paid]
        items = [at for at in self.order if self.entries[at].units > 0]
        having = {number: [at for at in items if number in self.entries[at].numbers] for number in one.numbers}
        own = [at for found in having.values() for at in found if self.entries[at].party == one.party]
        if one.party and own:
            return own
        before = {number: [at for at in found if self.entries[at].days >= one.days] for number, found in having.items()}
        known = {number: before[number] or found for number, found in having.items() if found}
        owners = {number: {self.entries[at].party for at in found} for number, found in known.items()}
        shared = set.intersection(*owners.values()) if owners else set()
        sole = {number: shared or found for number, found in owners.items() if len(shared or found) == 1}
        allowed = {number: found for number, found in sole.items() if not one.party or found == {None}}
        return [at for number, found in allowed.items() for at in known[number] if self.entries[at].party in found]

    def bill(self, at, same):
        for paid in (other for other in same if self.entries[other].units < 0):
            if not (self.entries[at].numbers and self.entries[paid].numbers):
                self.settle(paid, [at])

    def claimed(self, at, same):
        one = self.entries[at]
        if one.numbers and not one.party:
            return []
        claimed = [other for other in same if self.left[other] > 0]
        if one.numbers and not self.of_numbers[at]:
            claimed = [other for other in claimed if not self.entries[other].numbers]
        return claimed

    def whole(self, at, same):
        """Items of exactly a payment that nothing was set against."""
        claimed = self.claimed(at, same)
        return [other for other in claimed if self.left[other] == -self.left[at] == self.entries[other].units]

    def pay(self, at, same):
        claimed = self.claimed(at, same)
        exact = [other for other in claimed if self.left[other] == -self.left[at]]
        self.settle(at, exact[:1] or claimed)


PARTIES = st.sampled_from(["Alpha", "Beta Ltd", "Department of Education", "Board of Education", None])
ACCOUNTS = st.lists(
    st.builds(
        Entry,
        days=st.integers(0, 40),
        party=PARTIES,
        numbers=st.lists(st.sampled_from(["7", "8", "INV-9"]), max_size=2, unique=True).map(tuple),
        units=st.integers(-4, 4).filter(bool),
    ),
    min_size=1,
    max_size=12,
)


@given(ACCOUNTS, st.sampled_from(["ar", "ap"]))
@settings(max_examples=150)
def test_random_accounts_are_matched_as_their_entries_say(entries, ledger_id):
    sides = {"ar": ("ar", "sales"), "ap": ("costs", "ap")}[ledger_id]
    rows = [(one.days, one.text, f"{abs(one.units)}.00", *(sides if one.units > 0 else sides[::-1])) for one in entries]
    account = aa.ageing(aa.Books(lines_of(*rows), chart(), time_zone="UTC"), as_of=LAST, accounts=[ledger_id]).accounts[
        0
    ]
    found = {int(one.item.id.split("-")[1]): one.open_units for one in account.items}
    assert found == {at: 100 * units for at, units in enumerate(Oracle(entries).left) if units}
    owed = {one.party for one in entries if one.units > 0}
    for party in owed - {None}:
        paid = sum(-one.units for one in entries if one.units < 0 and one.party in {party, None})
        billed = sum(one.units for one in entries if one.units > 0 and one.party == party)
        still = sum(one.open_units for one in account.items if one.item.party == party.upper() and one.item.units > 0)
        assert billed - paid <= still / 100 <= billed


TEXTS = st.sampled_from(["Invoice 1 to A", "Invoice 2 to B", "Bill of A", "Payment by B", "Opening", "by A of 2", ""])
LEDGERS = ("ar", "ada", "eu", "eu-bob", "ap")
ENTRIES = st.lists(
    st.tuples(st.integers(0, 200), TEXTS, st.integers(1, 9), st.booleans(), st.sampled_from(LEDGERS)), min_size=1
)


@given(ENTRIES, st.integers(0, 200))
@settings(max_examples=60)
def test_the_rows_sum_to_the_balance_sheet(entries, days):
    books = lines_of(
        *(
            (one, text, f"{units}.00", *(("costs", ledger) if is_debit else (ledger, "costs")))
            for one, text, units, is_debit, ledger in entries
        )
    )
    last, first = LAST - dt.timedelta(days=days), LAST - dt.timedelta(days=400)
    ledgers = chart(BELOW, PARENTS)
    result = aa.ageing(aa.Books(books, ledgers, time_zone="UTC"), as_of=last)
    sheet = aa.balance_sheet(aa.Books(books, ledgers, time_zone="UTC", opening=first), (first, last))
    for account in result.accounts:
        try:
            balance = sheet[account.ledger_id, sheet.columns[-1].key].exact()
        except aa.errors.InputError:  # a row of nothing is left out
            balance = 0
        assert sum(one.open_units for one in account.items) == 100 * balance
        assert all(0 < one.open_units / one.item.units <= 1 for one in account.items)
