"""Eighteen months of Harbor Lane Coffee Roasters, Brooklyn, from a fixed seed.

They open 2025 with savings, buy a roaster on credit in spring, lose a summer to roadworks at the door while their
largest customer does not pay, live on savings and the card until it does in November, sell well before Christmas, and
grow in 2026 while the bookkeeping falls behind.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from accounting_analytics.demo_company.calendar import days
from accounting_analytics.demo_company.daybook import Daybook
from accounting_analytics.demo_company.obligations import Finance, Opening, Payroll, Premises, SmallChange
from accounting_analytics.demo_company.spending import Spending
from accounting_analytics.demo_company.trade import Counter, Suppliers, Wholesale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.service.bookkeeping.new_entries import NewJournalEntry

COMPANY = "Harbor Lane Coffee Roasters"
SEED = 20250101


def journal_entries(required: Mapping[str, str]) -> list[NewJournalEntry]:
    """All journal entries by time, the same ones every time.

    Parameters
    ----------
    required : mapping of str to str
        Ids of the instance's four required ledgers, by the keys of
        :data:`~accounting_analytics.demo_company.chart.REQUIRED_LEDGERS`.
    """
    book = Daybook()
    parts = (
        Opening(book),
        Counter(book, _chance("counter")),
        Wholesale(book, _chance("wholesale")),
        Suppliers(book, _chance("suppliers")),
        Payroll(book, _chance("payroll")),
        Premises(book, _chance("premises")),
        Finance(book),
        SmallChange(book, _chance("small change")),
        Spending(book, _chance("spending")),
    )
    for day in days():
        for part in parts:
            part.day(day)
    return book.entries(required)


def _chance(name: str) -> Random:
    """Chance of its own for every part, so that a change in one leaves the others as they were."""
    return Random(f"{SEED} {name}")  # noqa: S311 (a story, not a secret)
