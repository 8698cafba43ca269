"""Counterparty of a journal entry: one rule for queue, groups, rules, bridges, rhythms, frames and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from accounting_analytics.core.chart_of_accounts import FinancialAccountType
from accounting_analytics.core.ledger_names import PATH_SEPARATOR, LedgerNames
from accounting_analytics.reports.books.merchants import merchants
from accounting_analytics.reports.books.party_texts import NOT_NAMED, read_party_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import pandas as pd

    StepKey = tuple[str, str]
    StepKind = Literal["cash", "expense", "revenue", "net income"]

OPEN_ITEMS = (FinancialAccountType.ACCOUNTS_RECEIVABLE, FinancialAccountType.ACCOUNTS_PAYABLE)
"""Types of account whose entries are items that a party owes or is owed."""
TEXTS_OF_TRANSACTION = ("transaction_description", "description", "journal_entry_description")
"""Columns with what names who was paid: the first that has a text decides."""


def entry_ids(lines: pd.DataFrame) -> list[str]:
    """Journal entry of each line; of a line that names none, the line itself."""
    entries = lines["journal_entry_id"].astype(object)
    return list(entries.where(entries.notna(), lines["id"].astype(object)))


def open_item_ledgers(ledgers: pd.DataFrame) -> dict[str, str]:
    """Receivables and payables, and the ledgers below them with their path from there, which names the counterparty."""
    if not {"financial_account_type", "parent_id"} <= {*ledgers.columns}:
        return {}
    names = LedgerNames.from_frame(ledgers)
    above = list(ledgers.loc[ledgers["financial_account_type"].isin(OPEN_ITEMS) & ~ledgers["report_cash_flow"], "id"])
    return {
        below: path_below(names, one, below)
        for one in above
        for below in names.hierarchy.with_descendants(one)
        if below == one or below not in above
    }


def path_below(names: LedgerNames, ledger_id: str, below: str) -> str:
    """Path of a ledger from one above it; empty for that one itself."""
    return names.path(below).removeprefix(names.path(ledger_id)).removeprefix(PATH_SEPARATOR)


def counterparties_of_entries(
    lines: pd.DataFrame, cash: Collection[str], open_items: Mapping[str, str]
) -> dict[str, str]:
    """Counterparty of each journal entry: who owes or is owed, else who was paid or pays; none of an adjustment.

    An entry of open items has the party that its text names, or whose ledger it is on; any other that touches cash the
    merchant of its transaction, else of its line or its own description. Of several lines that with the first id
    counts.
    """
    ordered = lines.sort_values("id", kind="stable")
    parties = parties_of_open_items(ordered, open_items)
    rows = ordered[ordered["ledger_id"].isin(list(cash))]
    texts: dict[str, str] = {}
    entries = entry_ids(rows)
    for name in TEXTS_OF_TRANSACTION:
        if name in rows:
            given = rows[name].astype(object)
            for entry, text in zip(entries, given.where(given.notna(), ""), strict=True):
                if str(text).strip():
                    texts.setdefault(entry, str(text))
    return dict(zip(texts, merchants(texts.values()), strict=True)) | parties


def parties_of_open_items(lines: pd.DataFrame, open_items: Mapping[str, str]) -> dict[str, str]:
    """Party of each entry with a line on a receivable or payable, where its text or its ledger names one."""
    rows = lines[lines["ledger_id"].isin(list(open_items))]
    parties = parties_of_lines((open_items[one] for one in rows["ledger_id"]), texts_of_lines(rows))
    found: dict[str, str] = {}
    for entry, party in zip(entry_ids(rows), parties, strict=True):
        if party:
            found.setdefault(entry, party)
    return found


def parties_of_lines(paths: Iterable[str], texts: Iterable[Sequence[str]]) -> list[str]:
    """Party of each line, which the path of its ledger names, else its texts; empty where neither does."""
    read = zip(paths, read_party_texts(texts), strict=True)
    return [path.upper() or ("" if one.party == NOT_NAMED else one.party) for path, one in read]


def texts_of_lines(rows: pd.DataFrame) -> list[list[str]]:
    """Texts of each line that are not empty: its own, of its entry, of its transaction."""
    names = ("description", "journal_entry_description", "transaction_description")
    columns = [rows[name] for name in names if name in rows]
    return [[str(one) for one in row if isinstance(one, str) and one.strip()] for row in zip(*columns, strict=True)]
