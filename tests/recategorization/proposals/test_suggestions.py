"""Suggestions from each counterparty's own past, and when there are none."""

import datetime as dt
import re
from decimal import Decimal

import pytest
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.recategorization.suggestions import SUGGESTED

QUEUE_FROM = dt.date(2024, 12, 1)


@pytest.fixture(scope="module")
def pay(noisy_books):
    """Return a function that makes a payment from the card."""

    def pay(day, counterparty, category, amount="-20.00"):
        return noisy_books.Payment(
            day, "card", Decimal(amount), counterparty, counterparty, "plain", category, category
        )

    return pay


@pytest.fixture(scope="module")
def clear(pay):
    """Return two years of ten payees with one category each: two payments of each counterparty in every month."""
    categories = ("Meals", "Fuel", "Software", "Rent", "Postage")
    return [
        pay(dt.date(year, month, day + number), f"PAYEE {letter} SHOP", categories[number % 5], f"-{20 + day}.00")
        for year in (2023, 2024)
        for month in range(1, 13)
        for number, letter in enumerate("ABCDEFGHIJ")
        for day in (1, 14)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def suggest(payment_frames):
    """Return a function from payments to the suggestions for those of December; its options are those of suggest."""

    def suggest(payments, *, queue_from=QUEUE_FROM, **options):
        books = payment_frames.frames(payments, queue_from)
        queue = aa.uncategorized_queue(books_of(books.ledgers, books.line_entries))
        return aa.suggest(queue, books_of(books.ledgers, books.line_entries), **options)

    return suggest


def by_text(suggestions):
    return dict(zip(suggestions["description"], suggestions["updated_category_ledger_name"], strict=True))


def test_payees_with_a_clear_history_have_suggestions(suggest, clear):
    suggestions = suggest(clear)
    assert len(suggestions) == 20
    assert by_text(suggestions)["PAYEE B SHOP"] == "Fuel"
    assert set(suggestions["rule"]) == {SUGGESTED}
    assert suggestions["confidence"].between(0.98, 1).all()
    of_shop = suggestions["description"] == "PAYEE A SHOP"
    row = suggestions[of_shop & (suggestions["transaction_amount"] == -34)].iloc[0]
    assert row["reason"] == "all of 46 past transactions in Meals, the latest on 2024-11-14 of -34.00"
    assert aa.notes(suggestions)[:2] == (
        "Of 440 suggestions for the past 440 would have been right: 100.0%, at least 99.4% with 95 % confidence.",
        "20 of 20 transactions got a suggestion.",
    )


def test_payees_without_a_history_have_none(suggest, clear, pay):
    suggestions = suggest(
        [*clear, pay(dt.date(2024, 12, 5), "PAYEE Z SHOP", "Fuel"), pay(dt.date(2024, 12, 6), "", "Fuel")]
    )
    assert len(suggestions) == 20
    assert "20 of 22 transactions got a suggestion; 2 are of counterparties without a history." in aa.notes(suggestions)


def test_the_account_tells_categories_apart(suggest, clear, pay):
    card = [pay(dt.date(2024, month, 3), "TWO THINGS", "Meals") for month in range(1, 13)]
    bank = [pay(dt.date(2024, month, 4), "TWO THINGS", "Rent") for month in range(1, 13)]
    assert "TWO THINGS" not in by_text(suggest([*clear, *card, *bank]))
    suggestions = suggest([*clear, *card, *(one._replace(account="checking") for one in bank)])
    two = suggestions[suggestions["description"] == "TWO THINGS"]
    assert sorted(two["updated_category_ledger_name"]) == ["Meals", "Rent"]


def test_the_direction_tells_categories_apart(suggest, clear, pay):
    refund = pay(dt.date(2024, 12, 9), "PAYEE B SHOP", "Fuel", "20.00")
    assert len(suggest([*clear, refund])) == 20
    rebates = [pay(dt.date(2024, month, 3), "PAYEE B SHOP", "Interest", "20.00") for month in range(1, 13)]
    suggestions = suggest([*clear, *rebates])
    assert set(suggestions[suggestions["direction"] == "inflow"]["updated_category_ledger_name"]) == {"Interest"}


@pytest.mark.parametrize(("since", "category"), [(11, None), (10, None), (9, "Meals")])
def test_payee_that_changed_its_category_waits_for_five_payments(suggest, clear, pay, since, category):
    changed = [
        pay(dt.date(2024, month, day), "TURNED COAT", "Fuel" if month < since else "Meals")
        for month in range(1, 13)
        for day in (2, 18)
    ]
    suggestions = suggest([*clear, *changed])
    assert len(suggestions) == (20 if category is None else 22)
    assert by_text(suggestions).get("TURNED COAT") == category


def test_a_short_history_is_not_enough(suggest, clear):
    few = [one for one in clear if one.day >= dt.date(2024, 8, 1)]
    suggestions = suggest(few)
    assert suggestions.empty
    assert aa.notes(suggestions)[0] == (
        "There are no suggestions: a precision of 98.0% can be checked from 133 past transactions on whose "
        "counterparty had others before, and there are 60."
    )
    assert len(suggest(few, precision=0.95)) == 20


def test_random_labels_and_shuffled_history_are_silent(suggest, noisy_books):
    payments = noisy_books.make_payments(5, months=12, rows_per_month=150)
    random = noisy_books.with_random_labels(payments, 1)
    day = noisy_books.month_start(11)
    for silent in (random, noisy_books.with_shuffled_history(payments, day, 1)):
        suggestions = suggest(silent, queue_from=day)
        assert suggestions.empty
        assert re.match(
            r"There are no suggestions: of \S+ for the past \S+ would have been right: .* and 98\.0% is wanted",
            aa.notes(suggestions)[0],
        )
    assert len(suggest(payments, queue_from=day)) > 50


def test_nothing_is_learned_from_what_was_not_checked(suggest, clear, pay):
    books = [*clear, *(pay(dt.date(2024, month, 3), "ONLY SUGGESTED", "Fuel") for month in range(9, 13))]
    assert "ONLY SUGGESTED" in by_text(suggest(books))
    unchecked = [f"txn_{number:06}" for number in range(len(clear), len(books))]
    assert "ONLY SUGGESTED" not in by_text(suggest(books, unchecked=unchecked))


def test_unusable_arguments_are_refused(clear, payment_frames):
    books = payment_frames.frames(clear, QUEUE_FROM)
    queue = aa.uncategorized_queue(books_of(books.ledgers, books.line_entries))
    for precision in (1.0, 0.3, 98, "high"):
        with pytest.raises(InputError, match=r"not a share from 0\.5"):
            aa.suggest(queue, books_of(books.ledgers, books.line_entries), precision=precision)
    with pytest.raises(FrameError, match="line_entries have no opposing_ledger_ids; load them with expand="):
        aa.suggest(queue, books_of(books.ledgers, books.line_entries.drop(columns="opposing_ledger_ids")))
