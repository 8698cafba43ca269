"""Suggestions: categories for the queue from each payee's own past, as long as they keep a precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.categorization.category_ledgers import Categories
from accounting_analytics.categorization.past_suggestions import (
    Confidence,
    Trials,
    can_be_suggested,
    choose_threshold,
)
from accounting_analytics.categorization.payee_history import PastTransactions, compared_columns
from accounting_analytics.categorization.transaction_groups import with_groups
from accounting_analytics.categorization.uncategorized_queue import categorized_transactions, exact_queue
from accounting_analytics.errors import FrameError, InputError
from accounting_analytics.load_metadata import attach_notes
from accounting_analytics.local_books import lines_of
from accounting_analytics.money import format_amount
from accounting_analytics.schemas import Ledgers, Proposals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from accounting_analytics.categorization.payee_history import Votes
    from accounting_analytics.local_books import LocalBooks

PRECISION = 0.98
_SMALLEST_PRECISION = 0.5
SUGGESTED = "suggested from history"
"""The column ``rule`` of a suggestion."""


def suggest(
    queue: pd.DataFrame,
    history: pd.DataFrame | LocalBooks,
    ledgers: pd.DataFrame,
    *,
    precision: float = PRECISION,
    unchecked: Iterable[str] = (),
) -> pd.DataFrame:
    """Suggest a category for each transaction of the queue whose payee has a clear history, if that kept a precision.

    The past transactions of the same payee and direction vote: recent ones count more, and so do those of a similar
    amount. What these votes would have suggested for each past month, from the months before it, decides which share of
    the votes is enough: the suggestions for the past must have been right as often as `precision`, with the one-sided
    lower bound of 95 % confidence. Where no share is enough, or the latest month was worse, there are no suggestions,
    and a note says why. A payee without a history, with a contradictory one, or that changed its category, has none.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    history : DataFrame or Books
        :class:`~accounting_analytics.schemas.LineEntries` of the ledgers that report cash flow, as for
        :func:`uncategorized_queue`, or local books; two years are enough. Transactions that are in the queue, are split
        or are transfers between two accounts are not part of the history.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    precision : float, default 0.98
        Share of the suggestions that must be right, at least 0.5 and less than 1.
    unchecked : iterable of str, optional
        Ids of transactions whose category was suggested and that no person has checked. Nothing is learned from them,
        so that a mistake does not confirm itself.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the rows of the queue with a suggestion, with ``confidence``,
        the share of past suggestions with such votes that was right, and ``reason``, the votes and the past
        transactions that counted most. ``attrs["notes"]`` states the precision for the past or why there are no
        suggestions, and how many transactions have none. Likely transfers and splits have none.

    Raises
    ------
    InputError
        An argument is of another type, or `precision` is not a share.
    FrameError
        A frame is not valid, or has a transaction more than once.

    Examples
    --------
    ::

        suggestions = suggest(queue, history, ledgers, precision=0.98)
        proposals = propose(queue, rules, ledgers, suggestions=suggestions)
    """
    require_type(queue, pd.DataFrame, "queue", "uncategorized_queue(line_entries, ledgers) returns it")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    check_precision(precision)
    exact, ledgers = exact_queue(queue), Ledgers.checked(ledgers)
    chart = Categories(ledgers, set(exact.frame["category_ledger_id"]))
    rows = with_groups(exact.frame)
    lines = lines_of(history)
    past = read_past(lines, ledgers, without={*rows["transaction_id"], *unchecked})
    asked = rows[rows["kind"] == "merchant"]
    trials = Trials.of(past, past.vote(past.compared, before_month=True)).latest()
    threshold = choose_threshold(trials, precision)
    compared = compared_columns(asked)
    votes = past.vote(compared)
    is_suggested = can_be_suggested(votes) & (votes.shares >= (np.inf if threshold.share is None else threshold.share))
    found = np.flatnonzero(is_suggested)
    ids = pd.Series(past.categories[votes.categories[found]], asked.index[found], dtype="str")
    proposals = exact.frame.loc[ids.index].assign(
        updated_category_ledger_id=ids,
        updated_category_ledger_name=ids.map(chart.names.name).astype("str"),
        rule=pd.Series(SUGGESTED, ids.index, dtype="str"),
        confidence=Confidence(trials).of(votes.shares[found]),
        reason=pd.Series(list(_reasons(past, votes, found, compared["merchant"], chart)), ids.index, dtype="str"),
    )
    notes = [*exact.notes, threshold.sentence, *_notes(asked, votes, len(found), silent=threshold.share is None)]
    notes += chart.direction_notes(proposals)
    proposals = Proposals.from_exact(proposals.reset_index(drop=True), exact.scale, as_decimals=exact.as_decimals)
    attach_notes(proposals, notes, queue, lines)
    return proposals


def check_precision(precision: float) -> None:
    """Refuse what is not a share that can be kept."""
    if (
        isinstance(precision, bool)
        or not isinstance(precision, int | float)
        or not _SMALLEST_PRECISION <= precision < 1
    ):
        raise InputError(f"precision is {precision!r}, not a share from 0.5 up to, but not including, 1, such as 0.98")


def read_past(lines: Any, ledgers: pd.DataFrame, *, without: Iterable[str] = ()) -> PastTransactions:  # noqa: ANN401 (any frame)
    """Read the transactions that have one category, which is among the ledgers."""
    require_type(lines, pd.DataFrame, "history", "load_line_entries(client, ...) returns line entries")
    if "opposing_ledger_ids" not in lines:
        raise FrameError("history has no opposing_ledger_ids; load it with expand=('opposing_ledger_ids', ...)")
    rows = categorized_transactions(lines, ledgers)
    is_known = rows["category_ledger_id"].isin(ledgers["id"]) & ~rows["transaction_id"].isin(set(without))
    return PastTransactions(rows[is_known].reset_index(drop=True))


def _reasons(
    past: PastTransactions, votes: Votes, found: npt.NDArray[Any], asked: pd.Series[Any], chart: Categories
) -> Iterator[str]:
    """Yield the votes for each suggestion, whose they are if not the payee's own, and those that counted most."""
    days = past.compared["day"].to_numpy().astype("datetime64[D]").astype(str)
    payees, amounts = past.compared["merchant"].to_numpy(), past.rows["amount"].to_numpy()
    names = [chart.names.name(one) for one in past.categories]
    for row, payee in zip(found, asked.iloc[found], strict=True):
        nearest = [one for one in votes.nearest[row] if one >= 0]
        listed = [f"{days[one]} {format_amount(amounts[one])} {names[past.codes[one]]}" for one in nearest]
        other = payees[nearest[0]]
        whose = "" if other == payee else f" of {other}"
        what = names[votes.categories[row]]
        count = f"{votes.agreeing[row]} of {votes.voting[row]} past transaction(s){whose}"
        yield f"{count} are {what}: {', '.join(listed)}"


def _notes(asked: pd.DataFrame, votes: Votes, count: int, *, silent: bool) -> Iterator[str]:
    """Yield how many transactions have a suggestion, and why the others do not."""
    if silent or asked.empty:
        return
    without, unclear = int((votes.voting == 0).sum()), len(asked) - count - int((votes.voting == 0).sum())
    reasons = [f"{without:,} are of payees without a history"] if without else []
    reasons += [f"for {unclear:,} the history is not clear enough"] if unclear else []
    yield f"{count:,} of {len(asked):,} transaction(s) have a suggestion{'; ' if reasons else ''}{', '.join(reasons)}."
