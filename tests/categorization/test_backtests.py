"""What would have been suggested for past months, compared with the categories."""

import datetime as dt
import json
from decimal import Decimal

import pytest

import accounting_analytics as aa


@pytest.fixture(scope="module")
def books(noisy_books, payment_frames):
    """Return a year of books, all categorized."""
    payments = noisy_books.make_payments(5, months=14, rows_per_month=160)
    return payments, payment_frames.frames(payments, dt.date.max)


@pytest.fixture(scope="module")
def tested(books):
    """Return the backtest of these books."""
    return aa.backtest(books[1].line_entries, books[1].ledgers)


def test_a_month_is_what_suggest_would_have_said(books, tested, noisy_books, payment_frames):
    """The row of the last month is that of the suggestions for it, as if it had no categories."""
    payments, _ = books
    month = noisy_books.month_start(13)
    asked = payment_frames.frames(payments, month)
    queue = aa.uncategorized_queue(asked.line_entries, asked.ledgers).assign(counterpart_ledger_id=None)
    suggestions = aa.suggest(queue.astype({"counterpart_ledger_id": "str"}), asked.line_entries, asked.ledgers)
    labels = {f"txn_{number:06}": payment_frames.COMPANY.ledger_id(one.label) for number, one in enumerate(payments)}
    right = suggestions["updated_category_ledger_id"] == suggestions["transaction_id"].map(labels)
    row = tested.frame.iloc[-1]
    assert row["month"] == "2024-02"
    assert len(suggestions) > 60
    assert (row["transaction_count"], row["suggested_count"], row["right_count"]) == (
        len(queue),
        len(suggestions),
        right.sum(),
    )
    sizes = {f"txn_{number:06}": one.amount.copy_abs() for number, one in enumerate(payments)}
    assert Decimal(str(row["suggested_amount"])) == sum(sizes[one] for one in suggestions["transaction_id"])
    assert row["mean_confidence"] == pytest.approx(suggestions["confidence"].mean())


def test_the_first_months_say_why_they_are_silent(tested):
    """A month without enough past has no suggestions, no precision, and a note."""
    first = tested.frame.iloc[0]
    assert (first["month"], first["suggested_count"]) == ("2023-02", 0)
    assert first[["precision", "precision_low", "precision_high"]].isna().all()
    assert tested.notes[0].startswith("2023-02: There are no suggestions: a precision of 98.0% can be checked from 149")


def test_bounds_surround_the_precision(tested):
    """Bounds surround the share that was right, and a month is kept where they do not exclude what is wanted."""
    spoken = tested.frame[tested.frame["suggested_count"] > 0]
    assert spoken["precision"].between(spoken["precision_low"], spoken["precision_high"]).all()
    assert (spoken["kept"] == (spoken["precision_high"] >= 0.98)).all()
    assert spoken["coverage"].between(0.3, 1).all()


def test_the_last_category_is_less_precise(tested):
    """Suggestions are right more often than the last category of the payee, which says more."""
    sums = tested.frame.sum(numeric_only=True)
    assert sums["right_count"] / sums["suggested_count"] > sums["last_right_count"] / sums["last_count"]
    assert sums["last_count"] > sums["suggested_count"]


def test_confidence_is_what_was_right(tested):
    """The mean confidence of a bin is near the share that was right."""
    assert 0 <= tested.calibration_error <= 0.03
    assert sum(one.suggestion_count for one in tested.calibration) == tested.frame["suggested_count"].sum()


def test_texts_state_counts(tested):
    """The summary has the sums of the months, JSON the exact amounts, and the explanation a line per month."""
    frame = tested.frame
    assert (
        f"{frame['right_count'].sum():,} of {frame['suggested_count'].sum():,} suggestions for 13" in tested.summary()
    )
    content = json.loads(tested.to_json())
    assert Decimal(content["months"][-1]["amount"]) == Decimal(str(frame["amount"].iloc[-1]))
    assert content["months"][0]["precision"] is None
    assert all(month in tested.explain() for month in frame["month"])


def test_labels_at_random_have_no_suggestions(noisy_books, payment_frames):
    """Where nothing can be learned no month has a suggestion."""
    payments = noisy_books.with_random_labels(noisy_books.make_payments(5, months=8, rows_per_month=120), 1)
    books = payment_frames.frames(payments, dt.date.max)
    silent = aa.backtest(books.line_entries, books.ledgers)
    assert silent.frame["suggested_count"].sum() == 0
    assert silent.summary() == "No suggestions for 7 months at a precision of 98.0%."


def test_a_history_without_categories(books):
    """A history in which nothing has a category has no months."""
    empty = aa.backtest(books[1].line_entries.iloc[:0], books[1].ledgers)
    assert empty.frame.empty
    assert empty.calibration_error == 0
