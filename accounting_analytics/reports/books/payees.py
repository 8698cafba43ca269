"""Counterparties of journal entries: one rule for all that names them."""

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
"""Columns that name the counterparty of a payment: the first column with a text is used."""


def entry_ids(lines: pd.DataFrame) -> list[str]:
    """Return the id of each line's journal entry, or of the line where it names no entry."""
    entries = lines["journal_entry_id"].astype(object)
    return list(entries.where(entries.notna(), lines["id"].astype(object)))


def open_item_ledgers(ledgers: pd.DataFrame) -> dict[str, str]:
    """Map receivables, payables and the ledgers below them to paths.

    A path begins below the receivable or payable, and is the name of the counterparty.
    """
    if not {"financial_account_type", "parent_id"} <= {*ledgers.columns}:
        return {}
    names = LedgerNames.from_frame(ledgers)
    account_ids = list(
        ledgers.loc[ledgers["financial_account_type"].isin(OPEN_ITEMS) & ~ledgers["report_cash_flow"], "id"]
    )
    return {
        below: path_below(names, account_id, below)
        for account_id in account_ids
        for below in names.hierarchy.with_descendants(account_id)
        if below == account_id or below not in account_ids
    }


def path_below(names: LedgerNames, ledger_id: str, below: str) -> str:
    """Return the path of the ledger `below` from the ledger `ledger_id` above it."""
    return names.path(below).removeprefix(names.path(ledger_id)).removeprefix(PATH_SEPARATOR)


def counterparties_of_entries(
    lines: pd.DataFrame, cash: Collection[str], open_items: Mapping[str, str]
) -> dict[str, str]:
    """Map each journal entry to its counterparty: who owes, is owed, was paid or pays.

    An entry on a receivable or payable has the party that its text names, or whose ledger it is on. Any other entry
    that touches cash has the merchant in the text of its transaction, else of its line, else of the entry. If several
    lines have a text, the line with the first id counts. An adjustment has no counterparty.
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
    """Find the parties of entries with a receivable or payable."""
    rows = lines[lines["ledger_id"].isin(list(open_items))]
    parties = parties_of_lines((open_items[ledger_id] for ledger_id in rows["ledger_id"]), texts_of_lines(rows))
    found: dict[str, str] = {}
    for entry, party in zip(entry_ids(rows), parties, strict=True):
        if party:
            found.setdefault(entry, party)
    return found


def parties_of_lines(paths: Iterable[str], texts: Iterable[Sequence[str]]) -> list[str]:
    """Return the party that each line's path or texts name."""
    read = zip(paths, read_party_texts(texts), strict=True)
    return [path.upper() or ("" if party_text.party == NOT_NAMED else party_text.party) for path, party_text in read]


def texts_of_lines(rows: pd.DataFrame) -> list[list[str]]:
    """Return the texts of each line that are not empty."""
    names = ("description", "journal_entry_description", "transaction_description")
    columns = [rows[name] for name in names if name in rows]
    return [[str(text) for text in row if isinstance(text, str) and text.strip()] for row in zip(*columns, strict=True)]
