"""Exact one-sided 95 % confidence bounds of a share, from how many of a count were right (Clopper and Pearson)."""

from __future__ import annotations

import math

ERROR_RATE = 0.05
_STEPS = 40


def lower_bound(right: int, count: int) -> float:
    """Share that the true one is at least, with 95 % confidence; 0 for no count."""
    return 1 - upper_bound(count - right, count)


def upper_bound(right: int, count: int) -> float:
    """Share that the true one is at most, with 95 % confidence; 1 for no count."""
    if right >= count:
        return 1.0
    low, high = right / count, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability_of_at_most(right, count, middle) > ERROR_RATE else (low, middle)
    return high


def is_at_least(share: float, right: int, count: int) -> bool:
    """Whether the lower bound reaches a share."""
    return (
        right >= share * count and count > 0 and _probability_of_at_most(count - right, count, 1 - share) <= ERROR_RATE
    )


def smallest_count(share: float) -> int:
    """Smallest count, all of it right, whose lower bound reaches a share."""
    return math.ceil(math.log(ERROR_RATE) / math.log(share))


def _probability_of_at_most(successes: int, count: int, probability: float) -> float:
    """Binomial distribution function; the terms are sums of logarithms, which do not underflow."""
    if probability >= 1:
        return float(successes >= count)
    ways = math.lgamma(count + 1)
    chance, other = math.log(probability), math.log1p(-probability)
    return math.fsum(
        math.exp(ways - math.lgamma(one + 1) - math.lgamma(count - one + 1) + one * chance + (count - one) * other)
        for one in range(successes + 1)
    )
