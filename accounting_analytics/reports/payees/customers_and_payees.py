"""Largest counterparties: rows for lines of cash in, or of cash out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import pandas as pd

from accounting_analytics.core.chart_of_accounts import FinancialAccountType, LedgerType, SubType
from accounting_analytics.reports.books.category_ledgers import uncategorized_ledgers
from accounting_analytics.reports.books.payees import entry_ids
from accounting_analytics.reports.figures.figure import figure_of_entries

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.books.value import Books

PARTY, PROCESSOR = "counterparty:", "processor:"
"""Prefixes of the row keys of a counterparty, and of an account that a payment processor keeps."""
NO_PARTY = PARTY
"""Key of the row of entries without a counterparty."""
TRANSFERRED, UNDECIDED, OTHER_RECEIPTS = "transfers", "uncategorized", "other receipts"


class CustomerLedgers(NamedTuple):
    """The ledgers that distinguish receipts from customers from other receipts.

    Attributes
    ----------
    earned : set of str
        Operating revenue, and receivables with the ledgers below them.
    uncategorized : set of str
        What has no category yet.
    processors : set of str
        Accounts that a payment processor keeps, whose receipts are of many customers.
    """

    earned: set[str]
    uncategorized: set[str]
    processors: set[str]

    @classmethod
    def of_books(cls, books: Books) -> Self:
        """Find these ledgers in the chart of accounts."""
        chart = books.ledgers
        chart = chart.reindex(columns=[*chart.columns.union(["type", "sub_type", "financial_account_type"])])
        sales = chart["type"].eq(LedgerType.REVENUE) & chart["sub_type"].eq(SubType.OPERATING_REVENUES)
        owed = chart["type"].eq(LedgerType.ASSET) & chart["id"].isin(list(books.source.open_items))
        kept = chart["report_cash_flow"] & chart["financial_account_type"].eq(FinancialAccountType.PAYMENTS)
        return cls({*chart.loc[sales | owed, "id"]}, uncategorized_ledgers(chart), {*chart.loc[kept, "id"]})


def rows_of_parties(
    lines: pd.DataFrame, source: LineSource, transfers: Collection[str], customers: CustomerLedgers | None = None
) -> pd.Series[str]:
    """Find the row of each line: its counterparty, or a transfer.

    With `customers`, only entries with a line on their ledgers have the row of their counterparty. Entries on an
    account of a payment processor have the row of that account. All others are not categorized, or other receipts.
    """
    parties, entries = source.counterparties, pd.Series(entry_ids(lines), lines.index, dtype=object)
    rows = pd.Series([f"{PARTY}{parties.get(entry, '')}" for entry in entries], lines.index, dtype="str")
    if customers is not None:
        on_ledger = lines["ledger_id"].isin
        rows = rows.where(entries.isin(entries[on_ledger(list(customers.earned))]), OTHER_RECEIPTS)
        for account, of_account in _entries_on(source, customers.processors).items():
            rows = rows.mask(rows.str.startswith(PARTY) & entries.isin(of_account), f"{PROCESSOR}{account}")
        rows = rows.mask(on_ledger(list(customers.uncategorized)), UNDECIDED)
    return rows.mask(lines["ledger_id"].isin(list(transfers)), TRANSFERRED)


def _entries_on(source: LineSource, accounts: Collection[str]) -> dict[str, list[str]]:
    """Map each account to the journal entries with its lines."""
    of_accounts = source.frame[source.frame["ledger_id"].isin(list(accounts))]
    return {str(account): entry_ids(lines) for account, lines in of_accounts.groupby("ledger_id")}


def largest_parties(rows: Mapping[str, pd.DataFrame], sign: int, scale: int) -> list[str]:
    """Sort counterparties by what they paid (1) or were paid (-1)."""
    sums = {
        row: sign * int(figure_of_entries("", "", lines, scale=scale).units or 0)
        for row, lines in rows.items()
        if row.startswith(PARTY) and row != NO_PARTY
    }
    return sorted((row for row in sums if sums[row] > 0), key=lambda row: (-sums[row], row))
