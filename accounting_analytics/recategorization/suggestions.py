"""Suggestions from the counterparty's past, where these were right often enough.

If the five latest transactions of a counterparty in one direction have one category, or all transactions if there are
fewer, this category is suggested. How many transactions are enough depends on the books: for each past transaction, a
suggestion is made from earlier months and compared with its category. The suggestions must have been right often
enough, by the lower bound of 95 % confidence.
"""

from __future__ import annotations

from math import ceil, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount
from accounting_analytics.recategorization.open_queue import OpenQueue
from accounting_analytics.recategorization.queue import (
    NO_DESCRIPTION,
    categorized_transactions,
)
from accounting_analytics.reports.books.value import to_books

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.reports.books.value import Books


PRECISION = 0.98
SUGGESTED = "suggested from history"
"""Value of the column ``rule`` for a suggestion."""
LATEST = 5
"""Number of latest transactions of a counterparty that must have one category, or all if there are fewer."""
MONTHS = pd.DateOffset(months=24)
"""Number of latest months whose suggestions decide how many transactions are enough."""
_DEVIATIONS = NormalDist().inv_cdf(0.95)
"""Standard deviations of a one-sided bound of 95 % confidence."""
_SMALLEST_PRECISION = 0.5
_AFTER_ALL = pd.Timestamp("9999-12-01")
_PAYEE = ["counterparty", "direction"]


def suggest(
    queue: pd.DataFrame,
    books: Books,
    *,
    precision: float = PRECISION,
    unchecked: Iterable[str] = (),
) -> pd.DataFrame:
    """Suggest a category for each transaction whose counterparty has a clear history, if that kept a precision.

    The history of a counterparty is clear where its five latest transactions of the same direction have one category,
    or all where there are fewer; else those of the same account are asked. What this would have suggested for each of
    the past 24 months, from the months before it, decides how many transactions are enough: the suggestions for the
    past must have been right as often as `precision`, with the one-sided lower bound of 95 % confidence. Where no
    number is enough there are no suggestions, and a note says why.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    books : Books
        The books, all of whose lines are the history; two years are enough. Transactions that are in the queue, are
        split or are transfers between two accounts are not part of it.
    precision : float, default 0.98
        Share of the suggestions that must be right, at least 0.5 and less than 1.
    unchecked : iterable of str, optional
        Ids of transactions whose category was suggested and that no person has checked. Nothing is learned from them,
        so that a mistake does not confirm itself.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the rows of the queue with a suggestion, with ``confidence``,
        the share of past suggestions from as many transactions that was right, and ``reason``, the transactions that it
        rests on. ``attrs["notes"]`` states the precision for the past or why there are no suggestions, and how many
        transactions have none. Likely transfers and splits have none.

    Raises
    ------
    InputError
        An argument is of another type, or `precision` is not a share.
    FrameError
        A frame is not valid, or has a transaction more than once.

    Examples
    --------
    ::

        suggestions = suggest(queue, books, precision=0.98)
        proposals = propose(queue, rules, books, suggestions=suggestions)
    """
    check_precision(precision)
    books = to_books(books)
    open_queue, lines = OpenQueue(queue, books.ledgers), books.lines
    rows, chart = open_queue.rows, open_queue.chart
    past = _read_past(books, open_queue.ledgers, without={*rows["transaction_id"], *unchecked})
    tried = _judge_past(past)
    threshold = _choose_threshold(tried[tried["month"] > tried["month"].max() - MONTHS], precision)
    asked = rows[rows["kind"] == "counterparty"].assign(month=_AFTER_ALL)
    known = _histories(asked.astype({"month": past["month"].dtype}), past)
    found = known[known["past_count"] >= threshold.past_count]
    chosen = {
        row: open_queue.changes[row].decided(
            history["category_ledger_id"],
            chart,
            SUGGESTED,
            confidence=threshold.right_shares[history["past_count"]],
            reason=_reason(history, chart.names.name(history["category_ledger_id"])),
        )
        for row, history in zip(found.index, found.to_dict("records"), strict=True)
    }
    notes = [threshold.sentence, *_notes(known, len(found), is_silent=threshold.past_count > LATEST)]
    return open_queue.proposals(chosen, [*open_queue.exact.notes, *notes], lines)


def check_precision(precision: float) -> None:
    """Refuse a precision that is not a share from 0.5 to 1."""
    if (
        isinstance(precision, bool)
        or not isinstance(precision, int | float)
        or not _SMALLEST_PRECISION <= precision < 1
    ):
        raise InputError(f"precision is {precision!r}, not a share from 0.5 up to, but not including, 1, such as 0.98")


def _read_past(books: Books, ledgers: pd.DataFrame, *, without: Iterable[str] = ()) -> pd.DataFrame:
    """Read the transactions with one known category, in order of days."""
    rows = categorized_transactions(books, ledgers)
    is_known = rows["category_ledger_id"].isin(ledgers["id"]) & ~rows["transaction_id"].isin(set(without))
    past = rows[is_known]
    days = past["local_date"]
    past = past.assign(day=days, month=days.dt.to_period("M").dt.to_timestamp())
    return past.sort_values(["day", "transaction_id"], ignore_index=True)


