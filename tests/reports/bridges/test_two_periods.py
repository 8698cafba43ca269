"""Bridges between two periods: steps that sum exactly, each counterparty of a category once."""

import datetime as dt
from collections import defaultdict
from decimal import Decimal

import hypothesis
import pytest
from payee_books import CATEGORIES, LEDGERS, BookEntry, entries_of, frame_of, paid

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError

DAYS = ("2025-01-01", "2025-03-31")
FEBRUARY, MARCH = "2025-02", "2025-03"


BACKGROUND = [BookEntry(dt.date(2024, 12, 1), "OPENING", (("loan", -100), ("bank", 100)), entry_id="opening")]
"""What makes the lines reach back before the periods that are compared."""


def bridge_of(entries, kind="cash", before=FEBRUARY, after=MARCH, **options):
    """Return the bridge between two months, with all its steps unless limited."""
    books = aa.Books(frame_of([*BACKGROUND, *entries]), LEDGERS, DAYS, time_zone="UTC")
    total = "net_cash_flow" if kind == "cash" else "net_income"
    return aa.bridge(books, after, against=before, total=total, **{"largest": 1000, **options})


def naive_lines(entries, kind):
    """Lines of the total: day, entry, category, text, and units that increase it."""
    found = []
    for entry in entries:
        is_cash = any(ledger in {"bank", "card"} for ledger, _ in entry.units)
        text = entry.text if is_cash else ""  # an adjustment has no counterparty
        for ledger, units in entry.units:
            if ledger in ({"rent", "wages", "sales"} if kind == "income" else CATEGORIES) and (
                kind == "income" or is_cash
            ):
                found.append((entry.day, entry.entry_id, ledger, text, -units))
    return found


def naive_steps(entries, kind):
    """Categories and text of each step: those of a text that share an entry of either month, however indirectly."""
    lines = [one for one in naive_lines(entries, kind) if one[0].month in {2, 3}]
    steps = [({ledger}, text) for ledger, text in sorted({(ledger, text) for _, _, ledger, text, _ in lines})]
    for _ in lines:  # once for each is enough to join them all
        for entry_id in {one[1] for one in lines}:
            of_entry = {(ledger, text) for _, entry, ledger, text, _ in lines if entry == entry_id and text}
            together = [one for one in steps if any((ledger, one[1]) in of_entry for ledger in one[0])]
            if len(together) > 1:
                steps = [one for one in steps if one not in together]
                steps.append((set().union(*(ledgers for ledgers, _ in together)), together[0][1]))
    return steps


def naive_changes(entries, kind):
    """Change of each step from February to March, in units, by its categories and its text."""
    changes = defaultdict(int)
    for ledgers, counterparty in naive_steps(entries, kind):
        for day, _, ledger, text, units in naive_lines(entries, kind):
            if ledger in ledgers and text == counterparty and day.month in {2, 3}:
                changes[frozenset(ledgers), counterparty] += units if day.month == 3 else -units
    return {key: units for key, units in changes.items() if units}


@pytest.mark.parametrize("kind", ["cash", "income"])
@hypothesis.settings.get_profile("slow")
@hypothesis.given(entries=entries_of())
def test_steps_are_the_changes_of_payees_and_sum_exactly(kind, entries):
    bridge = bridge_of(entries, kind)
    found = {(frozenset(step.ledger_ids), step.counterparty): step.units for step in bridge.steps}
    assert found == naive_changes(entries, kind)
    assert len(found) == len(bridge.steps)
    make = aa.cash_flow_statement if kind == "cash" else aa.income_statement
    statement = make(aa.Books(frame_of([*BACKGROUND, *entries]), LEDGERS, DAYS, time_zone="UTC"))
    total = "net_cash_flow" if kind == "cash" else "net_income"
    sides = [statement.value(total, month) for month in (FEBRUARY, MARCH)]
    change = sides[1] - sides[0]
    assert [bridge["before"].exact(), bridge["after"].exact(), bridge["change"].exact()] == [*sides, change]
    assert sum((bridge[step.key].exact() for step in bridge.steps), Decimal(0)) == change
    seen = []
    for step in bridge.steps:
        entries_of_step = bridge[step.key].entries
        cents = [round(amount * 100) for amount in entries_of_step["figure_amount"]]
        assert sum(cents) == step.units == round(bridge[step.key].exact() * 100)
        seen += list(entries_of_step["id"])
    assert len(seen) == len(set(seen))


@hypothesis.settings.get_profile("slow")
@hypothesis.given(entries=entries_of())
def test_small_steps_share_one(entries):
    every, shown = bridge_of(entries), bridge_of(entries, largest=2)
    assert shown.steps[:2] == every.steps[:2]
    sizes = [abs(step.units) for step in every.steps]
    assert sizes == sorted(sizes, reverse=True)
    assert len(shown.steps) == min(len(every.steps), 3)
    amounts = [shown[step.key].exact() for step in shown.steps]
    assert sum(amounts, Decimal(0)) == shown["change"].exact()
    if len(every.steps) > 2:
        count = len(every.steps) - 2
        assert shown.steps[2].label == f"{count} smaller change{'s' if count > 1 else ''}"
        assert shown["smaller_changes|2"].exact() == amounts[2]
    assert round(shown.frame["amount"].sum() * 100) == round(shown["change"].exact() * 100)


