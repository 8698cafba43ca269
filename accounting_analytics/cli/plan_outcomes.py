"""Outcomes of a plan's items, as `apply` and `verify` report them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.cli.output import print_message
from accounting_analytics.errors import RecategorizationIncompleteError

if TYPE_CHECKING:
    import pandas as pd


def summarize(outcomes: pd.DataFrame) -> str:
    """Count the items of each outcome, on one line."""
    counts = outcomes["outcome"].value_counts()
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing to do"


def require_done(outcomes: pd.DataFrame) -> None:
    """Print the summary when every item is done.

    Raises
    ------
    RecategorizationIncompleteError
        Some items are not done or unknown.
    """
    summary = summarize(outcomes)
    if not outcomes["outcome"].isin(["done", "already_done"]).all():
        later = ""
        if (outcomes["outcome"] == "unknown").any():
            later = "verify with --journal shows after 60 seconds whether unknown items were carried out; "
        msg = f"not all items are done: {summary}; {later}it is safe to apply the rest again with the same journal"
        raise RecategorizationIncompleteError(msg)
    print_message(summary)
