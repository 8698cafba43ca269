"""Entries on fixed days: the opening balances, the new roaster, and payments such as rent, power and subscriptions."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.service.bookkeeping.post_entries import NewTag
from harbor_lane.accounts import OPENING_BALANCE
from harbor_lane.calendar import START_DATE, month_ends, monthly
from harbor_lane.daybook import Posting, local_time

if TYPE_CHECKING:
    from random import Random

    from harbor_lane.daybook import Daybook

ROASTER = NewTag("project", "new roaster")
DELIVERY = dt.date(2025, 5, 20)
SUMMER_2025 = (dt.date(2025, 7, 1), dt.date(2025, 10, 31))
_OPENING = {
    "operating": 68_240_18,
    "savings": 36_000_00,
    "processor": 2_310_44,
    "receivable": 11_480_00,
    "inventory": 22_600_00,
    "equipment": 48_000_00,
    "depreciated": -19_200_00,
    "card": -4_870_55,
    "payable": -8_640_00,
    "sales_tax": -3_905_12,
    "gift_cards": -2_750_00,
    "capital": -60_000_00,
}


class _Payment(NamedTuple):
    """A reviewed payment on some days, of `cents` or of a random amount up to `most`; a negative one is a receipt.

    In `statement`, ``MMDD`` stands for the day and ``#`` for the last digit of the month.
    """

    days: frozenset[dt.date]
    clock: str
    description: str
    account: str
    cents: int
    statement: str = ""
    source: str = "operating"
    most: int | None = None


_FIRST_RENTS = monthly(1, last=dt.date(2025, 12, 31))
_SUMMER_DRAWS = monthly(15, first=SUMMER_2025[0], last=SUMMER_2025[1])
_QUARTERS, _CHRISTMAS = monthly(8, months=range(1, 13, 3)), monthly(23, months=(12,))
_HEATING, _NO_HEATING = monthly(19, months=(12, 1, 2, 3)), monthly(19, months=range(4, 12))
_OLD, _NEW = month_ends(last=DELIVERY), month_ends(first=DELIVERY)
_LANDLORD, _POWER = "ACH DEBIT KENT AVE PROPERTIES LLC", "CON ED OF NY INTELL CK MMDD"
_TO_OWNER, _FROM_OWNER = "ONLINE TRANSFER TO CHK ...4471", "ONLINE TRANSFER FROM CHK ...4471"

PREMISES = (
    _Payment(_FIRST_RENTS, "07:40", "Rent", "rent", 7600_00, _LANDLORD),
    _Payment(monthly(1) - _FIRST_RENTS, "07:40", "Rent", "rent", 7900_00, _LANDLORD),
    _Payment(_HEATING, "07:40", "Gas and electricity", "utilities", 1440_00, _POWER, most=1670_00),
    _Payment(_NO_HEATING, "07:40", "Gas and electricity", "utilities", 800_00, _POWER, most=1030_00),
    _Payment(monthly(23), "07:40", "Internet and phone", "utilities", 189_95, "OPTIMUM 7811 718-860-3514"),
    _Payment(monthly(3), "02:14", "Web shop subscription", "software", 105_00, "SHOPIFY* 2#####77", "card"),
    _Payment(monthly(5), "02:14", "Mail and documents", "software", 86_40, "GOOGLE *GSUITE_harborl", "card"),
    _Payment(monthly(9), "02:14", "Chat", "software", 52_50, "SLACK T0?7KQ2 DUBLIN", "card"),
    _Payment(monthly(14), "02:14", "Bookkeeping", "software", 99_00, "INTUIT *QuickBooks Online", "card"),
    _Payment(monthly(17), "02:14", "Newsletter", "software", 150_00, "KLAVIYO INC. SOFTWARE", "card"),
    _Payment(monthly(22), "02:14", "Shift planning", "software", 76_99, "7SHIFTS.COM SCHEDULING", "card"),
    _Payment(_QUARTERS, "07:40", "Insurance for a quarter", "prepaid", 2940_00, "HARTFORD INS PREM PAYMENT"),
    _Payment(month_ends(), "22:30", "Insurance of the month", "insurance", 980_00, source="prepaid"),
    _Payment(_OLD, "22:30", "Depreciation of the month", "depreciation", 800_00, source="depreciated"),
    _Payment(_NEW, "22:30", "Depreciation of the month", "depreciation", 1590_00, source="depreciated"),
    _Payment(month_ends(), "07:40", "Account fees", "bank_fees", 15_00, "MONTHLY SERVICE FEE", most=45_00),
)
OTHER_PAYMENTS = (
    _Payment(monthly(2), "10:20", "Sidewalk permit", "taxes", 35_00, "NYC CONSUMER AFFAIRS FEE", "card", most=65_00),
    _Payment(monthly(6), "16:30", "Advance to an employee", "advances", 150_00, "ZELLE TO T NGUYEN"),
    _Payment(_SUMMER_DRAWS, "12:00", "Owner's draw", "draws", 2000_00, _TO_OWNER),
    _Payment(monthly(15) - _SUMMER_DRAWS, "12:00", "Owner's draw", "draws", 5200_00, _TO_OWNER),
    _Payment(frozenset({dt.date(2025, 10, 14)}), "09:00", "Owner puts money in", "capital", -5000_00, _FROM_OWNER),
    _Payment(month_ends(), "22:10", "Gift cards used", "gift_cards", 90_00, source="cafe_sales", most=210_00),
    _Payment(
        _CHRISTMAS, "20:00", "Gift cards sold for Christmas", "gift_cards", -3100_00, "STRIPE GIFT CARDS", "processor"
    ),
    _Payment(
        frozenset({dt.date(2026, 2, 18)}),
        "11:11",
        "Small business energy grant",
        "grants",
        -9500_00,
        "NYSERDA GRANT PAYMENT",
    ),
)


def payment_postings(account: str, cents: int, statement: str, source: str = "operating") -> tuple[Posting, ...]:
    """Return the postings of a reviewed payment from `source`, debit first; a negative payment is a receipt."""
    postings = Posting(account, cents), Posting(source, -cents, statement=statement, reviewed=True)
    return postings if cents > 0 else postings[::-1]


class FixedPayments:
    """Payments of a table, each on its days."""

    def __init__(self, book: Daybook, rng: Random, payments: tuple[_Payment, ...]) -> None:
        self._book, self._rng, self._payments = book, rng, payments

    def add_day(self, day: dt.date) -> None:
        """Add all payments of one day."""
        for payment in self._payments:
            if day in payment.days:
                cents = payment.cents if payment.most is None else self._rng.randint(payment.cents, payment.most)
                statement = payment.statement.replace("MMDD", f"{day:%m%d}").replace("#", str(day.month % 10))
                postings = payment_postings(payment.account, cents, statement, payment.source)
                self._book.add(local_time(day, payment.clock), payment.description, *postings)


def add_single_entries(book: Daybook) -> None:
    """Add entries that no table fits: opening balances, the purchase of the roaster, advances paid back."""
    book.add(
        local_time(START_DATE, "00:00"),
        "Opening balances",
        *(Posting(account, cents, statement="OPENING BALANCE", reviewed=True) for account, cents in _OPENING.items()),
        Posting(OPENING_BALANCE, -sum(_OPENING.values())),
    )
    book.add(
        local_time(dt.date(2025, 1, 16), "09:15"),
        "Payment of last year's wholesale invoices",
        Posting("operating", 11_480_00, statement="ACH CREDIT WHOLESALE LOCKBOX"),
        Posting("receivable", -11_480_00),
    )
    book.add(
        local_time(dt.date(2025, 4, 14), "14:20"),
        "Deposit for the new roaster",
        Posting("deposits", 19_000_00, tags=(ROASTER,)),
        Posting("operating", -19_000_00, statement="WIRE OUT LORING SMART ROAST", tags=(ROASTER,), reviewed=True),
    )
    book.add(
        local_time(DELIVERY, "14:20"),
        "New roaster delivered, the rest financed",
        Posting("equipment", 95_000_00, tags=(ROASTER,)),
        Posting("deposits", -19_000_00, tags=(ROASTER,)),
        Posting("loan", -76_000_00, tags=(ROASTER,)),
    )
    for day in monthly(24):
        book.add(
            local_time(day, "16:30"),
            "Advance paid back",
            Posting("advances", -150_00),
            Posting("operating", 150_00, statement="ZELLE FROM T NGUYEN", reviewed=True),
        )
