"""Outcomes of a plan's items, as `apply` and `verify` report them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import typer

from accounting_analytics.cli.output import print_message
from accounting_analytics.cli.plan_tables import MAX_REASONS, print_totals
from accounting_analytics.cli.transaction_tables import print_transactions
from accounting_analytics.errors import RecategorizationIncompleteError

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.recategorization import Plan

_COLUMNS = {
    "outcome": "outcome",
    "description": "description",
    "amount": "amount",
    "updated_category_ledger_name": "new category",
    "transaction_id": "transaction_id",
}
_ADVICE = (
    ({"unknown"}, "verify with --journal shows after 60 seconds whether unknown items were carried out"),
    (
        {"unknown"},
        "applying again with the same journal leaves unknown items that were sent alone, a new journal does not",
    ),
    ({"not_done"}, "it is safe to apply the rest again with the same journal"),
    ({"refused"}, "applying again leaves refused items as they are: see the reasons"),
    ({"changed_elsewhere"}, "applying again does not change items that were changed elsewhere, a new plan does"),
)
"""What to do next, by outcomes."""
_REASON_COLUMNS = ("transaction_id", "outcome", "reason")


def print_outcomes(plan: Plan, outcomes: pd.DataFrame, *, by: str, time_zone: str, limit: int | None) -> None:
    """Print the count of each outcome; the items, or their sums by new category or rule; and the reasons.

    What failed comes first.
    """
    if by == "item":
        _print_items(plan, outcomes, time_zone=time_zone, limit=limit)
    else:
        typer.echo(plan.summary(outcomes))
        print_totals(plan.totals(by, outcomes), limit)
    _print_reasons(outcomes, limit if by == "item" else limit and MAX_REASONS)


def _print_items(plan: Plan, outcomes: pd.DataFrame, *, time_zone: str, limit: int | None) -> None:
    rows = plan.frame.assign(outcome=outcomes["outcome"].to_numpy())
    print_transactions(_failed_first(rows), _COLUMNS, summary=plan.summary(outcomes), time_zone=time_zone, limit=limit)


def _print_reasons(outcomes: pd.DataFrame, limit: int | None) -> None:
    """Print each reason once, with its first transactions."""
    from accounting_analytics.messages import join_ids, printable

    reasons: dict[tuple[str, str], list[str]] = {}
    rows = _failed_first(outcomes)
    for transaction_id, outcome, reason in zip(*(rows[name] for name in _REASON_COLUMNS), strict=True):
        if reason:
            reasons.setdefault((outcome, reason), []).append(transaction_id)
    for (outcome, reason), ids in islice(reasons.items(), limit):
        typer.echo(printable(f"{outcome} ({join_ids(ids, limit=3)}): {reason}"))
    if limit is not None and limit < len(reasons):
        typer.echo(f"{limit:,} of {len(reasons):,} reasons; --all prints every one")


def _failed_first(rows: pd.DataFrame) -> pd.DataFrame:
    from accounting_analytics.recategorization.changes import EXPECTED_OUTCOMES

    return rows.assign(expected=rows["outcome"].isin(EXPECTED_OUTCOMES)).sort_values("expected", kind="stable")


def summarize(outcomes: pd.DataFrame) -> str:
    """Count the items of each outcome, on one line."""
    counts = outcomes["outcome"].value_counts()
    return ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items()) or "nothing to do"


def require_done(outcomes: pd.DataFrame) -> None:
    """Print the summary when every item is done.

    Raises
    ------
    RecategorizationIncompleteError
        Some items are not done or unknown.
    """
    summary = summarize(outcomes)
    if not outcomes["outcome"].isin(["done", "already_done"]).all():
        found = set(outcomes["outcome"])
        advice = "; ".join(text for states, text in _ADVICE if states & found)
        msg = f"not all items are done: {summary}; {advice}"
        raise RecategorizationIncompleteError(msg)
    print_message(summary)