def _histories(asked: pd.DataFrame, past: pd.DataFrame) -> pd.DataFrame:
    """Find the counterparty's history before the month of each asked transaction.

    Category, day and amount are from the latest earlier transaction. ``agreeing`` counts how many latest transactions
    have its category, and ``count`` all earlier transactions. ``past_count`` is the number of the latest five, or
    fewer, if they all agree, else 0.
    """
    by_counterparty, by_account = (_latest(asked, past, key) for key in (_PAYEE, [*_PAYEE, "ledger_id"]))
    return by_counterparty.where(by_counterparty["past_count"] > 0, by_account)


def _latest(asked: pd.DataFrame, past: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Find the latest earlier transaction of each asked transaction's key.

    Also count how many earlier transactions agree with the latest.
    """
    groups = past.groupby(key, sort=False)
    begins = past["category_ledger_id"] != groups["category_ledger_id"].shift()
    blocks = begins.groupby([past[name] for name in key], sort=False).cumsum()
    known = past.assign(count=groups.cumcount() + 1)
    known["agreeing"] = known.groupby([*key, blocks.rename("block")], sort=False).cumcount() + 1
    latest = known["count"].clip(upper=LATEST)
    known["past_count"] = latest.where((known["agreeing"] >= latest) & (known["counterparty"] != NO_DESCRIPTION), 0)
    ordered = asked.sort_values("month", kind="stable")[[*key, "month"]]
    columns = ["category_ledger_id", "day", "transaction_amount", "count", "agreeing", "past_count"]
    past = known[[*key, "month", *columns]]
    found = pd.merge_asof(ordered, past, on="month", by=key, allow_exact_matches=False)[columns]
    counts = dict.fromkeys(["count", "agreeing", "past_count"], 0)
    return found.set_axis(ordered.index).reindex(asked.index).fillna(counts)


def _judge_past(past: pd.DataFrame) -> pd.DataFrame:
    """Compare each past transaction with the suggestion of earlier months."""
    histories = _histories(past, past)
    right = histories["category_ledger_id"] == past["category_ledger_id"]
    return past[["month", "transaction_amount"]].assign(past_count=histories["past_count"], right=right)


class _Threshold(NamedTuple):
    """Number of past transactions that a suggestion needs.

    `sentence` says why. `past_count` is six if no number is enough. `right_shares` maps each `past_count` to the share
    of such past suggestions that were right, or to the share of all suggestions if there was none with this number.
    """

    past_count: int
    right_shares: Mapping[Any, float]
    sentence: str


def _choose_threshold(tried: pd.DataFrame, precision: float) -> _Threshold:
    """Choose the smallest `past_count` whose past suggestions kept the precision."""
    suggested = tried[tried["past_count"] > 0]
    by_past_count = suggested.groupby("past_count")["right"].mean().reindex(range(1, LATEST + 1))
    shares = by_past_count.fillna(suggested["right"].mean()).to_dict()
    best, best_text = 0.0, ""
    for past_count in range(1, LATEST + 1):
        right = suggested.loc[suggested["past_count"] >= past_count, "right"]
        bound = lower_bound(int(right.sum()), len(right))
        text = f"{right.sum():,} would have been right: {right.mean():.1%}, at least {bound:.1%} with 95 % confidence"
        if bound >= precision:
            return _Threshold(past_count, shares, f"Of {len(right):,} suggestions for the past {text}.")
        if bound > best:
            best, best_text = bound, f"of {len(right):,} for the past {text}, and {precision:.1%} is wanted"
    needed = ceil(precision * _DEVIATIONS**2 / (1 - precision))  # all of them are right
    if len(suggested) < needed:
        best_text = (
            f"a precision of {precision:.1%} can be checked from {needed:,} past transactions on whose "
            f"counterparty had others before, and there are {len(suggested):,}"
        )
    return _Threshold(LATEST + 1, shares, f"There are no suggestions: {best_text}.")


def lower_bound(right: int, count: int) -> float:
    """Return the lower bound of a share with 95 % confidence (Wilson)."""
    if not count:
        return 0.0
    share = right / count
    spread = _DEVIATIONS * sqrt(share * (1 - share) / count + (_DEVIATIONS / count / 2) ** 2)
    return (share + _DEVIATIONS**2 / count / 2 - spread) / (1 + _DEVIATIONS**2 / count)


def _reason(history: Mapping[Any, Any], category: str) -> str:
    """Say how many past transactions support a suggestion.

    Also name the latest transaction.
    """
    past = count_of(int(history["count"]), "past transaction")
    latest = f"the latest on {history['day']:%Y-%m-%d} of {format_amount(history['transaction_amount'])}"
    if history["agreeing"] == history["count"]:
        return f"all of {past} in {category}, {latest}"
    return f"the latest {int(history['agreeing']):,} of {past} in {category}, {latest}"


def _notes(known: pd.DataFrame, count: int, *, is_silent: bool) -> Iterator[str]:
    """Yield notes on how many transactions have a suggestion.

    Also say why other transactions have no suggestion.
    """
    if is_silent or known.empty:
        return
    new = int((known["count"] == 0).sum())
    reasons = [f"{new:,} are of counterparties without a history"] if new else []
    if unclear := len(known) - count - new:
        reasons.append(f"for {unclear:,} the history is not clear enough")
    got = f"{count:,} of {count_of(len(known), 'transaction')} got a suggestion"
    yield f"{'; '.join(filter(None, [got, ', '.join(reasons)]))}."
