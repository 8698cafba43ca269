"""Payments of three companies over three years, from a seed each: seasonal, growing and lumpy.

Each has payments with a rhythm (rent, wages, taxes, loans, insurance, subscriptions), which weekends move, and as much
without one. ``payment_frames.py`` makes line entries of them, and ``outlook.py`` looks ahead on them.
"""

import calendar
import datetime as dt
import math
import runpy
from decimal import Decimal
from pathlib import Path
from random import Random

PAYMENT = runpy.run_path(str(Path(__file__).with_name("noisy_books.py")))["Payment"]
FIRST, LAST = dt.date(2023, 7, 1), dt.date(2026, 6, 30)
SEEDS = {"seasonal": 21, "growing": 22, "lumpy": 23}
"""The books that the benchmark is about; what is tuned is tuned on books of other seeds."""
DAY = dt.timedelta(days=1)


class Company:
    """Payments of a company, as they are made."""

    def __init__(self, seed):
        self.random = Random(seed)  # noqa: S311 (books, not secrets)
        self.payments = []

    def pay(self, day, amount, payee, category):
        """Add a payment; positive amounts come in."""
        exact = Decimal(round(amount * 100)) / 100
        if exact and FIRST <= day <= LAST:
            self.payments.append(PAYMENT(day, "checking", exact, payee, payee, "plain", category, category))

    def on_workday(self, day):
        """Return the day, or the Monday after a weekend."""
        return day + max(0, 7 - day.weekday()) * DAY if day.weekday() > 4 else day

    def monthly(self, number, amount, payee, category, *, every=1, noise=0.0):
        """Pay on a day of every so many months; `amount` may depend on the day."""
        for month in range(FIRST.year * 12 + FIRST.month - 1, LAST.year * 12 + LAST.month, every):
            year, position = divmod(month, 12)
            due = dt.date(year, position + 1, min(number, calendar.monthrange(year, position + 1)[1]))
            size = amount(due) if callable(amount) else amount
            self.pay(self.on_workday(due), size * self.around(noise), payee, category)

    def fortnightly(self, amount, payee, category, *, noise=0.0):
        day = FIRST + (4 - FIRST.weekday()) % 7 * DAY
        while day <= LAST:
            size = amount(day) if callable(amount) else amount
            self.pay(day, size * self.around(noise), payee, category)
            day += 14 * DAY

    def around(self, noise):
        """Return a factor about 1."""
        return math.exp(self.random.gauss(0, noise)) if noise else 1.0

    def days(self):
        return [FIRST + number * DAY for number in range((LAST - FIRST).days + 1)]


def years_since(day):
    """Return years since the first day."""
    return (day - FIRST).days / 365.25


def seasonal(seed):
    """Return a shop by the sea: daily takings with a summer, stock ordered before it, staff and rent all year."""
    company = Company(seed)

    def season(day):
        return 1 + 0.6 * math.cos(2 * math.pi * (day.timetuple().tm_yday - 196) / 365)

    for day in company.days():
        if day.weekday() < 6:
            company.pay(day, 1_300 * season(day) * company.around(0.25), "CARD TAKINGS", "Online Sales")
        if company.random.random() < 0.35:
            stock = -1_250 * season(day + 30 * DAY) * company.around(0.5)
            company.pay(day, stock, company.random.choice(["COAST FOODS", "HARBOR GOODS", "PIER SUPPLY"]), "Materials")
        if company.random.random() < 0.2:
            company.pay(day, -90 * company.around(0.7), company.random.choice(["GLOWMART", "DUNE HARDWARE"]), "Tools")
    company.fortnightly(
        lambda day: -4_300 * (1.5 if day.month in {6, 7, 8} else 1), "STAFF WAGES", "Payroll", noise=0.03
    )
    company.monthly(1, lambda day: -4_200 * 1.03 ** math.floor(years_since(day)), "PIER ESTATES", "Rent")
    company.monthly(5, -1_180.40, "COASTAL BANK LOAN", "Bank Fees")
    company.monthly(20, -310, "SHORE POWER", "Utilities", noise=0.2)
    company.monthly(12, -149, "TILLSOFT", "Software")
    company.monthly(
        20, lambda day: -3_400 * season(day - 45 * DAY), "SALES TAX OFFICE", "Payroll Taxes", every=3, noise=0.05
    )
    company.monthly(15, -5_600, "HARBOR INSURANCE", "Insurance", every=12)
    return company.payments


