"""Votes of the past transactions of a payee about the category of another transaction of the same direction.

A payee is a merchant. The latest ``WINDOW`` transactions vote, each for its own category. A vote counts less the older
it is, by its rank and by the years that passed, and the more the amounts differ: where a payee sells several things,
the amount often shows which. For a payee without past transactions those payees vote whose name begins with its whole
name, or is the beginning of it, in whole words, at least two: ``NORTHSIDE LEADERSHIP PAYMENT`` for ``NORTHSIDE
LEADERSHIP``. Their votes count less.

Nothing is known where the two latest transactions of a similar amount had another category than most votes have: the
payee has changed, or has several categories that neither amount nor direction tells apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.categorization.merchants import merchants
from accounting_analytics.categorization.queue import local_days
from accounting_analytics.column_conversion import LOCAL_DATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    Numbers = npt.NDArray[Any]

WINDOW = 64
RANK_WEIGHT = 0.97
"""Weight of a vote, relative to that of the transaction after it."""
YEAR_WEIGHT = 0.5
"""Weight of a vote after a year."""
AMOUNT_POWER = 1.5
"""A vote has the weight of the smaller amount divided by the larger one, to this power."""
RELATED_WEIGHT = 0.3
"""Weight of a vote of a payee whose name is longer or shorter."""
DOUBT = 0.05
"""Votes for an unknown category that each share contains, so that few votes are less sure than many."""
SIMILAR_AMOUNT = 4.0
"""Amounts are similar up to this factor."""
LATEST = 2
NEAREST = 3
_CHUNK = 4096
_MIN_WORDS = 2
_SMALLEST = 0.01


class Votes(NamedTuple):
    """The result for each asked transaction; -1 where there is none.

    `categories` and `last` are positions in the categories of the past: of most votes, and of the latest transaction.
    `shares` are those of the votes; `agreeing` counts the transactions that voted for it, `voting` all that voted.
    `nearest` are positions of the past transactions whose votes counted most.
    """

    categories: Numbers
    shares: Numbers
    agreeing: Numbers
    voting: Numbers
    last: Numbers
    nearest: Numbers


def compared_columns(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what votes depend on, for rows of a queue: payee, direction, day, month, and size of the amount.

    Days are local where the rows have them. A size is only a weight, so it is a float.
    """
    days = local_days(rows).astype(LOCAL_DATE)
    return pd.DataFrame(
        {
            "merchant": pd.Series(merchants(rows["description"]), dtype="str"),
            "direction": rows["direction"].to_numpy(),
            "day": days.to_numpy().astype("datetime64[D]").astype(np.int64),
            "month": (days.dt.year * 12 + days.dt.month - 1).to_numpy(),
            "size": np.maximum([abs(float(amount)) for amount in rows["transaction_amount"]], _SMALLEST),
        }
    )


