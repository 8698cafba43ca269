"""What nobody planned: card purchases, checks and deposits, many of them not yet categorized."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from accounting_analytics.demo_company.calendar import is_weekday
from accounting_analytics.demo_company.chart import UNCATEGORIZED_INFLOW, UNCATEGORIZED_OUTFLOW
from accounting_analytics.demo_company.daybook import Leg, local
from accounting_analytics.demo_company.merchants import ACCOUNT_PAYMENTS, ACCOUNT_RECEIPTS, CARD, CARD_REFUNDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from accounting_analytics.demo_company.daybook import Daybook
    from accounting_analytics.demo_company.merchants import Merchant

_PURCHASES_A_DAY = (0, 1, 1, 1, 2, 3)
_BEHIND_SINCE = dt.date(2026, 4, 1)
_CLOCKS_CHANGE = (
    (dt.date(2025, 3, 9), "01:59:59", 0),
    (dt.date(2025, 3, 9), "03:00", 0),
    (dt.date(2025, 11, 2), "01:30", 0),
    (dt.date(2025, 11, 2), "01:30", 1),
    (dt.date(2026, 3, 8), "01:59:59", 0),
    (dt.date(2026, 3, 8), "03:00", 0),
)
"""Moments around the hours that New York skips or has twice."""


class Spending:
    """Purchases and receipts at odd times; since April 2026 the bookkeeper is behind."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng

    def day(self, day: dt.date) -> None:
        """Everything of one day."""
        for _ in range(self._rng.choice(_PURCHASES_A_DAY)):
            self._purchase(day, self._clock())
        if is_weekday(day) and self._rng.randrange(6) == 0:
            self._single(day, _one_of(ACCOUNT_PAYMENTS, self._rng), "operating", paid=True)
        if is_weekday(day) and self._rng.randrange(9) == 0:
            self._single(day, _one_of(ACCOUNT_RECEIPTS, self._rng), "operating", paid=False)
        if self._rng.randrange(30) == 0:
            self._single(day, _one_of(CARD_REFUNDS, self._rng), "card", paid=False)
        for changes, clock, fold in _CLOCKS_CHANGE:
            if day == changes:
                self._purchase(day, clock, fold)

    def _clock(self) -> str:
        """Time of day, now and then within a minute of midnight."""
        if self._rng.randrange(25) == 0:
            return self._rng.choice(("00:00", "00:00:30", "23:59:30", "23:59:59"))
        return f"{self._rng.randint(7, 21):02d}:{self._rng.randrange(60):02d}"

    def _purchase(self, day: dt.date, clock: str, fold: int = 0) -> None:
        merchant = _one_of(CARD, self._rng)
        statement = merchant.printed(self._rng)
        cents = self._rng.randint(merchant.least, merchant.most)
        unknown = self._is_unknown(day)
        category = UNCATEGORIZED_OUTFLOW if unknown else merchant.category
        part = cents * self._rng.randint(20, 45) // 100 if self._rng.randrange(14) == 0 else 0
        self._book.note(
            local(day, clock, fold=fold),
            statement if unknown else f"Card purchase, {statement}",
            Leg(category, cents - part, statement),
            Leg("packaging", part, "Bags and labels"),
            Leg("card", -cents, statement=statement, reviewed=not unknown, personal=merchant.personal),
        )

    def _single(self, day: dt.date, merchant: Merchant, account: str, *, paid: bool) -> None:
        statement = merchant.printed(self._rng)
        cents = self._rng.randint(merchant.least, merchant.most)
        unknown = self._is_unknown(day)
        suspense = UNCATEGORIZED_OUTFLOW if paid else UNCATEGORIZED_INFLOW
        sign = 1 if paid else -1
        self._book.note(
            local(day, self._clock()),
            statement,
            Leg(suspense if unknown else merchant.category, sign * cents, statement),
            Leg(account, -sign * cents, statement=statement, reviewed=not unknown),
        )

    def _is_unknown(self, day: dt.date) -> bool:
        return self._rng.randrange(100) < (76 if day >= _BEHIND_SINCE else 34)


def _one_of(merchants: Sequence[Merchant], rng: Random) -> Merchant:
    return rng.choices(merchants, weights=[merchant.weight for merchant in merchants])[0]
