"""Payee of a journal entry: one rule for queue, groups, rules, bridges, rhythms, frames and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from accounting_analytics.reports.books.merchants import merchants

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    StepKey = tuple[str, str]
    StepKind = Literal["cash", "expense", "revenue", "net income"]


def entry_ids(lines: pd.DataFrame) -> list[str]:
    """Journal entry of each line; of a line that names none, the line itself."""
    entries = lines["journal_entry_id"].astype(object)
    return list(entries.where(entries.notna(), lines["id"].astype(object)))


def payees_of_entries(lines: pd.DataFrame, cash: Collection[str]) -> dict[str, str]:
    """Payee of each journal entry: the merchant of its transaction, else of its own description; empty without text.

    Of several transactions that on a cash ledger counts, and of these the one whose line has the first id.
    """
    texts: dict[str, str] = {}
    is_cash = lines["ledger_id"].isin(list(cash)).to_numpy(dtype=bool)
    ordered = lines.assign(_other=~is_cash).sort_values(["_other", "id"], kind="stable")
    for name in ("transaction_description", "journal_entry_description"):
        if name not in ordered:
            continue
        given = ordered[name].astype(object)
        for entry, text in zip(entry_ids(ordered), given.where(given.notna(), ""), strict=True):
            if str(text).strip():
                texts.setdefault(entry, str(text))
    return dict(zip(texts, merchants(texts.values()), strict=True))
