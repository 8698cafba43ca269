"""Months of a company's payments with a history that contradicts itself, from a seed, and the truth about each.

Payees and statement texts are those of ``statement_texts.py``; here they live through 30 months: amounts vary,
months are skipped, prices rise, payees are new, change their name, or come once. The history is not clean: some payees
have two categories, by the amount, by the direction, or by nothing that a text or an amount shows; some change their
category for good, and some rows are categorized by mistake. ``payment_frames.py`` makes line entries of them.
"""

import datetime as dt
import random
import runpy
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

COMPANY = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("statement_texts.py"))))
SEEDS = (11, 12, 13, 14, 15)
FIRST, MONTHS = (2023, 1), 30
ROWS_PER_MONTH = 200
KINDS = {"chain": 0.42, "local": 0.2, "online": 0.16, "contractor": 0.08, "customer": 0.14}
"""Shares of the frequent payees in the payments that are not regular."""
BEHAVIOURS = {
    "plain": 0.74,
    "by amount": 0.06,
    "by direction": 0.05,
    "without pattern": 0.03,
    "changes category": 0.06,
    "changes name": 0.06,
}
"""Shares of the frequent payees; each month's payments of a payee follow its behaviour."""
NEW_PAYEES = 0.3
"""Share of the payees whose first payment is after the first month of the books."""
SKIPPED_MONTHS = 0.05
PRICE_RISE_MONTHS = (9, 16)
MISTAKES = 0.004
"""Share of the rows that are categorized by mistake: the label is not the truth."""
REFUNDS = 0.02
NEW_NAMES = ("GROUP", "NORTH AMERICA", "AND SONS", "SERVICES", "ONE", "DIGITAL")


class Payee(NamedTuple):
    """A payee, what its payments are for, and how that varies; months count from the first of the books."""

    name: str
    kind: str
    category: str
    median: float
    behaviour: str = "plain"
    other: str = ""
    """Second category, of the payees that have one."""
    first_month: int = 0
    turn: int = 0
    """Month of the change, of the payees that change."""
    share: float = 0.0
    """Part of the payments in the second category, where nothing shows which."""


class Payment(NamedTuple):
    """A payment: its true category, and the label that the books have; positive amounts came in."""

    day: dt.date
    account: str
    amount: Decimal
    text: str
    payee: str
    behaviour: str
    category: str
    label: str


def month_start(number):
    year, month = divmod(FIRST[1] - 1 + number, 12)
    return dt.date(FIRST[0] + year, month + 1, 1)


def make_payments(seed, *, months=MONTHS, rows_per_month=ROWS_PER_MONTH):
    """Return the payments of the books of a seed, in order of their days."""
    return sorted(Generator(seed, months, rows_per_month).payments(), key=lambda one: (one.day, one.text))


