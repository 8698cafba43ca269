"""Choices: the category that a row of the queue gets, and what gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


class Choice(NamedTuple):
    """Category of a row of the queue, the rule or decision that gives it, and what a suggestion is based on."""

    ledger_id: str
    rule: str
    confidence: float | None = None
    reason: str | None = None


def left_note(rows: pd.DataFrame, chosen: Mapping[int, Choice], why: str) -> list[str]:
    """Count the transactions without a category; a transaction may have two rows."""
    transactions = rows["transaction_id"]
    left = transactions.drop(index=list(chosen)).nunique()
    return [f"{left:,} of {transactions.nunique():,} transaction(s) {why}."] if left else []
