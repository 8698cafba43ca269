"""How often suggestions are right on books whose categories are known, and how that is bounded."""

import runpy
from types import SimpleNamespace

import pytest

from accounting_analytics.recategorization.suggestions import lower_bound

RIGHT, LOST_FOLDS, ROWS, MONEY, CALIBRATION = 0.985, 0.05, 0.85, 0.75, 0.03
"""A bound of 95 % confidence excludes the promised precision in one fold of twenty."""


@pytest.mark.long
def test_precision_is_kept_on_all_books(noisy_books, tmp_path):
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
