"""What the demo company sells and buys: cafe, web shop, wholesale, its payments processor and its suppliers."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING

from accounting_analytics.demo_company.calendar import END_DATE, is_month_end, is_weekday, next_weekday, trade_percent
from accounting_analytics.demo_company.daybook import Leg, local
from accounting_analytics.service.bookkeeping.new_entries import NewTag

if TYPE_CHECKING:
    from random import Random

    from accounting_analytics.demo_company.daybook import Daybook

CAFE, ONLINE, WHOLESALE = (NewTag("channel", name) for name in ("cafe", "online", "wholesale"))
_SALES_TAX = (8875, 100_000)
_FEE = (29, 1000)
_CLOSED = 2  # Tuesday
_WEEKEND = (6, 7)
_COFFEE_DAYS = range(3, 32, 9)
_CUSTOMERS = (
    ("Northside Grocers", 4700_00),
    ("Greenpoint Kitchen", 1900_00),
    ("Hotel Wythe Bar", 3150_00),
    ("Cobble Hill Books", 1040_00),
    ("Red Hook Bakery", 2150_00),
    ("Dumbo Co-Working", 2500_00),
    ("Fort Greene Deli", 1320_00),
)
_LATE_PAYER = "Northside Grocers"
_PAYS_LATE = (dt.date(2025, 5, 25), dt.date(2025, 9, 30))
_PAYS_ALL_ON = dt.date(2025, 11, 7)
_INVOICE_DAY = 4
_BAD_DEBT = ("Cobble Hill Books", dt.date(2026, 2, 4))


class Counter:
    """Cafe and web shop: daily sales into the processor, refunds, and the processor's payouts."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng

    def day(self, day: dt.date) -> None:
        """Trade of one day; the payout of what was there in the morning comes first."""
        if is_weekday(day):
            self._payout(day)
        if day.isoweekday() != _CLOSED and (day.month, day.day) not in {(1, 1), (12, 25)}:
            self._cafe(day)
        self._online(day)
        if self._rng.randrange(9) == 0:
            self._refund(day)

    def _cafe(self, day: dt.date) -> None:
        weekend = 135 if day.isoweekday() in _WEEKEND else 100
        net = 1540_00 * trade_percent(day) * weekend * self._rng.randint(86, 114) // 100**3
        tax = net * _SALES_TAX[0] // _SALES_TAX[1]
        self._book.note(
            local(day, f"17:{self._rng.randrange(2, 25):02d}"),
            "Cafe sales of the day",
            Leg("processor", net + tax, statement=f"STRIPE TERMINAL BATCH {day:%m%d}", tags=(CAFE,), reviewed=True),
            Leg("cafe_sales", -net, tags=(CAFE,)),
            Leg("sales_tax", -tax),
        )

    def _online(self, day: dt.date) -> None:
        amount = 560_00 * trade_percent(day) * self._rng.randint(70, 130) // 100**2
        clock = "23:59:59" if is_month_end(day) else f"23:{self._rng.randrange(35, 60):02d}"
        self._book.note(
            local(day, clock),
            "Web shop orders of the day",
            Leg("processor", amount, statement=f"STRIPE ONLINE {day:%m%d}", tags=(ONLINE,), reviewed=True),
            Leg("online_sales", -amount, tags=(ONLINE,)),
        )

    def _refund(self, day: dt.date) -> None:
        amount = self._rng.randint(1400, 7800)
        self._book.note(
            local(day, "15:10"),
            "Refund to a web shop customer",
            Leg("returns", amount, tags=(ONLINE,)),
            Leg("processor", -amount, statement="STRIPE REFUND", tags=(ONLINE,), reviewed=True),
        )

    def _payout(self, day: dt.date) -> None:
        gross = self._book.balances["processor"]
        if gross <= 0:
            return
        fee = gross * _FEE[0] // _FEE[1]
        self._book.note(
            local(day, "04:30"),
            "Payout of card payments",
            Leg("operating", gross - fee, statement=f"STRIPE TRANSFER ST-{day:%y%m%d}", reviewed=True),
            Leg("processing", fee, "Processing fees withheld"),
            Leg("processor", -gross, statement=f"PAYOUT {day:%y%m%d}", reviewed=True),
        )