def growing(seed):
    """Return a software company: subscribers who pay monthly, more of them each month, and staff that is hired."""
    company = Company(seed)
    for number in range(70):
        start = FIRST + round(1_000 * (number / 70) ** 0.8) * DAY if number > 12 else FIRST
        price, due = company.random.choice([190, 240, 450, 900, 1_500]), company.random.randint(1, 28)
        end = start + round(company.random.expovariate(1 / 1_500)) * DAY
        name = f"SUBSCRIBER {''.join(company.random.choices('BCDFGKLMNPRSTVZ', k=5))}"

        def paid(day, start=start, end=end, price=price):
            return price if start <= day <= end else 0

        company.monthly(due, paid, name, "Project Sales")
    for day in company.days():
        scale = 1.35 ** years_since(day)
        if company.random.random() < 0.06:
            company.pay(
                day,
                1_900 * scale * company.around(0.6),
                f"PROJECT {company.random.choice('ABCDEFGH')} LTD",
                "Project Sales",
            )
        if company.random.random() < 0.5:
            payee = company.random.choice(["ADWORLD", "FLIGHTS DIRECT", "HOTEL NORTH", "DESK STORE", "LUNCH CLUB"])
            company.pay(
                day, -130 * scale * company.around(0.8), payee, company.random.choice(["Advertising", "Fares", "Meals"])
            )

    def wages(day):
        return -5_200 * (1 + math.floor(2 * years_since(day)) * 0.22)

    company.monthly(28, wages, "MONTHLY PAYROLL", "Payroll")
    company.monthly(15, lambda day: wages(day) * 0.21, "PAYROLL TAX SERVICE", "Payroll Taxes")
    company.monthly(1, lambda day: -1_450 if years_since(day) < 1.4 else -2_300, "OFFICE PARK", "Rent")
    company.monthly(3, lambda day: -420 * 1.3 ** years_since(day), "CLOUDHOST", "Software", noise=0.06)
    company.monthly(10, -1_250, "LEGAL PARTNERS", "Professional Fees", every=3)
    company.monthly(
        15, lambda day: -900 * 1.3 ** years_since(day), "INCOME TAX OFFICE", "Payroll Taxes", every=3, noise=0.1
    )
    company.monthly(2, -2_900, "OMNI INSURANCE", "Insurance", every=12)
    return company.payments


def lumpy(seed):
    """Return a workshop with a few large orders: a customer pays a third at once and the rest when it is delivered."""
    company = Company(seed)
    for day in company.days():
        if company.random.random() < 0.045:
            size = 9_500 * company.around(0.8)
            customer = company.random.choice(
                ["MILLER BROS", "NORTHGATE SCHOOL", "CITY WORKS", "OAK HOTEL", "RIVER CLINIC"]
            )
            wait = company.random.randint(20, 75)
            company.pay(company.on_workday(day), size / 3, customer, "Project Sales")
            company.pay(company.on_workday(day + wait * DAY), size * 2 / 3, customer, "Project Sales")
            wood = company.random.choice(["TIMBER TRADE", "STEEL AND CO", "VARNISH DEPOT"])
            company.pay(company.on_workday(day + 6 * DAY), -size * 0.36 * company.around(0.2), wood, "Materials")
        if company.random.random() < 0.25:
            company.pay(
                day, -140 * company.around(0.9), company.random.choice(["TOOL BARN", "FUEL STOP", "CAFE VERDE"]), "Fuel"
            )
    company.fortnightly(-2_850, "WORKSHOP WAGES", "Payroll")
    company.monthly(1, -1_900, "RIVER HALL", "Rent")
    company.monthly(25, -1_264.75, "MACHINE LEASING", "Equipment Rental")
    company.monthly(15, -610, "WAGE TAX OFFICE", "Payroll Taxes")
    company.monthly(8, -180, "VALLEY POWER", "Utilities", noise=0.15)
    company.monthly(18, -2_700, "STATE TAX OFFICE", "Payroll Taxes", every=3, noise=0.2)
    company.monthly(7, -88, "PHONE COMPANY", "Telephone")
    company.monthly(1, -3_900, "GUILD INSURANCE", "Insurance", every=12)
    return company.payments


COMPANIES = {"seasonal": seasonal, "growing": growing, "lumpy": lumpy}


def payments(name, seed=None):
    """Return the payments of a company in order of their days."""
    made = COMPANIES[name](SEEDS[name] if seed is None else seed)
    return sorted(made, key=lambda one: (one.day, one.payee, one.amount))