@hypothesis.settings.get_profile("slow")
@hypothesis.given(entries=entries_of())
def test_causes_hold_for_the_payments(entries):
    lines = naive_lines([*BACKGROUND, *entries], "cash")
    for step in bridge_of(entries).steps:
        payments = defaultdict(lambda: defaultdict(int))
        for day, entry_id, ledger, text, units in lines:
            if text == step.counterparty and ledger in step.ledger_ids:
                payments[day.month][entry_id] += units
        old, new = payments[2], payments[3]
        if step.cause.name in {"earlier", "later"}:
            assert abs(len(old) - len(new)) == 2
            (moved,) = step.cause.payments
            source, target = (old, new) if moved.entry_id in old else (new, old)
            remaining = [units for entry, units in source.items() if entry != moved.entry_id]
            assert sorted(remaining) == sorted([*target.values(), moved.units])
            assert dt.date(2025, 2, 24) <= moved.date <= dt.date(2025, 3, 5)
            assert (step.cause.name == "earlier") == (moved.date.month == 2)
            continue
        of_payee = {ledger for day, _, ledger, text, _ in lines if text == step.counterparty and day.month != 3}
        was_paid, total = not of_payee.isdisjoint(step.ledger_ids), sum(new.values())
        is_first, is_ended = new and not old and not was_paid, old and not new
        is_larger, is_smaller = (abs(total) > abs(sum(old.values())), abs(total) < abs(sum(old.values())))
        is_known = len({day for day, _, ledger, text, _ in lines if text == step.counterparty and day.month < 3}) > 3
        expected = {
            "other": not step.counterparty,
            "new counterparty": is_first and not of_payee and total <= 0,
            "new customer": is_first and not of_payee and total > 0,
            "new category": is_first and of_payee,
            "paid before": new and not old and was_paid,
            "gone": is_ended and is_known,
            "missed": is_ended and is_known,
            "not due": is_ended and is_known,
            "no payment": is_ended,
            "more payments": 0 < len(old) < len(new) and is_larger,
            "fewer payments": len(old) > len(new) > 0 and is_smaller,
            "larger payments": is_larger and len(old) >= len(new) > 0,
            "smaller payments": is_smaller and 0 < len(old) <= len(new),
            "other amounts": sum(old.values()) * total < 0,
        }
        assert expected[step.cause.name], step
        assert bool(step.counterparty) or step.cause.name == "other"
        assert {one.entry_id for one in step.cause.payments} <= {*old, *new}


def cause_of(entries, **options):
    (step,) = bridge_of(entries, **options).steps
    return step.cause.name, [f"{one.date:%m-%d}" for one in step.cause.payments]


@pytest.mark.parametrize(
    ("entries", "cause"),
    [
        (paid("01-31", "03-02", "03-31"), ("later", ["03-02"])),  # rent of the end of February
        (paid("03-02", "03-31"), ("new counterparty", ["03-02", "03-31"])),  # nobody was paid before: it may be new
        (paid("02-01", "02-22"), ("no payment", ["02-01", "02-22"])),  # a week from the edge
        (paid("02-10", "02-28"), ("no payment", ["02-10", "02-28"])),  # would not be near the edge in March
        (paid("02-28"), ("no payment", ["02-28"])),  # one payment that was not repeated
        (paid("02-01", "02-28", "03-31"), ("fewer payments", ["02-01"])),  # the last of March is that of February
        (paid("02-01") + paid("02-28", cents=-320_001), ("no payment", ["02-01", "02-28"])),  # not the same amount
        (paid("01-03", "01-17", "01-31", "02-14", "02-28", "03-14", "03-28"), None),  # every second Friday
        (paid("02-05", "03-05", "03-19"), ("more payments", ["03-19"])),  # monthly, of one amount
        (paid("02-05", "03-01", "03-19"), ("more payments", [])),  # none is on the day of February
        (paid("02-03", "02-12") + paid("03-03", cents=-320_000), ("fewer payments", ["02-12"])),
        (paid("02-03", "02-17") + paid("03-03", "03-17", cents=-1), ("smaller payments", [])),
        (paid("02-03", "02-17") + paid("03-03", cents=-900_000), ("larger payments", [])),
    ],
)
def test_first_cause_that_fits_decides_with_its_payments(entries, cause):
    if cause is None:
        assert bridge_of(entries).steps == ()
    else:
        assert cause_of(entries) == cause


def test_payments_move_only_across_the_edge_of_periods():
    assert cause_of(paid("02-01", "02-28"), before=MARCH, after=FEBRUARY) == ("earlier", ["02-28"])
    assert cause_of(paid("02-01"), before=MARCH, after=FEBRUARY)[0] == "no payment"
    assert cause_of(paid("03-01"), before=MARCH, after=FEBRUARY)[0] == "new counterparty"
    assert cause_of(paid("01-01", "01-31"), before="2025-01", after=MARCH)[0] == "no payment"
    assert cause_of(paid("02-01", "02-28"), edge_days=0)[0] == "no payment"
    assert cause_of(paid("02-01", "02-25"), edge_days=3)[0] == "no payment"
    assert cause_of(paid("02-01", "02-25"), edge_days=4)[0] == "earlier"


