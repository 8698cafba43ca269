"""Payments whose amount depends on a balance: the loan, sales tax, the credit card, transfers to savings."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from harbor_lane.accounts import TRANSFERS
from harbor_lane.calendar import END_DATE, month_ends, monthly, next_weekday
from harbor_lane.daybook import Posting, local_time
from harbor_lane.scheduled_entries import DELIVERY, ROASTER, SUMMER_2025, payment_postings

if TYPE_CHECKING:
    from harbor_lane.daybook import Daybook

_SAVINGS = {
    **{dt.date(2025, month, 26): 2500_00 for month in range(1, 5)},
    dt.date(2025, 7, 15): -8000_00,
    dt.date(2025, 8, 12): -16_000_00,
    dt.date(2025, 9, 9): -16_000_00,
    dt.date(2025, 10, 7): -6000_00,
    dt.date(2025, 12, 22): 12_000_00,
    dt.date(2026, 1, 20): 8000_00,
    **{dt.date(2026, month, 26): 3500_00 for month in range(3, 7)},
}
"""Transfers to the savings account, by day; negative: back to the operating account."""


class BalancePayments:
    """Payments that depend on a balance: loan, sales tax, card, savings and their interest."""

    def __init__(self, book: Daybook) -> None:
        self._book = book

    def add_day(self, day: dt.date) -> None:
        """Add all payments of one day."""
        if day in monthly(20, first=DELIVERY + dt.timedelta(days=1)):
            self._repay_loan(day)
        if day in monthly(20, months=range(3, 13, 3)):
            owed = -self._book.balances["sales_tax"]
            payment = payment_postings("sales_tax", owed, "NYS DTF SALES TAX PAYMNT")
            self._book.add(local_time(day, "16:00"), "Sales tax of the quarter", *payment)
        if day in monthly(12):
            self._pay_card(day)
        if day in _SAVINGS:
            self._transfer(day, _SAVINGS[day])
        if day in month_ends():
            earned = self._book.balances["savings"] * 3 // 1000
            receipt = payment_postings("interest_income", -earned, "INTEREST PAYMENT", "savings")
            self._book.add(local_time(day, "23:58"), "Interest on savings", *receipt)

    def _repay_loan(self, day: dt.date) -> None:
        interest = -self._book.balances["loan"] * 7 // 1000
        self._book.add(
            local_time(day, "05:00"),
            "Loan payment",
            Posting("loan", 1556_00 - interest, "Principal", tags=(ROASTER,)),
            Posting("interest", interest, "Interest", tags=(ROASTER,)),
            Posting("operating", -1556_00, statement="LOAN PMT FIRST BKLYN 0098", reviewed=True),
        )

    def _pay_card(self, day: dt.date) -> None:
        owed = -self._book.balances["card"]
        is_short_of_cash = SUMMER_2025[0] <= day <= SUMMER_2025[1]
        paid = owed * 45 // 100 if is_short_of_cash else owed
        self._book.add(
            local_time(day, "23:30"),
            "Card payment",
            Posting("card", paid, statement="PAYMENT THANK YOU-MOBILE", reviewed=True),
            Posting("operating", -paid, statement="CHASE CREDIT CRD AUTOPAY", reviewed=True),
        )
        if is_short_of_cash:
            charge = payment_postings("interest", (owed - paid) * 19 // 1000, "PURCHASE INTEREST CHARGE", "card")
            self._book.add(local_time(day, "23:45"), "Card interest", *charge)

    def _transfer(self, day: dt.date, cents: int) -> None:
        """Move money by way of the transfers ledger, where it stays for a day or two."""
        first, second = ("operating", "savings") if cents > 0 else ("savings", "operating")
        arrival = min(next_weekday(day + dt.timedelta(days=1)), END_DATE)
        description = "Transfer between own accounts"
        sent = payment_postings(TRANSFERS, abs(cents), f"ONLINE XFER TO {second.upper()}", first)
        received = payment_postings(TRANSFERS, -abs(cents), f"ONLINE XFER FROM {first.upper()}", second)
        self._book.add(local_time(day, "18:20"), description, *sent)
        self._book.add(local_time(arrival, "03:05"), description, *received)
