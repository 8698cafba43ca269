"""One-sided confidence bounds of a share."""

import math

import pytest

from accounting_analytics.categorization.suggestions import (
    is_at_least,
    lower_bound,
    smallest_count,
    upper_bound,
)


def probability_of_at_least(right, count, share):
    """Sum the binomial distribution term by term."""
    return sum(math.comb(count, one) * share**one * (1 - share) ** (count - one) for one in range(right, count + 1))


@pytest.mark.parametrize(("right", "count"), [(1, 1), (95, 100), (147, 149), (30, 60), (0, 20)])
def test_bounds_leave_one_case_in_twenty(right, count):
    """At the lower bound, as many right ones or more have a probability of 5 %; at the upper bound, as few or fewer."""
    lower, upper = lower_bound(right, count), upper_bound(right, count)
    assert 0 <= lower <= right / count <= upper <= 1
    if right:
        assert probability_of_at_least(right, count, lower) == pytest.approx(0.05)
    if right < count:
        assert 1 - probability_of_at_least(right + 1, count, upper) == pytest.approx(0.05)


def test_149_right_ones_are_98_percent():
    """Without a mistake, 149 cases are the fewest for 98 %; with one, 236 are."""
    assert smallest_count(0.98) == 149
    assert [is_at_least(0.98, count, count) for count in (148, 149)] == [False, True]
    assert [is_at_least(0.98, count - 1, count) for count in (235, 236)] == [False, True]
    assert not is_at_least(0.98, 0, 0)


def test_large_counts_do_not_underflow():
    """A bound of a million cases is next to their share."""
    assert lower_bound(990_000, 1_000_000) == pytest.approx(0.99, abs=0.001)
    assert is_at_least(0.98, 985_000, 1_000_000)
    assert not is_at_least(0.98, 975_000, 1_000_000)
