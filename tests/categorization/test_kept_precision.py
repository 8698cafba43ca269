"""The precision that suggestions promise is kept on books of which every category is known, and they cover enough."""

import runpy
from types import SimpleNamespace

import pytest

LOST_FOLDS, ROWS, MONEY, CALIBRATION = 0.05, 0.80, 0.90, 0.03
"""A bound of 95 % confidence excludes the promised precision in one fold of twenty."""


@pytest.fixture(scope="module")
def benchmark(noisy_books):
    """Return the functions that measure suggestions."""
    return SimpleNamespace(**runpy.run_path(noisy_books.__file__.replace("noisy_books", "suggestions")))


def assert_kept(measured):
    """Check precision, coverage and calibration."""
    assert measured.pooled - measured.kept <= max(1, LOST_FOLDS * measured.pooled)
    assert measured.covered_rows >= ROWS
    assert measured.covered_money >= MONEY
    assert measured.calibration_error <= CALIBRATION


@pytest.mark.long
def test_precision_is_kept(benchmark, noisy_books):
    """The last months of a seed keep the precision, and of the demo company too, without the rows that rules match."""
    books = benchmark.noisy(noisy_books.SEEDS[1])
    assert_kept(benchmark.measure(list(benchmark.folds(books, 3))))
    assert_kept(benchmark.measure(list(benchmark.folds(benchmark.demo(), 3))))


@pytest.mark.long
def test_precision_is_kept_on_all_books(benchmark, noisy_books, tmp_path):
    """All seeds, the demo company and the example of beancount, each of the last twelve months."""
    every = [benchmark.noisy(seed) for seed in noisy_books.SEEDS]
    every += [benchmark.demo(), benchmark.bean_example(tmp_path)]
    found = [list(benchmark.folds(books, 12)) for books in every]
    assert_kept(benchmark.measure([fold for one in found for fold in one]))
