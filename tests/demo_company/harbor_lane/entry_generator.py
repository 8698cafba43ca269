"""Eighteen months of journal entries of Harbor Lane Coffee Roasters, Brooklyn, from a fixed seed.

The company starts 2025 with savings, buys a roaster on credit in spring, loses sales to roadworks in summer while its
largest customer does not pay, lives on savings and the card until that customer pays in November, sells well before
Christmas, and grows in 2026 while more and more transactions stay uncategorized.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from harbor_lane.balance_dependent_payments import BalancePayments
from harbor_lane.calendar import days
from harbor_lane.daybook import Daybook
from harbor_lane.payroll import Payroll
from harbor_lane.random_transactions import IrregularTransactions
from harbor_lane.sales_and_suppliers import RetailSales, Suppliers, Wholesale
from harbor_lane.scheduled_entries import (
    OTHER_PAYMENTS,
    PREMISES,
    FixedPayments,
    add_single_entries,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.service.bookkeeping.post_entries import NewJournalEntry

SEED = 20250101


def journal_entries(required: Mapping[str, str]) -> list[NewJournalEntry]:
    """All journal entries by time, the same ones every time.

    Parameters
    ----------
    required : mapping of str to str
        Ids of the instance's four required ledgers, by the keys of
        :data:`~harbor_lane.accounts.REQUIRED_LEDGERS`.
    """
    book = Daybook()
    add_single_entries(book)
    sources = (
        RetailSales(book, _random("counter")),
        Wholesale(book, _random("wholesale")),
        Suppliers(book, _random("suppliers")),
        Payroll(book, _random("payroll")),
        FixedPayments(book, _random("premises"), PREMISES),
        BalancePayments(book),
        FixedPayments(book, _random("small change"), OTHER_PAYMENTS),
        IrregularTransactions(book, _random("spending")),
    )
    for day in days():
        for source in sources:
            source.add_day(day)
    return book.journal_entries(required)


def _random(name: str) -> Random:
    """Return a generator of its own for each source, so that a change in one leaves the others unchanged."""
    return Random(f"{SEED} {name}")  # noqa: S311 (invented figures, not secrets)
