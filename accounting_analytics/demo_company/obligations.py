"""What the demo company owes on fixed days: payroll, premises, taxes, loan, card, owner, and its reserves."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from accounting_analytics.demo_company.calendar import END_DATE, is_month_end, next_weekday, trade_percent
from accounting_analytics.demo_company.chart import OPENING_BALANCE, TRANSFERS
from accounting_analytics.demo_company.daybook import Leg, local
from accounting_analytics.service.bookkeeping.new_entries import NewTag

if TYPE_CHECKING:
    from random import Random

    from accounting_analytics.demo_company.daybook import Daybook

ROASTER = NewTag("project", "new roaster")
_DELIVERY = dt.date(2025, 5, 20)
_LOAN_DAY = 20
_ADVANCE_DAYS = (6, 24)
_FIRST_PAYDAY = dt.date(2025, 1, 10)
_SUMMER_2025 = (dt.date(2025, 7, 1), dt.date(2025, 10, 31))
_TAX_DAYS = frozenset({(3, 20), (6, 20), (9, 20), (12, 20)})
_SUBSCRIPTIONS = (
    (3, "SHOPIFY* 2#####77", "Web shop subscription", 105_00),
    (5, "GOOGLE *GSUITE_harborl", "Mail and documents", 86_40),
    (9, "SLACK T0?7KQ2 DUBLIN", "Chat", 52_50),
    (14, "INTUIT *QuickBooks Online", "Bookkeeping", 99_00),
    (17, "KLAVIYO INC. SOFTWARE", "Newsletter", 150_00),
    (22, "7SHIFTS.COM SCHEDULING", "Shift planning", 76_99),
)
_RESERVES = {
    **{dt.date(2025, month, 26): 2500_00 for month in range(1, 5)},
    dt.date(2025, 7, 15): -8000_00,
    dt.date(2025, 8, 12): -16_000_00,
    dt.date(2025, 9, 9): -16_000_00,
    dt.date(2025, 10, 7): -6000_00,
    dt.date(2025, 12, 22): 12_000_00,
    dt.date(2026, 1, 20): 8000_00,
    **{dt.date(2026, month, 26): 3500_00 for month in range(3, 7)},
}
"""Moved to the savings account, by day; negative: taken back."""


class Opening:
    """Balances that the books open with."""

    def __init__(self, book: Daybook) -> None:
        self._book = book

    def day(self, day: dt.date) -> None:
        """Open the books on the first day."""
        if day != dt.date(2025, 1, 1):
            return
        balances = {
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
        self._book.note(
            local(day, "00:00"),
            "Opening balances",
            *(Leg(account, cents, statement="OPENING BALANCE", reviewed=True) for account, cents in balances.items()),
            Leg(OPENING_BALANCE, -sum(balances.values())),
        )
        self._book.note(
            local(dt.date(2025, 1, 16), "09:15"),
            "Payment of last year's wholesale invoices",
            Leg("operating", 11_480_00, statement="ACH CREDIT WHOLESALE LOCKBOX"),
            Leg("receivable", -11_480_00),
        )


class Payroll:
    """Wages every second Friday, with what is withheld, and its remittance the week after."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng

    def day(self, day: dt.date) -> None:
        """Payday, remittance of taxes, or payment of benefits."""
        if (day - _FIRST_PAYDAY).days % 14 == 0 and day >= _FIRST_PAYDAY:
            self._pay(day)
        if (day - _FIRST_PAYDAY).days % 14 == 5 and day > _FIRST_PAYDAY:  # noqa: PLR2004 (the Wednesday after)
            self._remit(day, "payroll_tax", "Payroll taxes remitted", f"IRS USATAXPYMT {day:%y%m%d}")
        if day == next_weekday(day.replace(day=27)):
            self._remit(day, "benefits", "Health plan premium", "ACH DEBIT OSCAR HEALTH PLAN")

    def _pay(self, day: dt.date) -> None:
        staff = 100 + max(0, trade_percent(day) - 100) // 3
        gross = 12_250_00 * staff * self._rng.randint(97, 103) // 100**2
        federal, social, state, benefits = gross * 11 // 100, gross * 765 // 10_000, gross * 45 // 1000, 412_50
        self._book.note(
            local(day, "06:00"),
            "Payroll",
            Leg("wages", gross),
            Leg("payroll_tax", -federal, "Federal income tax withheld"),
            Leg("payroll_tax", -social, "Social security and Medicare withheld"),
            Leg("payroll_tax", -state, "State income tax withheld"),
            Leg("benefits", -benefits, "Employees' share of the health plan"),
            Leg(
                "operating",
                -(gross - federal - social - state - benefits),
                statement="GUSTO PAYROLL NET",
                reviewed=True,
            ),
        )
        self._book.note(
            local(day, "06:00"),
            "Employer's payroll taxes",
            Leg("employer_tax", gross * 765 // 10_000),
            Leg("payroll_tax", -(gross * 765 // 10_000)),
        )

    def _remit(self, day: dt.date, account: str, description: str, statement: str) -> None:
        owed = -self._book.balances[account]
        if owed > 0:
            self._book.note(
                local(day, "08:00"),
                description,
                Leg(account, owed),
                Leg("operating", -owed, statement=statement, reviewed=True),
            )


class SmallChange:
    """Advances to employees, gift cards used, a permit, and what the owner puts in when cash is short."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng

    def day(self, day: dt.date) -> None:
        """Everything of one day."""
        if day.day in _ADVANCE_DAYS:
            given = 150_00 if day.day == _ADVANCE_DAYS[0] else -150_00
            self._book.note(
                local(day, "16:30"),
                "Advance to an employee" if given > 0 else "Advance paid back",
                Leg("advances", given),
                Leg("operating", -given, statement=f"ZELLE {'TO' if given > 0 else 'FROM'} T NGUYEN", reviewed=True),
            )
        if day.day == 2:  # noqa: PLR2004 (a day of the month)
            fee = self._rng.randint(3500, 6500)
            self._book.note(
                local(day, "10:20"),
                "Sidewalk permit",
                Leg("taxes", fee),
                Leg("card", -fee, statement="NYC CONSUMER AFFAIRS FEE", reviewed=True),
            )
        if is_month_end(day):
            used = self._rng.randint(9000, 21_000)
            self._book.note(local(day, "22:10"), "Gift cards used", Leg("gift_cards", used), Leg("cafe_sales", -used))
        if (day.month, day.day) == (12, 23):
            self._book.note(
                local(day, "20:00"),
                "Gift cards sold for Christmas",
                Leg("processor", 3100_00, statement="STRIPE GIFT CARDS", reviewed=True),
                Leg("gift_cards", -3100_00),
            )
        if day == dt.date(2025, 10, 14):
            self._book.note(
                local(day, "09:00"),
                "Owner puts money in",
                Leg("operating", 5000_00, statement="ONLINE TRANSFER FROM CHK ...4471", reviewed=True),
                Leg("capital", -5000_00),
            )


class Premises:
    """Rent, utilities, subscriptions, insurance and depreciation."""

    def __init__(self, book: Daybook, rng: Random) -> None:
        self._book, self._rng = book, rng

    def day(self, day: dt.date) -> None:
        """Everything due on one day."""
        if day.day == 1:
            rent = 7600_00 if day < dt.date(2026, 1, 1) else 7900_00
            self._pay(day, "Rent", "rent", rent, "ACH DEBIT KENT AVE PROPERTIES LLC")
        if day.day == 19:  # noqa: PLR2004 (a day of the month)
            heating = 640_00 if day.month in {12, 1, 2, 3} else 0
            power = 890_00 + heating + self._rng.randint(-9000, 14_000)
            self._pay(day, "Gas and electricity", "utilities", power, f"CON ED OF NY INTELL CK {day:%m%d}")
        if day.day == 23:  # noqa: PLR2004 (a day of the month)
            self._pay(day, "Internet and phone", "utilities", 189_95, "OPTIMUM 7811 718-860-3514")
        for due, statement, what, amount in _SUBSCRIPTIONS:
            if day.day == due:
                self._book.note(
                    local(day, "02:14"),
                    what,
                    Leg("software", amount),
                    Leg("card", -amount, statement=statement.replace("#", str(day.month % 10)), reviewed=True),
                )
        if day.month % 3 == 1 and day.day == 8:  # noqa: PLR2004 (a day of the month)
            self._pay(day, "Insurance for a quarter", "prepaid", 2940_00, "HARTFORD INS PREM PAYMENT")
        if is_month_end(day):
            self._close_month(day)

    def _close_month(self, day: dt.date) -> None:
        moment = local(day, "22:30")
        self._book.note(moment, "Insurance of the month", Leg("insurance", 980_00), Leg("prepaid", -980_00))
        depreciation = 800_00 if day < _DELIVERY else 1590_00
        self._book.note(
            moment, "Depreciation of the month", Leg("depreciation", depreciation), Leg("depreciated", -depreciation)
        )
        fee = self._rng.randint(1500, 4500)
        self._pay(day, "Account fees", "bank_fees", fee, "MONTHLY SERVICE FEE")

    def _pay(self, day: dt.date, description: str, account: str, cents: int, statement: str) -> None:
        self._book.note(
            local(day, "07:40"),
            description,
            Leg(account, cents),
            Leg("operating", -cents, statement=statement, reviewed=True),
        )


class Finance:
    """Roaster and its loan, sales tax, card payments, owner, savings, a grant."""

    def __init__(self, book: Daybook) -> None:
        self._book = book

    def day(self, day: dt.date) -> None:
        """Everything due on one day."""
        self._roaster(day)
        if day.day == _LOAN_DAY and day > _DELIVERY:
            self._repay_loan(day)
        if (day.month, day.day) in _TAX_DAYS:
            self._pay_sales_tax(day)
        if day.day == 12:  # noqa: PLR2004 (a day of the month)
            self._pay_card(day)
        if day.day == 15:  # noqa: PLR2004 (a day of the month)
            self._draw(day)
        if day in _RESERVES:
            self._transfer(day, _RESERVES[day])
        if is_month_end(day):
            self._interest(day)
        if day == dt.date(2026, 2, 18):
            self._grant(day)

    def _roaster(self, day: dt.date) -> None:
        if day == dt.date(2025, 4, 14):
            self._book.note(
                local(day, "14:20"),
                "Deposit for the new roaster",
                Leg("deposits", 19_000_00, tags=(ROASTER,)),
                Leg("operating", -19_000_00, statement="WIRE OUT LORING SMART ROAST", tags=(ROASTER,), reviewed=True),
            )
        if day == _DELIVERY:
            self._book.note(
                local(day, "14:20"),
                "New roaster delivered, the rest financed",
                Leg("equipment", 95_000_00, tags=(ROASTER,)),
                Leg("deposits", -19_000_00, tags=(ROASTER,)),
                Leg("loan", -76_000_00, tags=(ROASTER,)),
            )

    def _repay_loan(self, day: dt.date) -> None:
        interest = -self._book.balances["loan"] * 7 // 1000
        self._book.note(
            local(day, "05:00"),
            "Loan payment",
            Leg("loan", 1556_00 - interest, "Principal", tags=(ROASTER,)),
            Leg("interest", interest, "Interest", tags=(ROASTER,)),
            Leg("operating", -1556_00, statement="LOAN PMT FIRST BKLYN 0098", reviewed=True),
        )

    def _pay_sales_tax(self, day: dt.date) -> None:
        owed = -self._book.balances["sales_tax"]
        self._book.note(
            local(day, "16:00"),
            "Sales tax of the quarter",
            Leg("sales_tax", owed),
            Leg("operating", -owed, statement="NYS DTF SALES TAX PAYMNT", reviewed=True),
        )

    def _pay_card(self, day: dt.date) -> None:
        owed = -self._book.balances["card"]
        short_of_cash = _SUMMER_2025[0] <= day <= _SUMMER_2025[1]
        paid = owed * 45 // 100 if short_of_cash else owed
        self._book.note(
            local(day, "23:30"),
            "Card payment",
            Leg("card", paid, statement="PAYMENT THANK YOU-MOBILE", reviewed=True),
            Leg("operating", -paid, statement="CHASE CREDIT CRD AUTOPAY", reviewed=True),
        )
        if short_of_cash:
            charge = (owed - paid) * 19 // 1000
            self._book.note(
                local(day, "23:45"),
                "Card interest",
                Leg("interest", charge),
                Leg("card", -charge, statement="PURCHASE INTEREST CHARGE", reviewed=True),
            )

    def _draw(self, day: dt.date) -> None:
        amount = 2000_00 if _SUMMER_2025[0] <= day <= _SUMMER_2025[1] else 5200_00
        self._book.note(
            local(day, "12:00"),
            "Owner's draw",
            Leg("draws", amount),
            Leg("operating", -amount, statement="ONLINE TRANSFER TO CHK ...4471", reviewed=True),
        )

    def _transfer(self, day: dt.date, cents: int) -> None:
        """Money under way for a day or two stands on the transfers ledger."""
        first, second = ("operating", "savings") if cents > 0 else ("savings", "operating")
        arrives = min(next_weekday(day + dt.timedelta(days=1)), END_DATE)
        self._book.note(
            local(day, "18:20"),
            "Transfer between own accounts",
            Leg(TRANSFERS, abs(cents)),
            Leg(first, -abs(cents), statement=f"ONLINE XFER TO {second.upper()}", reviewed=True),
        )
        self._book.note(
            local(arrives, "03:05"),
            "Transfer between own accounts",
            Leg(second, abs(cents), statement=f"ONLINE XFER FROM {first.upper()}", reviewed=True),
            Leg(TRANSFERS, -abs(cents)),
        )

    def _interest(self, day: dt.date) -> None:
        earned = self._book.balances["savings"] * 3 // 1000
        self._book.note(
            local(day, "23:58"),
            "Interest on savings",
            Leg("savings", earned, statement="INTEREST PAYMENT", reviewed=True),
            Leg("interest_income", -earned),
        )

    def _grant(self, day: dt.date) -> None:
        self._book.note(
            local(day, "11:11"),
            "Small business energy grant",
            Leg("operating", 9500_00, statement="NYSERDA GRANT PAYMENT", reviewed=True),
            Leg("grants", -9500_00),
        )