def test_wages_and_their_taxes_are_one_step():
    pay = [
        BookEntry(
            dt.date(2025, month, 15), "M ORTIZ", (("wages", 100 * month), ("loan", -20), ("bank", 20 - 100 * month))
        )
        for month in (2, 3)
    ]
    bridge = bridge_of([one._replace(entry_id=f"pay{number}") for number, one in enumerate(pay)])
    (step,) = bridge.steps
    assert (step.ledger_ids, step.label, step.units) == (("wages", "loan"), "Wages and Loan: M ORTIZ", -100)
    assert [one.units for one in (*step.before, *step.after)] == [-180, -280]
    assert bridge["wages|M ORTIZ|after"].exact() == Decimal("-2.80")


def test_history_with_missing_days_is_not_used(demo_company):
    ledgers = aa.discover_ledgers(demo_company.client, "2025-05-01", "2025-11-30", progress=False)
    loaded = ("2025-04-01", "2025-11-30")
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], *loaded, time_zone="Asia/Tokyo", progress=False)
    books = aa.Books(lines, ledgers, time_zone=demo_company.time_zone)
    bridge = aa.bridge(books, "2025-10", against="2025-05", largest=1000)
    first_days = {one.cause.day for one in bridge.steps if one.cause.name in {"new counterparty", "new customer"}}
    assert first_days == {dt.date(2025, 5, 1)}


def test_payee_is_of_the_transaction_on_the_cash_ledger():
    days = ("02-03", "03-03")
    texts = ("SQ *BLUE BOTTLE #0412", "BLUE BOTTLE 1234 SF CA")
    entries = [
        paid(day, counterparty=text, cents=-100 * number)[0]
        for number, (day, text) in enumerate(zip(days, texts, strict=True), 1)
    ]
    (step,) = bridge_of(entries).steps
    assert (step.counterparty, step.label, step.cause.name) == ("BLUE BOTTLE", "Rent: BLUE BOTTLE", "larger payments")


def test_steps_are_found_by_key_and_label():
    bridge = bridge_of([*paid("02-03"), *paid("03-03", cents=-330_000)])
    assert bridge["rent|OAK STREET"] == bridge["Rent: OAK STREET"]
    assert bridge["rent|OAK STREET"].exact() == Decimal("-100.00")
    assert list(bridge["rent|OAK STREET"].entries["figure_amount"]) == [3200.0, -3300.0]
    assert list(bridge["rent|OAK STREET|before"].entries["figure_amount"]) == [-3200.0]
    assert list(bridge["rent|OAK STREET|after"].entries["figure_amount"]) == [-3300.0]
    with pytest.raises(InputError, match="key or label of a step"):
        bridge["nothing"]


def test_what_cannot_be_bridged_is_refused():
    books = aa.Books(frame_of(paid("02-03", "03-03")), LEDGERS, DAYS, time_zone="UTC")
    for against in (MARCH, "2025-03-31/2025-04-02", ("2025-01-01", "2025-03-01")):
        with pytest.raises(InputError, match=r"compares different days, and .* overlap"):
            aa.bridge(books, MARCH, against=against)
    for options, message in {
        (("largest", 0),): "at least 1, not 0",
        (("largest", 2.5),): "at least 1, not 2.5",
        (("edge_days", -1),): "edge_days must be",
        (("total", "cash"),): "total must be one of 'net_cash_flow', 'net_income', not 'cash'",
        (("against", "next"),): "'next'",
    }.items():
        with pytest.raises(InputError, match=message):
            aa.bridge(books, MARCH, **dict(options))
    with pytest.raises(InputError, match="books is of type Statement, not Books"):
        aa.bridge(aa.cash_flow_statement(books))


@pytest.mark.parametrize("against", ["prior", ("2025-02-01", "2025-02-28"), aa.Period("2025-02-01", "2025-02-28")])
def test_the_other_period_is_given_in_any_form(against):
    lines = frame_of([*BACKGROUND, *paid("02-03", "03-03", "03-09")])
    books = aa.Books(lines, LEDGERS, MARCH, time_zone="UTC")
    found = aa.bridge(books, against=against)
    assert (found.before, found.after) == ("Feb 2025", "Mar 2025")
    assert found.to_json() == bridge_of(paid("02-03", "03-03", "03-09"), largest=8).to_json()


def test_a_total_that_is_not_known_is_refused():
    chart = LEDGERS.assign(type=LEDGERS["type"].replace("expense", "mystery"))
    lines = frame_of([*BACKGROUND, *paid("02-03", "03-03", "03-09")])
    with pytest.raises(InputError, match="Net income of Feb 2025 cannot be bridged: it is not known"):
        aa.bridge(aa.Books(lines, chart, time_zone="UTC"), MARCH, total="net_income")
