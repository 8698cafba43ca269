"""What would have been suggested for past months, compared with the categories."""

import datetime as dt
import runpy
from decimal import Decimal
from types import SimpleNamespace

import pytest

import accounting_analytics as aa
from accounting_analytics.recategorization.suggestions import lower_bound


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
    queue = aa.uncategorized_queue(asked.line_entries, asked.ledgers).assign(kind="merchant")  # transfers too
    suggestions = aa.suggest(queue, asked.line_entries, asked.ledgers)
    labels = {f"txn_{number:06}": payment_frames.COMPANY.ledger_id(one.label) for number, one in enumerate(payments)}
    right = suggestions["updated_category_ledger_id"] == suggestions["transaction_id"].map(labels)
    row = tested.iloc[-1]
    assert row["month"] == "2024-02"
    assert len(suggestions) > 60
    assert (row["transaction_count"], row["suggested_count"], row["right_count"]) == (
        len(queue),
        len(suggestions),
        right.sum(),
    )
    sizes = {f"txn_{number:06}": one.amount.copy_abs() for number, one in enumerate(payments)}
    assert Decimal(str(row["suggested_amount"])) == sum(sizes[one] for one in suggestions["transaction_id"])


def test_notes_sum_up_and_say_which_months_are_silent(tested):
    """The first note has the sums of the months; a month without enough past has no suggestions, and a note."""
    right, suggested = tested["right_count"].sum(), tested["suggested_count"].sum()
    total, silent = aa.notes(tested)[:2]
    assert total.startswith(f"{right:,} of {suggested:,} suggestions for 13 months were right: ")
    first = tested.iloc[0]
    assert (first["month"], first["suggested_count"]) == ("2023-02", 0)
    assert silent.startswith("2023-02: There are no suggestions: a precision of 98.0% can be checked from 133")


RIGHT, LOST_FOLDS, ROWS, MONEY, CALIBRATION = 0.985, 0.05, 0.85, 0.75, 0.03
"""A bound of 95 % confidence excludes the promised precision in one fold of twenty."""


@pytest.mark.long
def test_precision_is_kept_on_all_books(noisy_books, tmp_path):
    """All seeds, the demo company and the example of beancount, each of the last twelve months, keep the precision."""
    benchmark = SimpleNamespace(**runpy.run_path(noisy_books.__file__.replace("noisy_books", "suggestions")))
    every = [benchmark.noisy(seed) for seed in noisy_books.SEEDS]
    every += [benchmark.demo(), benchmark.bean_example(tmp_path)]
    measured = benchmark.measure([fold for one in every for fold in benchmark.folds(one, 12)])
    assert measured.right >= RIGHT * measured.count
    assert measured.pooled - measured.kept <= max(1, LOST_FOLDS * measured.pooled)
    assert measured.covered_rows >= ROWS
    assert measured.covered_money >= MONEY
    assert measured.calibration_error <= CALIBRATION


@pytest.mark.parametrize(
    ("right", "count", "bound"), [(133, 133, 0.98), (132, 132, 0.9799), (98, 100, 0.9413), (0, 20, 0)]
)
def test_the_lower_bound_is_that_of_wilson(right, count, bound):
    """The one-sided score interval of 95 %, as statistical packages give it; 133 right ones are the fewest for 98 %."""
    assert lower_bound(right, count) == pytest.approx(bound, abs=1e-4)
    assert (lower_bound(right, count) >= 0.98) == (right == 133)


def test_months_without_suggestions(books):
    """A precision that nothing can show has no suggestions, and a history in which nothing has a category no months."""
    silent = aa.backtest(books[1].line_entries, books[1].ledgers, precision=0.9999)
    assert aa.notes(silent)[0] == "No suggestions for 13 months at a precision of 100.0%."
    empty = aa.backtest(books[1].line_entries.iloc[:0], books[1].ledgers)
    assert empty.empty
