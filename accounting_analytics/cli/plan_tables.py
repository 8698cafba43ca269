"""Tables about a plan: its items by rule or new category, and the report before, predicted and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from accounting_analytics.cli.output import print_first_rows, print_message

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
_TOTAL = "total "
_NAME_WIDTH = 28
MAX_REASONS = 3
"""Reasons that are printed below a table, unless all rows are asked for."""


def print_cost(plan: Plan) -> None:
    """Print how many requests and minutes applying a plan takes."""
    print_message(
        f"at least {len(plan):,} request(s) and {plan.minutes:.1f} minute(s) to change every item "
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

    from accounting_analytics.frame_columns import exact_floats

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
    """Print whether the report is as predicted, and the first causes of what differs."""
    from accounting_analytics.messages import printable

    typer.echo(effect.summary())
    reasons = effect.reasons()
    shown = reasons if limit is None else reasons[:MAX_REASONS]
    for reason in shown:
        typer.echo(printable(f"- {reason}"))
    if len(shown) < len(reasons):
        typer.echo(f"{len(shown):,} of {len(reasons):,} causes; --all prints every one")


def _largest_first(table: pd.DataFrame) -> pd.DataFrame:
    """Sort ledgers by the size of their predicted change."""
    from accounting_analytics.frame_columns import exact_floats

    sizes = [abs(change) for change in exact_floats(table)["change"]]
    return table.iloc[sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)]


def _print_named(table: pd.DataFrame, columns: dict[str, str], limit: int | None) -> None:
    """Print the first rows of a table, with its names shortened where they are long."""
    from accounting_analytics.messages import shorten

    present = {name: heading for name, heading in columns.items() if name in table}
    first = next(iter(present))
    names = table[first].map(lambda name: shorten(name, limit=_NAME_WIDTH)).astype("str")
    print_first_rows(table.assign(**{first: names}), present, limit)
