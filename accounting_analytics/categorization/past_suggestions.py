"""What would have been suggested for past transactions, and from which share of the votes on it kept a precision.

Each past transaction is judged by those of the months before its own, as if its category were not known. The threshold
is the lowest share of the votes from which on the suggestions were right often enough, with the lower bound of 95 %
confidence. Where no threshold is, or where the suggestions of the last month were right too rarely, there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accounting_analytics.categorization.binomial_bounds import is_at_least, lower_bound, smallest_count, upper_bound

if TYPE_CHECKING:
    import numpy.typing as npt

    from accounting_analytics.categorization.payee_history import PastTransactions, Votes

    Numbers = npt.NDArray[Any]

MIN_SHARE = 2 / 3
"""Smallest share of the votes that can be suggested, whatever the past."""
MONTHS = 24
"""Latest months that a threshold is chosen on."""
_STEPS = 60
_MAX_BINS = 40
_MIN_BIN = 40


def can_be_suggested(votes: Votes) -> Numbers:
    """Whether the votes about each row are for one category in the first place."""
    possible: Numbers = (votes.categories >= 0) & (votes.shares >= MIN_SHARE)
    return possible


class Trials(NamedTuple):
    """Past transactions that could have been suggested: month, share of the votes, whether that was right."""

    months: Numbers
    shares: Numbers
    right: Numbers

    @classmethod
    def of(cls, past: PastTransactions, votes: Votes) -> Trials:
        """Compare the votes about past transactions, of those before their months, with their categories."""
        possible = can_be_suggested(votes)
        months = past.compared["month"].to_numpy()
        return cls(months[possible], votes.shares[possible], (votes.categories == past.codes)[possible])

    def before(self, month: int) -> Trials:
        """Trials of the 24 months before a month."""
        is_before = (self.months < month) & (self.months >= month - MONTHS)
        return Trials(*(column[is_before] for column in self))

    def latest(self) -> Trials:
        """Trials of the latest 24 months."""
        return self.before(int(self.months.max()) + 1) if len(self.months) else self

    def from_share(self, share: float) -> Trials:
        """Trials of at least a share of the votes."""
        return Trials(*(column[self.shares >= share] for column in self))


def month_name(month: int) -> str:
    """Write the number of a month as ``2026-05``."""
    return f"{month // 12}-{month % 12 + 1:02}"


class Threshold(NamedTuple):
    """Share of the votes from which on suggestions are made; None where there are none, and the sentence that says why.

    `right_count` and `all_count` are those of the past suggestions from this share on.
    """

    share: float | None
    sentence: str
    right_count: int = 0
    all_count: int = 0


def choose_threshold(trials: Trials, precision: float) -> Threshold:
    """Choose the lowest share of the votes from which on past suggestions kept a precision."""
    needed = smallest_count(precision)
    if len(trials.right) < needed:
        return Threshold(
            None,
            f"There are no suggestions: a precision of {precision:.1%} can be checked from {needed:,} past "
            f"transactions on whose payee had others before, and there are {len(trials.right):,}.",
        )
    found = _lowest_share(trials, precision, needed)
    if found is None:
        best = _right_of_surest(trials, needed)
        return Threshold(
            None,
            f"There are no suggestions: of the {needed:,} surest past ones {best:,} would have been right, "
            f"which is at least {lower_bound(best, needed):.1%} with 95 % confidence, and {precision:.1%} is wanted.",
        )
    kept = trials.from_share(found)
    right, count = int(kept.right.sum()), len(kept.right)
    month = int(kept.months.max())
    newest = kept.right[kept.months == month]
    if (most := upper_bound(int(newest.sum()), len(newest))) < precision:
        return Threshold(
            None,
            f"There are no suggestions: those of {month_name(month)} would have been right in "
            f"{newest.sum():,} of {len(newest):,} cases, which is at most {most:.1%} with 95 % confidence, and "
            f"{precision:.1%} is wanted.",
        )
    return Threshold(
        found,
        f"Of {count:,} suggestions for the past {right:,} would have been right: {right / count:.1%}, at least "
        f"{lower_bound(right, count):.1%} with 95 % confidence.",
        right,
        count,
    )


def _right_of_surest(trials: Trials, count: int) -> int:
    """Count what is right among the trials of the largest shares."""
    surest = np.argsort(-trials.shares, kind="stable")[:count]
    return int(trials.right[surest].sum())


def _lowest_share(trials: Trials, precision: float, needed: int) -> float | None:
    """Lowest of some shares, between which equally many trials are, whose trials kept the precision."""
    order = np.argsort(-trials.shares, kind="stable")
    shares, right = trials.shares[order], trials.right[order].cumsum()
    for count in np.unique(np.linspace(needed, len(shares), _STEPS).astype(int))[::-1]:
        with_equals = int(np.searchsorted(-shares, -shares[count - 1], side="right"))
        if is_at_least(precision, int(right[with_equals - 1]), with_equals):
            return float(shares[count - 1])
    return None


class Confidence:
    """Precision that past suggestions of each share of the votes had: rising with the share, from equal bins."""

    def __init__(self, trials: Trials) -> None:
        order = np.argsort(trials.shares, kind="stable")
        count = min(max(len(order) // _MIN_BIN, 1), _MAX_BINS)
        bins = [one for one in np.array_split(order, count) if len(one)]
        self._starts = np.array([trials.shares[one[0]] for one in bins][1:])
        self._levels = np.array(_rising([(float(trials.right[one].sum()), len(one)) for one in bins]) or [0.5])

    def of(self, shares: Numbers) -> Numbers:
        """Confidence of suggestions with these shares of the votes."""
        levels: Numbers = self._levels[np.searchsorted(self._starts, shares, side="right")]
        return levels


def _rising(bins: list[tuple[float, int]]) -> list[float]:
    """Share that is right in each bin; neighbours are pooled where it would fall (isotonic regression)."""
    pools: list[tuple[float, int, int]] = []
    for right, count in bins:
        pools.append((right, count, 1))
        while len(pools) > 1 and _share(pools[-2]) >= _share(pools[-1]):
            later, earlier = pools.pop(), pools.pop()
            pools.append((earlier[0] + later[0], earlier[1] + later[1], earlier[2] + later[2]))
    return [_share(pool) for pool in pools for _ in range(pool[2])]


def _share(pool: tuple[float, int, int]) -> float:
    """Share that is right, with half a case of each kind added, so that few cases are never certain."""
    return (pool[0] + 0.5) / (pool[1] + 1)
