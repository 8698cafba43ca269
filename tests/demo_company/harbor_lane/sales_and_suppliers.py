"""Sales and purchases of goods: cafe, web shop, wholesale, the payments processor, and suppliers."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING

from accounting_analytics.service.bookkeeping.post_entries import NewTag
from harbor_lane.calendar import END_DATE, is_month_end, is_weekday, next_weekday, sales_percent
from harbor_lane.daybook import Posting, local_time

if TYPE_CHECKING:
    from random import Random

    from harbor_lane.daybook import Daybook

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
_LATE_INVOICES = (dt.date(2025, 5, 25), dt.date(2025, 9, 30))
_LATE_PAYMENT_DATE = dt.date(2025, 11, 7)
_INVOICE_DAY = 4
_BAD_DEBT = ("Cobble Hill Books", dt.date(2026, 2, 4))


class RetailSales:
    """Cafe and web shop: daily sales into the processor, refunds, and the processor's payouts."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng

    def add_day(self, day: dt.date) -> None:
        """Add the sales of one day, after the payout of the balance of the morning."""
        if is_weekday(day):
            self._add_payout(day)
        if day.isoweekday() != _CLOSED and (day.month, day.day) not in {(1, 1), (12, 25)}:
            self._add_cafe_sales(day)
        self._add_online_sales(day)
        if self._rng.randrange(9) == 0:
            self._add_refund(day)

    def _add_cafe_sales(self, day: dt.date) -> None:
        weekend = 135 if day.isoweekday() in _WEEKEND else 100
        net = 1540_00 * sales_percent(day) * weekend * self._rng.randint(86, 114) // 100**3
        tax = net * _SALES_TAX[0] // _SALES_TAX[1]
        self._book.add(
            local_time(day, f"17:{self._rng.randrange(2, 25):02d}"),
            "Cafe sales of the day",
            Posting("processor", net + tax, statement=f"STRIPE TERMINAL BATCH {day:%m%d}", tags=(CAFE,), reviewed=True),
            Posting("cafe_sales", -net, tags=(CAFE,)),
            Posting("sales_tax", -tax),
        )

    def _add_online_sales(self, day: dt.date) -> None:
        amount = 560_00 * sales_percent(day) * self._rng.randint(70, 130) // 100**2
        clock = "23:59:59" if is_month_end(day) else f"23:{self._rng.randrange(35, 60):02d}"
        self._book.add(
            local_time(day, clock),
            "Web shop orders of the day",
            Posting("processor", amount, statement=f"STRIPE ONLINE {day:%m%d}", tags=(ONLINE,), reviewed=True),
            Posting("online_sales", -amount, tags=(ONLINE,)),
        )

    def _add_refund(self, day: dt.date) -> None:
        amount = self._rng.randint(1400, 7800)
        self._book.add(
            local_time(day, "15:10"),
            "Refund to a web shop customer",
            Posting("returns", amount, tags=(ONLINE,)),
            Posting("processor", -amount, statement="STRIPE REFUND", tags=(ONLINE,), reviewed=True),
        )

    def _add_payout(self, day: dt.date) -> None:
        gross = self._book.balances["processor"]
        if gross <= 0:
            return
        fee = gross * _FEE[0] // _FEE[1]
        self._book.add(
            local_time(day, "04:30"),
            "Payout of card payments",
            Posting("operating", gross - fee, statement=f"STRIPE TRANSFER ST-{day:%y%m%d}", reviewed=True),
            Posting("processing", fee, "Processing fees withheld"),
            Posting("processor", -gross, statement=f"PAYOUT {day:%y%m%d}", reviewed=True),
        )


class Wholesale:
    """Invoices to wholesale customers, and their payments; one pays its summer invoices months late."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng
        self._due: defaultdict[dt.date, list[tuple[str, int, int]]] = defaultdict(list)
        self._number = 1000

    def add_day(self, day: dt.date) -> None:
        """Add invoices and payments of one day."""
        if day.day == _INVOICE_DAY:
            for customer, average in _CUSTOMERS:
                self._add_invoice(day, customer, average)
        for customer, number, amount in self._due.pop(day, ()):
            self._settle_invoice(day, customer, number, amount)

    def _add_invoice(self, day: dt.date, customer: str, average: int) -> None:
        self._number += 1
        amount = average * sales_percent(day) * self._rng.randint(82, 118) // 100**2
        self._book.add(
            local_time(day, "10:00"),
            f"Invoice {self._number} to {customer}",
            Posting("receivable", amount, tags=(WHOLESALE,)),
            Posting("wholesale_sales", -amount, tags=(WHOLESALE,)),
        )
        late = customer == _LATE_PAYER and _LATE_INVOICES[0] <= day <= _LATE_INVOICES[1]
        paid_on = _LATE_PAYMENT_DATE if late else next_weekday(day + dt.timedelta(days=self._rng.randint(18, 44)))
        if (customer, day) == _BAD_DEBT:
            paid_on = END_DATE
        self._due[paid_on].append((customer, self._number, amount))

    def _settle_invoice(self, day: dt.date, customer: str, number: int, amount: int) -> None:
        if day == END_DATE and customer == _BAD_DEBT[0]:
            self._book.add(
                local_time(day, "18:00"),
                f"Invoice {number} of {customer} written off",
                Posting("bad_debts", amount),
                Posting("receivable", -amount),
            )
            return
        self._book.add(
            local_time(day, "09:15"),
            f"Payment of invoice {number} by {customer}",
            Posting("operating", amount, statement=f"ACH CREDIT {customer.upper()} INV{number}", tags=(WHOLESALE,)),
            Posting("receivable", -amount, tags=(WHOLESALE,)),
        )


class Suppliers:
    """Green coffee and packaging on account, paid a month later; at month end, coffee sold leaves the inventory."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng
        self._due: defaultdict[dt.date, list[tuple[str, int]]] = defaultdict(list)
        self._opening_due = dt.date(2025, 1, 21)

    def add_day(self, day: dt.date) -> None:
        """Add bills and payments of one day."""
        if day.day in _COFFEE_DAYS:
            ahead = sales_percent(min(day + dt.timedelta(days=30), END_DATE))
            self._add_bill(day, "Royal Green Importers", "inventory", 5350_00 * ahead // 100)
        if day.day == 11:
            self._add_bill(day, "Savor Brands Packaging", "packaging", 1900_00 * sales_percent(day) // 100)
        if day == self._opening_due:
            self._pay_bill(day, "Royal Green Importers", 8640_00)
        for supplier, amount in self._due.pop(day, ()):
            self._pay_bill(day, supplier, amount)
        if is_month_end(day):
            used = min(20_900_00 * sales_percent(day) // 100, self._book.balances["inventory"] * 9 // 10)
            self._book.add(
                local_time(day, "22:00"), "Coffee sold this month", Posting("coffee", used), Posting("inventory", -used)
            )

    def _add_bill(self, day: dt.date, supplier: str, account: str, average: int) -> None:
        amount = average * self._rng.randint(88, 112) // 100
        self._book.add(
            local_time(day, "11:30"),
            f"Bill of {supplier}",
            Posting(account, amount),
            Posting("payable", -amount, supplier),
        )
        self._due[next_weekday(day + dt.timedelta(days=30))].append((supplier, amount))

    def _pay_bill(self, day: dt.date, supplier: str, amount: int) -> None:
        self._book.add(
            local_time(day, "13:00"),
            f"Bill paid to {supplier}",
            Posting("payable", amount, supplier),
            Posting("operating", -amount, statement=f"ACH DEBIT {supplier.upper()} {day:%m%d}", reviewed=True),
        )