class PastTransactions:
    """Transactions with a category, in order of their days, that vote about others.

    `rows` have the columns of the queue; `compared` is what votes depend on, and `categories` the ids that occur.
    """

    def __init__(self, rows: pd.DataFrame) -> None:
        compared = compared_columns(rows)
        order = compared.assign(id=rows["transaction_id"].to_numpy()).sort_values(["day", "id"]).index
        self.rows = rows.iloc[order].reset_index(drop=True)
        self.compared = compared.iloc[order].reset_index(drop=True)
        codes, self.categories = pd.factorize(self.rows["category_ledger_id"])
        self.codes = codes.astype(np.int64)

    def vote(self, asked: pd.DataFrame, *, before_month: bool = False) -> Votes:
        """Let the past vote about each asked row; with `before_month` only what is before its month."""
        until = asked["month"].to_numpy() if before_month else np.full(len(asked), np.iinfo(np.int32).max)
        votes = self._votes_of(self.compared["merchant"], asked["merchant"], asked, until, weight=1.0)
        unknown = np.flatnonzero(votes.voting == 0)
        first = _first_names([*self.compared["merchant"], *asked["merchant"]])
        related = self._votes_of(
            self.compared["merchant"].map(first),
            asked["merchant"].iloc[unknown].map(first),
            asked.iloc[unknown],
            until[unknown],
            weight=RELATED_WEIGHT,
        )
        for column, found in zip(votes, related, strict=True):
            column[unknown] = found
        votes.last[unknown] = -1
        return votes

    def _votes_of(
        self,
        past_names: pd.Series[Any],
        asked_names: pd.Series[Any],
        asked: pd.DataFrame,
        until: Numbers,
        weight: float,
    ) -> Votes:
        """Let the transactions of the same name and direction vote, whose months are before `until`."""
        past = past_names.to_numpy() + "\0" + self.compared["direction"].to_numpy()
        wanted = asked_names.to_numpy() + "\0" + asked["direction"].to_numpy()
        keys, _ = pd.factorize(np.concatenate([past, wanted]).astype(object))
        order = np.lexsort((np.arange(len(past)), keys[: len(past)]))
        sorted_keys, asked_keys = keys[: len(past)][order].astype(np.int64), keys[len(past) :].astype(np.int64)
        months = self.compared["month"].to_numpy()[order].astype(np.int64)
        shift = np.int64(2**32)
        starts = np.searchsorted(sorted_keys, asked_keys)
        ends = np.searchsorted(sorted_keys * shift + months, asked_keys * shift + until)
        named = asked_names.to_numpy() != ""
        parts = [
            self._count(order, starts[one], np.where(named[one], ends[one], starts[one]), asked.iloc[one], weight)
            for one in (slice(start, start + _CHUNK) for start in range(0, max(len(asked), 1), _CHUNK))
        ]
        return Votes(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _count(self, order: Numbers, starts: Numbers, ends: Numbers, asked: pd.DataFrame, weight: float) -> Votes:
        """Count the votes of the latest of the past transactions between two places of an order, for each asked row."""
        count, kinds = len(asked), max(len(self.categories), 1)
        places = ends[:, None] - 1 - np.arange(WINDOW)
        is_there = places >= starts[:, None]
        past = order[np.where(is_there, places, 0)] if len(order) else np.zeros(places.shape, np.int64)
        if not len(order):
            return _no_votes(count)
        sizes, days = self.compared["size"].to_numpy()[past], self.compared["day"].to_numpy()[past]
        ratios = np.minimum(sizes, asked["size"].to_numpy()[:, None]) / np.maximum(
            sizes, asked["size"].to_numpy()[:, None]
        )
        years = np.maximum(asked["day"].to_numpy()[:, None] - days, 0) / 365
        weights = weight * RANK_WEIGHT ** np.arange(WINDOW) * ratios**AMOUNT_POWER * YEAR_WEIGHT**years * is_there
        codes = self.codes[past]
        cells = (np.arange(count)[:, None] * kinds + codes).ravel()
        sums = np.bincount(cells, weights.ravel(), count * kinds).reshape(count, kinds)
        counts = np.bincount(cells, is_there.ravel(), count * kinds).reshape(count, kinds)
        top, rows = sums.argmax(axis=1), np.arange(count)
        similar = is_there & (ratios >= 1 / SIMILAR_AMOUNT)
        is_latest = similar & (similar.cumsum(axis=1) <= LATEST)
        contradicted = (is_latest & (codes != top[:, None])).any(axis=1)
        voting = is_there.sum(axis=1)
        nearest = np.argsort(-weights, axis=1, kind="stable")[:, :NEAREST]
        return Votes(
            np.where((voting > 0) & ~contradicted, top, -1),
            sums[rows, top] / (sums.sum(axis=1) + DOUBT),
            counts[rows, top].astype(np.int64),
            voting,
            np.where(voting > 0, codes[:, 0], -1),
            np.where(np.take_along_axis(is_there, nearest, 1), np.take_along_axis(past, nearest, 1), -1),
        )


def _no_votes(count: int) -> Votes:
    none = np.full(count, -1)
    return Votes(none, np.zeros(count), none * 0, none * 0, none.copy(), np.full((count, NEAREST), -1))


def _first_names(names: Iterable[str]) -> dict[str, str]:
    """Shortest name, of two or more words, that each name continues; the name itself where there is none."""
    known = set(names)
    found = {}
    for name in known:
        words = name.split(" ")
        beginnings = (" ".join(words[:count]) for count in range(_MIN_WORDS, len(words)))
        found[name] = next((one for one in beginnings if one in known), name)
    return found
