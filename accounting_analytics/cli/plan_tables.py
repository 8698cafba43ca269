"""Tables about a plan: its items by rule or new category, their outcomes, and the report before and after."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import typer

from accounting_analytics.cli.output import print_first_rows, print_message
from accounting_analytics.cli.transaction_tables import print_transactions
from accounting_analytics.errors import RecategorizationIncompleteError
from accounting_analytics.messages import count_of, join_ids, printable, shorten

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.recategorization import Effect, Plan

_TOTALS_COLUMNS = {
    "rule": "rule",
    "updated_category_ledger_name": "new category",
    "outcome": "outcome",
    "item_count": "items",
    "amount": "amount",
    "updated_category_ledger_id": "ledger_id",
}
_LEDGER_COLUMNS = {
    "name": "ledger",
    "before": "before",
    "change": "change",
    "predicted": "predicted",
    "after": "after",
    "ledger_id": "ledger_id",
}
_ITEM_COLUMNS = {
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
_TOTAL = "total "
_NAME_WIDTH = 28
_MAX_REASONS = 3
"""Reasons that are printed below a table, unless all rows are asked for."""


def print_cost(plan: Plan) -> None:
    """Print how many requests and minutes applying a plan takes."""
    print_message(
        f"at least {count_of(len(plan), 'request')} and {plan.minutes:.1f} minutes to change every item "
        "at the documented rate limit"
    )


def print_totals(totals: pd.DataFrame, limit: int | None) -> None:
    """Print the items by rule or by new category: their number, their exact sum and, where known, their outcome."""
    _print_named(totals, _TOTALS_COLUMNS, limit)


def totals_tables(plan: Plan, outcomes: pd.DataFrame | None = None) -> dict[str, pd.DataFrame]:
    """Totals of a plan as JSON has them."""
    return {f"by_{by}": plan.totals(by, outcomes) for by in ("category", "rule")}


def print_preview(preview: pd.DataFrame, totals: pd.DataFrame, limit: int | None) -> None:
    """Print each ledger that a plan changes, before and as predicted, below the totals of the roots above them.

    A root without other ledgers is printed once.
    """
    import pandas as pd

    from accounting_analytics.column_conversion import exact_floats

    own = set(exact_floats(preview).itertuples(index=False, name=None))
    differs = [row not in own for row in exact_floats(totals).itertuples(index=False, name=None)]
    named = totals.assign(name=_TOTAL + totals["name"]).loc[differs]
    _print_named(pd.concat([_largest_first(table) for table in (named, preview)]), _LEDGER_COLUMNS, limit)


def print_ledgers(table: pd.DataFrame, limit: int | None) -> None:
    """Print the ledgers of a report that changed: before, as predicted and after.

    The largest predicted changes come first.
    """
    _print_named(_largest_first(table), _LEDGER_COLUMNS, limit)


def print_verdict(effect: Effect, limit: int | None) -> None:
    """Print whether the report is as predicted, and the first figures that differ."""
    typer.echo(effect.summary())
    reasons = effect.reasons()
    shown = reasons if limit is None else reasons[:_MAX_REASONS]
    for reason in shown:
        typer.echo(printable(f"- {reason}"))
    if len(shown) < len(reasons):
        typer.echo(f"{len(shown):,} of {len(reasons):,} differences; --all prints every one")


def print_outcomes(plan: Plan, outcomes: pd.DataFrame, *, by: str, time_zone: str, limit: int | None) -> None:
    """Print the count of each outcome; the items, or their sums by new category or rule; and each reason once.

    What failed comes first.
    """
    summary, reason_limit = plan.summary(outcomes), limit
    if by == "item":
        rows = _failed_first(plan.frame.assign(outcome=outcomes["outcome"].to_numpy()))
        print_transactions(rows, _ITEM_COLUMNS, summary=summary, time_zone=time_zone, limit=limit)
    else:
        typer.echo(summary)
        print_totals(plan.totals(by, outcomes), limit)
        reason_limit = limit and _MAX_REASONS
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in _failed_first(outcomes).to_dict("records"):
        if row["reason"]:
            reasons.setdefault((row["outcome"], row["reason"]), []).append(row["transaction_id"])
    for (outcome, reason), ids in islice(reasons.items(), reason_limit):
        typer.echo(printable(f"{outcome} ({join_ids(ids, limit=3)}): {reason}"))
    if reason_limit is not None and reason_limit < len(reasons):
        typer.echo(f"{reason_limit:,} of {len(reasons):,} reasons; --all prints every one")


def _failed_first(rows: pd.DataFrame) -> pd.DataFrame:
    from accounting_analytics.recategorization.changes_and_outcomes import EXPECTED_OUTCOMES

    return rows.assign(expected=rows["outcome"].isin(EXPECTED_OUTCOMES)).sort_values("expected", kind="stable")


def summarize(outcomes: pd.DataFrame) -> str:
    """Count the items of each outcome, on one line."""
    counts = outcomes["outcome"].value_counts()
    return ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items()) or "nothing to do"


def require_done(outcomes: pd.DataFrame) -> None:
    """Print the summary when every item is done."""
    summary = summarize(outcomes)
    if not outcomes["outcome"].isin(["done", "already_done"]).all():
        found = set(outcomes["outcome"])
        advice = "; ".join(text for states, text in _ADVICE if states & found)
        raise RecategorizationIncompleteError(f"not all items are done: {summary}; {advice}")
    print_message(summary)


def _largest_first(table: pd.DataFrame) -> pd.DataFrame:
    """Sort ledgers by the size of their predicted change."""
    from accounting_analytics.column_conversion import exact_floats

    sizes = [abs(change) for change in exact_floats(table)["change"]]
    return table.iloc[sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)]


def _print_named(table: pd.DataFrame, columns: dict[str, str], limit: int | None) -> None:
    """Print the first rows of a table, with its names shortened where they are long."""
    present = {name: heading for name, heading in columns.items() if name in table}
    first = next(iter(present))
    names = table[first].map(lambda name: shorten(name, limit=_NAME_WIDTH)).astype("str")
    print_first_rows(table.assign(**{first: names}), present, limit)
