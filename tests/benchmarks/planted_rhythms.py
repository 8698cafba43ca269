"""Recurring payments found in books whose rhythms are known: precision, recall, next days, and causes of bridges.

Each of the books has payees with a rhythm, moved by weekends and holidays, with a payment left out here and there, and
as many without one: shops of any frequency, and customers who pay when they like.
"""

import calendar
import datetime as dt
import runpy
import string
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import NamedTuple

import accounting_analytics as aa

FOLDER = Path(__file__).parent
FRAMES = runpy.run_path(str(FOLDER / "payment_frames.py"))
PAYMENT = runpy.run_path(str(FOLDER / "noisy_books.py"))["Payment"]
LAST = dt.date(2026, 6, 30)
DAY = dt.timedelta(days=1)
MONTHS = {"monthly": 1, "every second month": 2, "quarterly": 3, "yearly": 12}
WEEKS = {"weekly": 1, "fortnightly": 2, "every four weeks": 4}
RHYTHMS = (*WEEKS, "twice a month", *MONTHS)
LEAST = 4


class Planted(NamedTuple):
    """What was planted: the rhythm of a payee, how often it occurs, and the first day after the books."""

    rhythm: str
    count: int
    next_day: dt.date
    is_over: bool


def due_days(rhythm, random, first, last):
    """Return the due days of a rhythm."""
    if rhythm in WEEKS:
        start = first + random.randrange(7 * WEEKS[rhythm]) * DAY
        return [
            start + number * 7 * WEEKS[rhythm] * DAY for number in range((last - start).days // (7 * WEEKS[rhythm]) + 1)
        ]
    step = MONTHS.get(rhythm, 1)
    day = random.choice([1, 15, 28, 31, random.randint(1, 31)])
    days = [(day + 14) % 30 + 1, day] if rhythm == "twice a month" else [day]
    month = first.year * 12 + first.month - 1 + random.randrange(step)
    found = []
    while (year := month // 12) <= last.year:
        for one in days:
            number = month % 12 + 1
            found.append(dt.date(year, number, min(one, calendar.monthrange(year, number)[1])))
        month += step
    return sorted({one for one in found if first <= one <= last})


def paid_on(day, policy, random):
    """Return when what is due on a day is paid: weekends move it, and now and then a holiday."""
    if day.weekday() > 4:
        day += {"after": 7 - day.weekday(), "before": 4 - day.weekday(), "same": 0}[policy] * DAY
    return day + random.choices([0, 1, -1], [0.93, 0.05, 0.02])[0] * DAY


def plant(seed):
    """Return payments, and what is planted by payee."""
    random = Random(seed)  # noqa: S311 (books, not secrets)
    first = LAST - random.choice([18, 30, 60]) * 30 * DAY
    payments, planted = [], {}
    for number in range(120):
        payee = (
            "".join(random.choices(string.ascii_uppercase, k=6))
            + " "
            + "".join(random.choices(string.ascii_uppercase, k=5))
        )
        is_customer = random.random() < 0.25
        sign = 1 if is_customer else -1
        category = "Sales" if is_customer else random.choice(["Meals", "Fuel", "Software", "Rent", "Postage"])
        size = Decimal(random.randint(500, 500_000)) / 100
        is_fixed = random.random() < 0.6
        if number % 2:
            rhythm = random.choice(RHYTHMS)
            policy = random.choice(["after", "before", "same"])
            due = due_days(rhythm, random, first, LAST + 400 * DAY)
            is_over = random.random() < 0.1
            end = first + (LAST - first) * random.uniform(0.5, 0.9) if is_over else LAST
            paid = [paid_on(one, policy, random) for one in due]
            days = [one for one in paid if one <= end and random.random() > 0.01]
            planted[payee] = Planted(rhythm, len(days), next((one for one in paid if one > LAST), LAST), is_over)
        else:
            mean = random.choice([3, 7, 14, 30, 60, 90])
            days, day = [], first
            while (day := day + max(1, round(random.expovariate(1 / mean))) * DAY) <= LAST:
                days.append(day)
        for day in days:
            amount = size if is_fixed else size * random.randint(70, 140) / 100
            amount = sign * amount.quantize(Decimal("0.01"))
            payments.append(PAYMENT(day, "checking", amount, payee, payee, "plain", category, category))
    return sorted(payments, key=lambda one: (one.day, one.payee)), planted


class Score(NamedTuple):
    """What was claimed: right ones of how many, planted ones that were found, and next days within their range."""

    right: int
    claimed: int
    found: int
    planted: int
    within: int
    expected: int

    def __add__(self, other):
        return Score(*(one + two for one, two in zip(self, other, strict=True)))


def score(seed):
    payments, planted = plant(seed)
    books = FRAMES["frames"](payments, dt.date.max)
    claims = {
        one.counterparty: one
        for one in aa.recurring_payments(aa.Books(*books[:2], time_zone="UTC"), as_of=LAST).payments
    }
    right = {name for name, one in claims.items() if name in planted and one.rhythm == planted[name].rhythm}
    possible = {name for name, one in planted.items() if one.count >= LEAST and not one.is_over}
    going_on = [claims[name] for name in right & possible if claims[name].status != "stopped"]
    within = sum(one.found.earliest <= planted[one.counterparty].next_day <= one.found.latest for one in going_on)
    return Score(len(right), len(claims), len(right & possible), len(possible), within, len(going_on))


class Claims(NamedTuple):
    """What bridges claim: how many payees are new or gone, and which of them are not, or do not have that rhythm."""

    count: int
    wrong: list[tuple[str, str]]


def claims(seed):
    """Compare two months with the one before each: no payee that was paid before is new, and none that goes on gone."""
    payments, planted = plant(seed)
    count, wrong = 0, []
    for first, last in ((dt.date(2026, 4, 1), dt.date(2026, 5, 31)), (dt.date(2026, 5, 1), LAST)):
        books = FRAMES["frames"]([one for one in payments if one.day <= last], dt.date.max)
        month = last.replace(day=1)
        loaded = aa.Books(books.line_entries, books.ledgers, time_zone="UTC")
        found = aa.bridge(loaded, (month, last), against=(first, month - dt.timedelta(days=1)), largest=10_000)
        for step in found.steps:
            days = [one.day for one in payments if one.payee == step.counterparty]
            if step.cause.name in {"new counterparty", "new customer"}:
                count += 1
                wrong += [(step.counterparty, step.cause.name)] if min(days) < month else []
            elif step.cause.name == "gone":
                count += 1
                is_over = step.counterparty in planted and planted[step.counterparty].is_over and max(days) < month
                wrong += [] if is_over else [(step.counterparty, step.cause.name)]
            elif step.cause.name in {"paid before", "not due", "missed"} and step.cause.rhythm:
                count += 1
                is_right = step.counterparty in planted and planted[step.counterparty].rhythm == step.cause.rhythm
                wrong += [] if is_right else [(step.counterparty, step.cause.rhythm)]
    return Claims(count, wrong)
