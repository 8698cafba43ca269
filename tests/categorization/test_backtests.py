"""What would have been suggested for past months, compared with the categories."""

import datetime as dt
import json
import math
import runpy
from decimal import Decimal
from types import SimpleNamespace

import pytest

import accounting_analytics as aa
from accounting_analytics.categorization.suggestions import is_at_least, lower_bound, smallest_count, upper_bound


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
    assert tested.calibration_error <= 0.03
    assert sum(one.suggestion_count for one in tested.calibration) == frame["suggested_count"].sum()
    spoken = frame[frame["suggested_count"] > 0]
    assert spoken["precision"].between(spoken["precision_low"], spoken["precision_high"]).all()
    assert (spoken["kept"] == (spoken["precision_high"] >= 0.98)).all()
    assert (frame["last_right_count"] <= frame["last_count"]).all()
    assert frame["last_count"].sum() > frame["suggested_count"].sum()


LOST_FOLDS, ROWS, MONEY, CALIBRATION = 0.05, 0.80, 0.90, 0.03
"""A bound of 95 % confidence excludes the promised precision in one fold of twenty."""


@pytest.mark.long
def test_precision_is_kept_on_all_books(noisy_books, tmp_path):
    """All seeds, the demo company and the example of beancount, each of the last twelve months, keep the precision."""
    benchmark = SimpleNamespace(**runpy.run_path(noisy_books.__file__.replace("noisy_books", "suggestions")))
    every = [benchmark.noisy(seed) for seed in noisy_books.SEEDS]
    every += [benchmark.demo(), benchmark.bean_example(tmp_path)]
    measured = benchmark.measure([fold for one in every for fold in benchmark.folds(one, 12)])
    assert measured.pooled - measured.kept <= max(1, LOST_FOLDS * measured.pooled)
    assert measured.covered_rows >= ROWS
    assert measured.covered_money >= MONEY
    assert measured.calibration_error <= CALIBRATION


@pytest.mark.parametrize(("right", "count"), [(1, 1), (147, 149), (30, 60), (0, 20)])
def test_bounds_leave_one_case_in_twenty(right, count):
    """At the lower bound, as many right ones or more have a probability of 5 %; at the upper bound, as few or fewer."""
    lower, upper = lower_bound(right, count), upper_bound(right, count)
    assert 0 <= lower <= right / count <= upper <= 1
    if right:
        assert probability_of_at_least(right, count, lower) == pytest.approx(0.05)
    if right < count:
        assert 1 - probability_of_at_least(right + 1, count, upper) == pytest.approx(0.05)


def probability_of_at_least(right, count, share):
    """Sum the binomial distribution term by term."""
    return sum(math.comb(count, one) * share**one * (1 - share) ** (count - one) for one in range(right, count + 1))


def test_149_right_ones_are_98_percent():
    """Without a mistake, 149 cases are the fewest for 98 %; with one, 236 are; large counts do not underflow."""
    assert smallest_count(0.98) == 149
    assert [is_at_least(0.98, count, count) for count in (148, 149)] == [False, True]
    assert [is_at_least(0.98, count - 1, count) for count in (235, 236)] == [False, True]
    assert [is_at_least(0.98, right, 1_000_000) for right in (975_000, 985_000)] == [False, True]


def test_months_without_suggestions(books):
    """A precision that nothing can show has no suggestions, and a history in which nothing has a category no months."""
    silent = aa.backtest(books[1].line_entries, books[1].ledgers, precision=0.9999)
    assert silent.summary() == "No suggestions for 13 months at a precision of 100.0%."
    empty = aa.backtest(books[1].line_entries.iloc[:0], books[1].ledgers)
    assert empty.frame.empty
    assert empty.calibration_error == 0