class Wholesale:
    """Invoices to wholesale customers, and their payments; one pays a summer's invoices months late."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng
        self._due: defaultdict[dt.date, list[tuple[str, int, int]]] = defaultdict(list)
        self._number = 1000

    def day(self, day: dt.date) -> None:
        """Invoices and payments of one day."""
        if day.day == _INVOICE_DAY:
            for customer, usual in _CUSTOMERS:
                self._invoice(day, customer, usual)
        for customer, number, amount in self._due.pop(day, ()):
            self._settle(day, customer, number, amount)

    def _invoice(self, day: dt.date, customer: str, usual: int) -> None:
        self._number += 1
        amount = usual * trade_percent(day) * self._rng.randint(82, 118) // 100**2
        self._book.note(
            local(day, "10:00"),
            f"Invoice {self._number} to {customer}",
            Leg("receivable", amount, tags=(WHOLESALE,)),
            Leg("wholesale_sales", -amount, tags=(WHOLESALE,)),
        )
        late = customer == _LATE_PAYER and _PAYS_LATE[0] <= day <= _PAYS_LATE[1]
        paid_on = _PAYS_ALL_ON if late else next_weekday(day + dt.timedelta(days=self._rng.randint(18, 44)))
        if (customer, day) == _BAD_DEBT:
            paid_on = END_DATE
        self._due[paid_on].append((customer, self._number, amount))

    def _settle(self, day: dt.date, customer: str, number: int, amount: int) -> None:
        if day == END_DATE and customer == _BAD_DEBT[0]:
            self._book.note(
                local(day, "18:00"),
                f"Invoice {number} of {customer} written off",
                Leg("bad_debts", amount),
                Leg("receivable", -amount),
            )
            return
        self._book.note(
            local(day, "09:15"),
            f"Payment of invoice {number} by {customer}",
            Leg("operating", amount, statement=f"ACH CREDIT {customer.upper()} INV{number}", tags=(WHOLESALE,)),
            Leg("receivable", -amount, tags=(WHOLESALE,)),
        )


class Suppliers:
    """Green coffee and packaging on account, paid a month later; what is sold leaves the inventory at month end."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng
        self._due: defaultdict[dt.date, list[tuple[str, int]]] = defaultdict(list)
        self._opening_due = dt.date(2025, 1, 21)

    def day(self, day: dt.date) -> None:
        """Bills and payments of one day."""
        if day.day in _COFFEE_DAYS:
            ahead = trade_percent(min(day + dt.timedelta(days=30), END_DATE))
            self._bill(day, "Royal Green Importers", "inventory", 5350_00 * ahead // 100)
        if day.day == 11:  # noqa: PLR2004 (a day of the month)
            self._bill(day, "Savor Brands Packaging", "packaging", 1900_00 * trade_percent(day) // 100)
        if day == self._opening_due:
            self._pay(day, "Royal Green Importers", 8640_00)
        for supplier, amount in self._due.pop(day, ()):
            self._pay(day, supplier, amount)
        if is_month_end(day):
            used = min(20_900_00 * trade_percent(day) // 100, self._book.balances["inventory"] * 9 // 10)
            self._book.note(local(day, "22:00"), "Coffee sold this month", Leg("coffee", used), Leg("inventory", -used))

    def _bill(self, day: dt.date, supplier: str, account: str, usual: int) -> None:
        amount = usual * self._rng.randint(88, 112) // 100
        self._book.note(
            local(day, "11:30"), f"Bill of {supplier}", Leg(account, amount), Leg("payable", -amount, supplier)
        )
        self._due[next_weekday(day + dt.timedelta(days=30))].append((supplier, amount))

    def _pay(self, day: dt.date, supplier: str, amount: int) -> None:
        self._book.note(
            local(day, "13:00"),
            f"Bill paid to {supplier}",
            Leg("payable", amount, supplier),
            Leg("operating", -amount, statement=f"ACH DEBIT {supplier.upper()} {day:%m%d}", reviewed=True),
        )
