"""Payroll of the demo company: wages every second Friday, and the remittance of what is withheld."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from harbor_lane.calendar import next_weekday, sales_percent
from harbor_lane.daybook import Posting, local_time
from harbor_lane.scheduled_entries import payment_postings

if TYPE_CHECKING:
    from random import Random

    from harbor_lane.daybook import Daybook


_FIRST_PAYDAY = dt.date(2025, 1, 10)
_PAYDAY_INTERVAL, _REMITTANCE_DELAY = 14, 5


class Payroll:
    """Wages every second Friday, with what is withheld, and its remittance the week after."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng

    def add_day(self, day: dt.date) -> None:
        """Add wages, the remittance of taxes, and the payment of benefits of one day."""
        days_since_payday = (day - _FIRST_PAYDAY).days % _PAYDAY_INTERVAL
        if day >= _FIRST_PAYDAY and days_since_payday == 0:
            self._pay_wages(day)
        if day > _FIRST_PAYDAY and days_since_payday == _REMITTANCE_DELAY:
            self._remit(day, "payroll_tax", "Payroll taxes remitted", f"IRS USATAXPYMT {day:%y%m%d}")
        if day == next_weekday(day.replace(day=27)):
            self._remit(day, "benefits", "Health plan premium", "ACH DEBIT OSCAR HEALTH PLAN")

    def _pay_wages(self, day: dt.date) -> None:
        staff = 100 + max(0, sales_percent(day) - 100) // 3
        gross = 12_250_00 * staff * self._rng.randint(97, 103) // 100**2
        federal, social, state, benefits = gross * 11 // 100, gross * 765 // 10_000, gross * 45 // 1000, 412_50
        net = gross - federal - social - state - benefits
        self._book.add(
            local_time(day, "06:00"),
            "Payroll",
            Posting("wages", gross),
            Posting("payroll_tax", -federal, "Federal income tax withheld"),
            Posting("payroll_tax", -social, "Social security and Medicare withheld"),
            Posting("payroll_tax", -state, "State income tax withheld"),
            Posting("benefits", -benefits, "Employees' share of the health plan"),
            Posting("operating", -net, statement="GUSTO PAYROLL NET", reviewed=True),
        )
        self._book.add(
            local_time(day, "06:00"),
            "Employer's payroll taxes",
            Posting("employer_tax", social),
            Posting("payroll_tax", -social),
        )

    def _remit(self, day: dt.date, account: str, description: str, statement: str) -> None:
        owed = -self._book.balances[account]
        if owed > 0:
            self._book.add(local_time(day, "08:00"), description, *payment_postings(account, owed, statement))