class Generator:
    """Payments from a seed."""

    def __init__(self, seed, months, rows_per_month):
        self._rng = random.Random(seed)  # noqa: S311 (repeatable books)
        self._texts = COMPANY.Texts(self._rng)
        self._merchants = COMPANY.read_merchants()
        self._months, self._rows = months, rows_per_month
        self._check_number = 2000

    def payments(self):
        """Yield all payments, in no order."""
        regular = [*self._regular(), *self._transfers(), *self._once()]
        yield from regular
        left = max(0, self._rows * self._months - len(regular))
        for kind, share in KINDS.items():
            payees = self._payees(kind)
            weights = [1 / rank**0.8 for rank in range(1, len(payees) + 1)]
            for payee in self._rng.choices(payees, weights, k=round(share * left)):
                yield from self._paid(payee)
        for merchant in self._rng.choices(self._merchants["check"], k=left // 80):
            self._check_number += 1
            text = f"CHECK {self._check_number}"
            yield self._payment(self._day(0), COMPANY.CHECKING, -self._amount(400), text, merchant)

    def _payees(self, kind):
        merchants = list(self._merchants[kind])
        self._rng.shuffle(merchants)
        return [self._payee(kind, merchant) for merchant in merchants]

    def _payee(self, kind, merchant):
        rng = self._rng
        behaviour = rng.choices(list(BEHAVIOURS), list(BEHAVIOURS.values()))[0]
        first = rng.randrange(1, self._months) if rng.random() < NEW_PAYEES else 0
        turn = rng.randrange(first + 3, max(first + 4, self._months))
        other = "Interest" if behaviour == "by direction" and kind != "customer" else self._category(merchant.category)
        return Payee(
            merchant.name, kind, merchant.category, merchant.median, behaviour, other, first, turn,
            rng.uniform(0.08, 0.4),
        )  # fmt: skip

    def _category(self, not_this):
        groups = [names for parent, (_, names) in COMPANY.CATEGORIES.items() if parent != "Sales"]
        return self._rng.choice([name for names in groups for name in names if name != not_this])

    def _day(self, first_month):
        month = self._rng.randrange(first_month, self._months)
        return month_start(month) + dt.timedelta(days=self._rng.randrange(28))

    def _amount(self, median, spread=0.6):
        return Decimal(max(100, round(100 * median * self._rng.lognormvariate(0, spread)))) / 100

    def _paid(self, payee):
        """Yield a payment of a frequent payee, and the refund that some have."""
        rng, day = self._rng, self._day(payee.first_month)
        is_late = day >= month_start(payee.turn)
        name, category, size = payee.name, payee.category, self._amount(payee.median)
        inflow = payee.kind == "customer"
        if payee.behaviour == "by amount" and rng.random() < 0.3:
            size, category = self._amount(12 * payee.median, 0.3), payee.other
        elif payee.behaviour == "by direction" and rng.random() < 0.25:
            inflow, category = not inflow, payee.other
        elif self._has_other_category(payee, is_late=is_late):
            category = payee.other
        elif payee.behaviour == "changes name" and is_late:
            first, _, rest = name.partition(" ")
            name = f"{rest or first} {NEW_NAMES[len(name) % len(NEW_NAMES)]}"
        account, text = self._printed(payee.kind, name, day, inflow=inflow)
        one = Payee(payee.name, payee.kind, category, payee.median, payee.behaviour)
        yield self._payment(day, account, size if inflow else -size, text, one)
        if not inflow and account in {COMPANY.CARD, COMPANY.SECOND_CARD} and rng.random() < REFUNDS:
            later = day + dt.timedelta(days=rng.randint(2, 20))
            if later < month_start(self._months):
                yield self._payment(later, account, size, text, one)

    def _has_other_category(self, payee, *, is_late):
        if payee.behaviour == "without pattern":
            return self._rng.random() < payee.share
        return payee.behaviour == "changes category" and is_late

    def _printed(self, kind, name, day, *, inflow):
        """Return the account of a payment, and its text there."""
        rng, texts = self._rng, self._texts
        if kind == "customer" or (kind == "contractor" and inflow):
            text = texts.customer(name, day) if inflow else texts.contractor(name, day)
            return COMPANY.CHECKING, text
        if kind == "contractor":
            return COMPANY.CHECKING, texts.contractor(name, day)
        if kind == "online":
            return COMPANY.CARD, texts.online(name)
        account = rng.choices((COMPANY.CARD, COMPANY.SECOND_CARD, COMPANY.CHECKING), (5, 4, 1))[0]
        if kind == "chain":
            place = rng.choices(COMPANY.PLACES, (9, 4, 3, 2, 2, 2, 1, 1, 1))[0]
            return account, texts.purchase(account, texts.chain(name), place, day)
        home = random.Random(name)  # noqa: S311 (one place and processor for each payee)
        mark, place = home.choice(("SQ *", "TST* ", "CLV*", "")), home.choice(COMPANY.PLACES[:3])
        return account, texts.purchase(account, f"{mark}{name}", place, day)

    def _regular(self):
        """Yield rent, utilities, subscriptions, payroll and payouts: most months, with amounts that rise or vary."""
        for kind in ("monthly", "subscription"):
            for merchant in self._merchants[kind]:
                yield from self._monthly(kind, merchant)
        for month in range(self._months):
            for day in (13, 27):
                paid = month_start(month) + dt.timedelta(days=day)
                for name, category, median in (("GUSTO PAY", "Payroll", 11400), ("GUSTO TAX", "Payroll Taxes", 3100)):
                    text = f"{name} {self._texts.digits(6)}"
                    one = Payee(name, "regular", category, median)
                    yield self._payment(paid, COMPANY.CHECKING, -self._amount(median, 0.08), text, one)
            for week in range(4):
                paid = month_start(month) + dt.timedelta(days=2 + 7 * week)
                one = Payee("STRIPE", "regular", "Online Sales", 740)
                text = f"STRIPE TRANSFER ST-{self._texts.code(12)}"
                yield self._payment(paid, COMPANY.CHECKING, self._amount(740), text, one)

    def _monthly(self, kind, merchant):
        rng, payee = self._rng, self._payee(kind, merchant)
        price, day = self._amount(merchant.median, 0.3), rng.randrange(27)
        rise = payee.first_month + rng.randint(*PRICE_RISE_MONTHS)
        for month in range(payee.first_month, self._months):
            if month == rise:
                price, rise = (price * Decimal(rng.randint(103, 115)) / 100).quantize(Decimal("0.01")), month + 12
            if rng.random() < SKIPPED_MONTHS:
                continue
            paid = month_start(month) + dt.timedelta(days=min(27, max(0, day + rng.randint(-2, 2))))
            size = self._amount(float(price), 0.25) if merchant.category == "Utilities" else price
            changed = payee.behaviour == "changes category" and month >= payee.turn
            one = payee._replace(category=payee.other if changed else payee.category)
            if kind == "subscription":
                yield self._payment(paid, COMPANY.CARD, -size, self._texts.online(merchant.name), one)
            else:
                text = self._texts.ach(merchant.name, "WEB PMT", paid)
                yield self._payment(paid, COMPANY.CHECKING, -size, text, one)

    def _once(self):
        for merchant in self._merchants["one_off"]:
            account, day = COMPANY.CARD, self._day(0)
            text = self._texts.purchase(account, merchant.name, self._rng.choice(COMPANY.PLACES), day)
            yield self._payment(day, account, -self._amount(merchant.median), text, merchant)

    def _transfers(self):
        """Yield both sides of the transfers between own accounts."""
        for month in range(self._months):
            for other in (COMPANY.CARD, COMPANY.SECOND_CARD, COMPANY.SAVINGS):
                day = month_start(month) + dt.timedelta(days=self._rng.randrange(22))
                amount = Decimal(1500) if other == COMPANY.SAVINGS else self._amount(2400)
                sent, received = self._texts.transfer(other, day)
                one = Payee(f"TRANSFER TO {other}", "transfer", COMPANY.TRANSFER, 0)
                yield self._payment(day, COMPANY.CHECKING, -amount, sent, one)
                later = day + dt.timedelta(days=self._rng.randint(0, 3))
                yield self._payment(later, other, amount, received, one)

    def _payment(self, day, account, amount, text, payee):
        """Return a payment, whose label is another category than the true one by mistake."""
        label = self._category(payee.category) if self._rng.random() < MISTAKES else payee.category
        behaviour = getattr(payee, "behaviour", "plain")
        return Payment(day, account, amount, text, payee.name, behaviour, payee.category, label)


def with_random_labels(payments, seed):
    """Return the payments with labels and truth drawn at random: there is nothing to learn."""
    rng = random.Random(seed)  # noqa: S311 (repeatable books)
    names = [name for _, group in COMPANY.CATEGORIES.values() for name in group]
    drawn = [rng.choice(names) for _ in payments]
    return [one._replace(category=name, label=name) for one, name in zip(payments, drawn, strict=True)]


def with_shuffled_history(payments, day, seed):
    """Return the payments with the labels before a day permuted; the truth of later ones stays."""
    before = [position for position, one in enumerate(payments) if one.day < day]
    labels = [payments[position].label for position in before]
    random.Random(seed).shuffle(labels)  # noqa: S311 (repeatable books)
    changed = dict(zip(before, labels, strict=True))
    return [one._replace(label=changed.get(position, one.label)) for position, one in enumerate(payments)]
