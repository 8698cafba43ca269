"""Card purchases, checks and deposits at irregular times, many of them uncategorized."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from harbor_lane.accounts import UNCATEGORIZED_INFLOW, UNCATEGORIZED_OUTFLOW
from harbor_lane.calendar import is_weekday
from harbor_lane.daybook import Posting, local_time
from harbor_lane.merchants import ACCOUNT_PAYMENTS, ACCOUNT_RECEIPTS, CARD, CARD_REFUNDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from harbor_lane.daybook import Daybook
    from harbor_lane.merchants import Merchant

_PURCHASES_PER_DAY = (0, 1, 1, 1, 2, 3)
_BACKLOG_START = dt.date(2026, 4, 1)
_CLOCK_CHANGES = (
    (dt.date(2025, 3, 9), "01:59:59", 0),
    (dt.date(2025, 3, 9), "03:00", 0),
    (dt.date(2025, 11, 2), "01:30", 0),
    (dt.date(2025, 11, 2), "01:30", 1),
    (dt.date(2026, 3, 8), "01:59:59", 0),
    (dt.date(2026, 3, 8), "03:00", 0),
)
"""Times around the hours that clocks in New York skip or repeat."""


class IrregularTransactions:
    """Purchases, payments and receipts; from April 2026 on, most are uncategorized."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng

    def add_day(self, day: dt.date) -> None:
        """Add all transactions of one day."""
        for _ in range(self._rng.choice(_PURCHASES_PER_DAY)):
            self._purchase(day, self._clock())
        if is_weekday(day) and self._rng.randrange(6) == 0:
            self._transact(day, _choose(ACCOUNT_PAYMENTS, self._rng), "operating", paid=True)
        if is_weekday(day) and self._rng.randrange(9) == 0:
            self._transact(day, _choose(ACCOUNT_RECEIPTS, self._rng), "operating", paid=False)
        if self._rng.randrange(30) == 0:
            self._transact(day, _choose(CARD_REFUNDS, self._rng), "card", paid=False)
        for change, clock, fold in _CLOCK_CHANGES:
            if day == change:
                self._purchase(day, clock, fold)

    def _clock(self) -> str:
        """Time of day, sometimes within a minute of midnight."""
        if self._rng.randrange(25) == 0:
            return self._rng.choice(("00:00", "00:00:30", "23:59:30", "23:59:59"))
        return f"{self._rng.randint(7, 21):02d}:{self._rng.randrange(60):02d}"

    def _purchase(self, day: dt.date, clock: str, fold: int = 0) -> None:
        merchant = _choose(CARD, self._rng)
        statement = merchant.statement_text(self._rng)
        cents = self._rng.randint(merchant.least, merchant.most)
        is_uncategorized = self._is_uncategorized(day)
        category = UNCATEGORIZED_OUTFLOW if is_uncategorized else merchant.category
        part = cents * self._rng.randint(20, 45) // 100 if self._rng.randrange(14) == 0 else 0
        self._book.add(
            local_time(day, clock, fold=fold),
            statement if is_uncategorized else f"Card purchase, {statement}",
            Posting(category, cents - part, statement),
            Posting("packaging", part, "Bags and labels"),
            Posting("card", -cents, statement=statement, reviewed=not is_uncategorized, personal=merchant.personal),
        )

    def _transact(self, day: dt.date, merchant: Merchant, account: str, *, paid: bool) -> None:
        statement = merchant.statement_text(self._rng)
        cents = self._rng.randint(merchant.least, merchant.most)
        is_uncategorized = self._is_uncategorized(day)
        suspense = UNCATEGORIZED_OUTFLOW if paid else UNCATEGORIZED_INFLOW
        sign = 1 if paid else -1
        self._book.add(
            local_time(day, self._clock()),
            statement,
            Posting(suspense if is_uncategorized else merchant.category, sign * cents, statement),
            Posting(account, -sign * cents, statement=statement, reviewed=not is_uncategorized),
        )

    def _is_uncategorized(self, day: dt.date) -> bool:
        return self._rng.randrange(100) < (76 if day >= _BACKLOG_START else 34)


def _choose(merchants: Sequence[Merchant], rng: Random) -> Merchant:
    return rng.choices(merchants, weights=[merchant.weight for merchant in merchants])[0]
