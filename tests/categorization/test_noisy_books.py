"""Books whose history contradicts itself: what the seeds promise about them."""

from collections import Counter, defaultdict

import pytest

import accounting_analytics as aa


@pytest.fixture(scope="module")
def payments(noisy_books):
    """Return the payments of the first seed."""
    return noisy_books.make_payments(noisy_books.SEEDS[0])


def test_a_seed_repeats_its_payments(noisy_books):
    """The same seed makes the same payments, and another seed makes others."""
    few = {"months": 4, "rows_per_month": 90}
    assert noisy_books.make_payments(3, **few) == noisy_books.make_payments(3, **few)
    assert noisy_books.make_payments(3, **few) != noisy_books.make_payments(4, **few)


def test_history_contradicts_itself(payments, noisy_books):
    """Payees of each behaviour are there, some have several categories, and few labels are mistakes."""
    categories = defaultdict(set)
    for one in payments:
        categories[one.payee, one.behaviour].add(one.category)
    several = {behaviour for (_, behaviour), found in categories.items() if len(found) > 1}
    assert several == {"by amount", "by direction", "without pattern", "changes category"}
    assert set(noisy_books.BEHAVIOURS) == {one.behaviour for one in payments}
    mistakes = sum(one.category != one.label for one in payments)
    assert 0.002 * len(payments) < mistakes < 0.007 * len(payments)


def test_payees_come_and_amounts_change(payments):
    """Payees appear after the first year, and most regular payees have several prices."""
    first = {}
    for one in payments:
        first.setdefault(one.payee, one.day)
    assert sum(day.year > 2023 for day in first.values()) > 50
    prices = Counter(one.payee for one in {(one.payee, one.amount): one for one in payments}.values())
    assert prices["AUTODESK"] > 1


def test_frames_are_books(payments, noisy_books, payment_frames):
    """The payments from a day on are the queue; all others have a category."""
    books = payment_frames.frames(payments, noisy_books.month_start(29))
    queue = aa.uncategorized_queue(books.line_entries, books.ledgers)
    late = [one for one in payments if one.day >= noisy_books.month_start(29)]
    assert len(queue) == len(late)
    assert set(queue["transaction_id"]) < set(books.truth)
    assert set(books.truth.values()) <= set(books.ledgers["id"])
