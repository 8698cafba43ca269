"""Suggestions, and likely transfers, as choices for the rows of a queue that rules and decisions leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.categorization.choices import Choice
from accounting_analytics.categorization.transaction_groups import TRANSFER_DAYS, with_groups
from accounting_analytics.column_conversion import total
from accounting_analytics.messages import join_ids, quote
from accounting_analytics.money import format_amount
from accounting_analytics.schemas import Proposals

if TYPE_CHECKING:
    from collections.abc import Collection

    from accounting_analytics.categorization.category_ledgers import Categories

LIKELY_TRANSFER = "likely transfer"
"""The column ``rule`` of a likely transfer between own accounts."""
_KEY = ("transaction_id", "category_ledger_id")


def chosen_by_suggestions(
    rows: pd.DataFrame, suggestions: pd.DataFrame, chart: Categories, decided: Collection[int]
) -> tuple[dict[int, Choice], list[str]]:
    """Find the suggested category of each row that is not decided; suggestions for other rows are counted."""
    frame = Proposals.exact(suggestions).frame
    places = {key: row for row, key in enumerate(zip(*(rows[name] for name in _KEY), strict=True))}
    columns = [frame[name] for name in (*_KEY, "updated_category_ledger_id", "rule")]
    columns += [frame.get(name, pd.Series(None, frame.index, dtype=object)) for name in ("confidence", "reason")]
    chosen: dict[int, Choice] = {}
    absent: list[str] = []
    for transaction_id, suspense, category, rule, confidence, reason in zip(*columns, strict=True):
        row = places.get((transaction_id, suspense))
        if row is None:
            absent.append(transaction_id)
        elif row not in decided:
            chosen[row] = Choice(chart.find(category), rule, confidence, reason)
    notes = [f"{len(chosen):,} proposal(s) are suggestions; check them before they are applied."] if chosen else []
    if absent:
        notes.append(
            f"{len(absent):,} suggestion(s) are for transactions that are not in the queue: {join_ids(absent)}."
        )
    return chosen, notes


def chosen_as_transfers(
    rows: pd.DataFrame, chart: Categories, decided: Collection[int]
) -> tuple[dict[int, Choice], list[str]]:
    """Give likely transfers between own accounts, where no rule or decision has them, their required ledger."""
    grouped = with_groups(rows)
    likely = grouped[(grouped["kind"] == "transfer") & ~grouped.index.isin(list(decided))]
    if likely.empty:
        return {}, []
    moved = format_amount(total(likely.loc[likely["direction"] == "inflow", "amount"]))
    what = f"{len(likely):,} transaction(s) are likely transfers between own accounts, of {moved} in all"
    if chart.transfers is None:
        return {}, [f"{what}; the ledger of transfers is not among these ledgers, so none is proposed."]
    accounts = dict(zip(rows["ledger_id"], rows["ledger_name"].fillna("another account"), strict=True))
    chosen = {
        row: Choice(
            chart.transfers,
            LIKELY_TRANSFER,
            reason=f"equal and opposite amount on {accounts.get(other, other)} within {TRANSFER_DAYS} days",
        )
        for row, other in zip(likely.index.tolist(), likely["counterpart_ledger_id"], strict=True)
    }
    name = quote(chart.names.name(chart.transfers))
    return chosen, [f"{what}; they are proposed for {name}, apart from rules and suggestions."]
