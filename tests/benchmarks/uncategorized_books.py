"""Books of a design and building company with thousands of uncategorized transactions, and the truth about each.

Merchants are those of ``uncategorized_books.toml``.
Texts are as banks, cards and processors print them: a bank adds what it knows before and after the name, a card cuts
the name after 20 or 22 characters and pads it, a processor writes its mark before the name, chains have store numbers
and several places, a web shop has a reference or telephone number, and a check shows no payee.
"""

import datetime as dt
import random
import string
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from accounting_analytics.core.chart_of_accounts import RequiredLedger
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.service.database import Store
from accounting_analytics.service.instances import NewInstance, create_instance, issue_token
from accounting_analytics.service.ledgers import NewLedger, create_ledger
from accounting_analytics.service.post_entries import NewJournalEntry, NewLine, NewTransaction, post_entries

YEAR = 2025
END = dt.date(YEAR, 12, 31)
DISCOVER_FROM = dt.date(YEAR - 1, 12, 31)
"""Every category has an entry on this day."""
INSTANCE = "three-rivers"
CHECKING, SAVINGS, CARD, SECOND_CARD, WALLET = "checking", "savings", "card", "second_card", "wallet"
ACCOUNTS = {
    CHECKING: ("Checking", "bank_account"),
    SAVINGS: ("Tax Reserve", "bank_account"),
    CARD: ("Company Card", "credit_card"),
    SECOND_CARD: ("Field Card", "credit_card"),
    WALLET: ("Online Wallet", "payments"),
}
TRANSFER = "transfer"
"""Category of transfers between own accounts."""
COSTS, EXPENSES = ("expense", "cost_of_goods_sold", "debit"), ("expense", "operating_expenses", "debit")
CATEGORIES = {
    "Projects": (COSTS, ("Materials", "Tools", "Equipment Rental", "Subcontractors", "Permits")),
    "Offices": (EXPENSES, ("Office Supplies", "Software", "Advertising", "Rent", "Utilities", "Telephone", "Postage")),
    "Services": (EXPENSES, ("Insurance", "Professional Fees", "Bank Fees", "Training", "Charity")),
    "Staff": (EXPENSES, ("Payroll", "Payroll Taxes", "Benefits", "Meals", "Uniforms")),
    "Journeys": (EXPENSES, ("Fares", "Lodging", "Fuel", "Vehicle Repairs", "Parking")),
    "Sales": (("revenue", "operating_revenues", "credit"), ("Project Sales", "Online Sales", "Interest")),
}
"""Categories by their parent, with type, sub-type and side."""
PLACES = (
    "PITTSBURGH PA",
    "MCKEES ROCKS PA",
    "CRANBERRY TWP PA",
    "MONROEVILLE PA",
    "BRIDGEVILLE PA",
    "ROBINSON TWP PA",
    "WEST MIFFLIN PA",
    "WHEELING WV",
    "YOUNGSTOWN OH",
)
SHARES = {"chain": 0.46, "local": 0.22, "online": 0.14, "contractor": 0.08, "customer": 0.08, "check": 0.02}
"""Shares in the payments that are not on fixed days and not the only one of their merchant."""
REFUNDS = 0.025
"""Share of the card purchases that come back."""
SPLITS = 0.015
"""Share of the purchases of which a part is categorized already."""
OTHER_CATEGORY = {"GIANT EAGLE": ("Charity", 0.1), "EBAY": ("Tools", 0.25), "IKEA": ("Materials", 0.15)}
"""Merchants with a second category, and its share: no text shows which."""


class Payment(NamedTuple):
    """A transaction with the truth: who it was with, and its right category; positive amounts came in."""

    day: dt.date
    account: str
    amount: Decimal
    text: str
    merchant: str
    category: str
    categorized: Decimal = Decimal(0)
    """Part of the amount, without sign, that has its category already."""


class Books(NamedTuple):
    """Uncategorized payments by transaction id, and payments that have their category."""

    uncategorized: dict[str, Payment]
    categorized: list[Payment]


class Merchant(NamedTuple):
    """A merchant of the table."""

    name: str
    category: str
    median: float


def read_merchants():
    """Return the merchants of each kind."""
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        kinds = tomllib.load(file)
    return {
        kind: [Merchant(name, category, few["median"]) for category, few in table.items() for name in few["names"]]
        for kind, table in kinds.items()
    }


class Texts:
    """Statement texts."""

    def __init__(self, rng):
        self._rng = rng

    def digits(self, count):
        """Return the digits of a number, reference or telephone."""
        return "".join(self._rng.choices(string.digits, k=count))

    def code(self, count):
        """Return the letters and digits of a reference."""
        return "".join(self._rng.choices("0123456789ABCDEFGHJKLMNPQRSTUVWXYZ", k=count))

    def purchase(self, account, name, place, day):
        """Return a purchase in a shop, as the account's bank prints it."""
        city, state = place.rsplit(" ", 1)
        printed = {
            CARD: f"{name[:22]:22} {city[:13]:13} {state}",
            SECOND_CARD: f"{(self._rng.choice(('', '', 'APLPAY ')) + name)[:20]:20}{place}",
            CHECKING: self._rng.choice(
                (
                    f"PURCHASE AUTHORIZED ON {day:%m/%d} {name} {place} S{self.digits(15)} CARD 4417",
                    f"CHECKCARD {day:%m%d} {name} {place} {self.digits(23)}",
                    f"DEBIT CARD PURCHASE XXXXX4417 {name} {place}",
                    f"POS DEBIT {name} {place} {day:%m/%d/%y}",
                )
            ),
        }
        return printed[account]

    def chain(self, name):
        """Return the name with a store number, as chains send it; some omit it now and then."""
        texts = (f"{name} #{self.digits(4)}", f"{name} {self.digits(5)}", f"{name} STORE {self.digits(3)}", name)
        return self._rng.choices(texts, [5, 4, 1, 2])[0]

    def online(self, name):
        """Return the name with the reference or telephone number of a web shop."""
        telephone = f"{self.digits(3)}-{self.digits(3)}-{self.digits(4)}"
        return self._rng.choice((f"{name} *{self.code(8)}", f"{name} {telephone} CA", f"{name} {telephone}", name))

    def ach(self, name, kind, day):
        """Return an ACH payment: in full, as some banks print it, or short."""
        dated = f"DESC DATE:{day:%y%m%d} CO ENTRY DESCR:{kind} SEC:CCD TRACE#:{self.digits(15)}"
        texts = (
            f"ORIG CO NAME:{name} ORIG ID:{self.digits(10)} {dated}",
            f"{name} {kind} {self.digits(6)} {day:%m/%d}",
            f"{name} DES:{kind} ID:{self.code(10)} INDN:THREE RIVERS DESIGN CO ID:{self.digits(10)} CCD",
        )
        return self._rng.choice(texts)

    def contractor(self, name, day):
        """Return a payment to a person or small firm."""
        texts = (
            f"ZELLE TO {name} ON {day:%m/%d} REF # {self.code(10)}",
            f"ZELLE PAYMENT TO {name} {self.digits(11)}",
            f"BILL PAY {name} ON-LINE XXXXX{self.digits(4)} ON {day:%m-%d}",
        )
        return self._rng.choice(texts)

    def customer(self, name, day):
        """Return a payment of a customer."""
        texts = (
            self.ach(name, "PAYMENT", day),
            f"WIRE TYPE:WIRE IN DATE:{day:%y%m%d} TIME:1104 ET TRN:{self.digits(16)} ORIG:{name}",
            f"ZELLE FROM {name} ON {day:%m/%d}",
        )
        return self._rng.choice(texts)

    def transfer(self, other, day):
        """Return the two texts of a transfer from the checking account to another."""
        number = self.digits(11)
        texts = {
            SAVINGS: (
                f"ONLINE TRANSFER TO SAV ...7719 TRANSACTION#: {number} {day:%m/%d}",
                f"ONLINE TRANSFER FROM CHK ...2204 TRANSACTION#: {number}",
            ),
            WALLET: (f"PAYPAL TRANSFER {number}", "BANK DEPOSIT TO PP ACCOUNT"),
            CARD: (f"PAYMENT TO CARD ENDING IN 4008 {day:%m/%d}", "PAYMENT THANK YOU-MOBILE"),
            SECOND_CARD: (f"ACH PMT {self.code(6)} WEB ID: 2005032111", "AUTOPAY PAYMENT - THANK YOU"),
        }
        return texts[other]


class Generator:
    """Payments of one year from a seed."""

    def __init__(self, seed):
        self._rng = random.Random(seed)  # noqa: S311 (repeatable books)
        self._texts = Texts(self._rng)
        self._merchants = read_merchants()
        self._check_number = 1040

    def payments(self, count):
        """Return about `count` payments, in order of their days."""
        singles = (*self._monthly(), *self._subscriptions(), *self._sales(), *self._one_off())
        regular = [*self._transfers(), *((payment,) for payment in singles)]
        few = self._rng.sample(regular, min(len(regular), count // 6))
        payments = [payment for together in few for payment in together]
        others = count - len(payments)
        for kind, share in SHARES.items():
            one = getattr(self, f"_{kind}")
            payments += [one(merchant) for merchant in self._frequent(kind, round(others * share))]
        purchases = [one for one in payments if one.amount < 0 and one.account in {CARD, SECOND_CARD}]
        payments += map(self._refund, self._rng.sample(purchases, int(REFUNDS * len(purchases))))
        return sorted(payments, key=lambda one: (one.day, one.text))

    def _frequent(self, kind, count):
        """Return merchants with a heavy tail: the second is half as frequent as the first, the third a third."""
        merchants = self._merchants[kind]
        self._rng.shuffle(merchants)
        return self._rng.choices(merchants, [1 / rank for rank in range(1, len(merchants) + 1)], k=count)

    def _day(self):
        return END - dt.timedelta(days=self._rng.randrange(365))

    def _amount(self, median, spread=0.6):
        return Decimal(max(100, round(100 * median * self._rng.lognormvariate(0, spread)))) / 100

    def _account(self, card, second_card, checking):
        return self._rng.choices((CARD, SECOND_CARD, CHECKING), (card, second_card, checking))[0]

    def _purchase(self, merchant, account, printed, place):
        name, category, median = merchant
        day, amount = self._day(), self._amount(median)
        other, share = OTHER_CATEGORY.get(name, (category, 0))
        category = other if self._rng.random() < share else category
        part = (amount / 3).quantize(Decimal("0.01")) if self._rng.random() < SPLITS else Decimal(0)
        text = printed if place is None else self._texts.purchase(account, printed, place, day)
        return Payment(day, account, -amount, text, name, category, part)

    def _chain(self, merchant):
        place = self._rng.choices(PLACES, (9, 4, 3, 2, 2, 2, 1, 1, 1))[0]
        return self._purchase(merchant, self._account(5, 4, 1), self._texts.chain(merchant.name), place)

    def _local(self, merchant):
        home = random.Random(merchant.name)  # noqa: S311 (one place and processor for each merchant)
        mark, place = home.choice(("SQ *", "TST* ", "CLV*", "")), home.choice(PLACES[:3])
        return self._purchase(merchant, self._account(6, 3, 1), f"{mark}{merchant.name}", place)

    def _online(self, merchant):
        if self._rng.random() < 0.8:
            return self._purchase(merchant, CARD, self._texts.online(merchant.name), None)
        texts = (f"PAYPAL *{merchant.name}", f"PAYPAL INST XFER {merchant.name} WEB ID: PAYPALSI77")
        return self._purchase(merchant, WALLET, self._rng.choice(texts), None)

    def _contractor(self, merchant):
        day = self._day()
        text = self._texts.contractor(merchant.name, day)
        return Payment(day, CHECKING, -self._amount(merchant.median), text, merchant.name, merchant.category)

    def _customer(self, merchant):
        day, amount = self._day(), self._amount(merchant.median, 0.8)
        return Payment(
            day, CHECKING, amount, self._texts.customer(merchant.name, day), merchant.name, merchant.category
        )

    def _check(self, merchant):
        self._check_number += 1
        amount, text = self._amount(merchant.median), f"CHECK {self._check_number}"
        return Payment(self._day(), CHECKING, -amount, text, merchant.name, merchant.category)

    def _refund(self, purchase):
        day = min(END, purchase.day + dt.timedelta(days=self._rng.randint(2, 20)))
        part = Decimal(self._rng.choice((100, 100, 50, 25))) / 100
        amount = (-purchase.amount * part).quantize(Decimal("0.01"))
        return purchase._replace(day=day, amount=amount, categorized=Decimal(0))

    def _monthly(self):
        for name, category, median in self._merchants["monthly"]:
            amount, day = self._amount(median, 0.3), self._rng.randint(1, 28)
            for month in range(1, 13):
                paid = dt.date(YEAR, month, day)
                varying = self._amount(float(amount), 0.25) if category == "Utilities" else amount
                text = name if category == "Bank Fees" else self._texts.ach(name, "WEB PMT", paid)
                yield Payment(paid, CHECKING, -varying, text, name, category)

    def _subscriptions(self):
        for name, category, median in self._merchants["subscription"]:
            amount, day = self._amount(median), self._rng.randint(1, 28)
            for month in range(1, 13):
                paid = dt.date(YEAR, month, day)
                yield Payment(paid, CARD, -amount, self._texts.online(name), name, category)

    def _sales(self):
        """Yield payouts of the card processor, payroll and interest."""
        for week in range(52):
            paid = dt.date(YEAR, 1, 3) + dt.timedelta(days=7 * week)
            text = f"STRIPE TRANSFER ST-{self._texts.code(12)}"
            yield Payment(paid, CHECKING, self._amount(740), text, "STRIPE", "Online Sales")
        for month in range(1, 13):
            for paid in (dt.date(YEAR, month, 14), dt.date(YEAR, month, 28)):
                for name, category, median in (("GUSTO PAY", "Payroll", 11400), ("GUSTO TAX", "Payroll Taxes", 3100)):
                    text = f"{name} {self._texts.digits(6)}"
                    yield Payment(paid, CHECKING, -self._amount(median, 0.08), text, name, category)
            paid = dt.date(YEAR, month, 28)
            yield Payment(paid, SAVINGS, self._amount(21, 0.2), "INTEREST PAYMENT", "INTEREST", "Interest")

    def _transfers(self):
        """Yield the two sides of each transfer."""
        for month in range(1, 13):
            for other in (CARD, SECOND_CARD, SAVINGS, SAVINGS, WALLET):
                day = dt.date(YEAR, month, self._rng.randint(1, 25))
                amount = Decimal(self._rng.choice((500, 1000, 1500))) if other == SAVINGS else self._amount(2400)
                sent, received = self._texts.transfer(other, day)
                later = day + dt.timedelta(days=self._rng.randint(0, 3))
                name = f"TRANSFER TO {other}"
                yield (
                    Payment(day, CHECKING, -amount, sent, name, TRANSFER),
                    Payment(later, other, amount, received, name, TRANSFER),
                )

    def _one_off(self):
        for merchant in self._merchants["one_off"]:
            yield self._purchase(merchant, self._account(1, 1, 1), merchant.name, self._rng.choice(PLACES))


def make_books(seed=1, count=5_000):
    """Make books with `count` uncategorized payments, and an eighth as many that have their category."""
    payments = Generator(seed).payments(round(count * 9 / 8))
    ordinary = [one for one in range(len(payments)) if payments[one].category != TRANSFER]
    rng = random.Random(seed)  # noqa: S311 (repeatable books)
    done = set(rng.sample(ordinary, len(payments) - count))
    left = [payment for position, payment in enumerate(payments) if position not in done]
    return Books(
        {f"txn_{number:05}": payment for number, payment in enumerate(left)},
        [payments[position] for position in sorted(done)],
    )


def ledger_id(name):
    """Return the id of an account or category of these books."""
    return f"led_{name.lower().replace(' ', '_')}"


OUTFLOW, INFLOW = ledger_id("uncategorized outflow"), ledger_id("uncategorized inflow")
REQUIRED = {
    RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS: ledger_id(TRANSFER),
    RequiredLedger.OPENING_BALANCE: ledger_id("opening"),
    RequiredLedger.UNCATEGORIZED_INFLOW: INFLOW,
    RequiredLedger.UNCATEGORIZED_OUTFLOW: OUTFLOW,
}


def post_books(database, books):
    """Write the books to a new database to serve, and return a token of the instance."""
    done = [_entry(payment, None) for payment in books.categorized]
    left = [_entry(payment, transaction_id) for transaction_id, payment in books.uncategorized.items()]
    with Store.open(database) as store:
        create_instance(store, NewInstance(name="Three Rivers Design", id=INSTANCE, required_ledger_ids=REQUIRED))
        for ledger in _ledgers():
            create_ledger(store, INSTANCE, ledger)
        post_entries(store, INSTANCE, [*_opening(), *done, *left])
        return issue_token(store, INSTANCE)


def _ledgers():
    for account, (name, kind) in ACCOUNTS.items():
        yield NewLedger(name=name, financial_account_type=kind, id=ledger_id(account))
    for position, (parent, ((kind, sub_type, side), names)) in enumerate(CATEGORIES.items(), start=5):
        for number, name in enumerate((parent, *names)):
            yield NewLedger(
                name=name,
                type=kind,
                sub_type=sub_type,
                debit_credit=side,
                report_cash_flow=False,
                parent_id=ledger_id(parent) if number else None,
                sort_code=f"{position}{number:02}",
                id=ledger_id(name),
            )


def _opening():
    """Yield the opening balance, and an entry of each category."""
    names = [name for _, names in CATEGORIES.values() for name in names]
    for name, amount in {"opening": Decimal(80_000), TRANSFER: Decimal(1), **dict.fromkeys(names, Decimal(1))}.items():
        transaction = NewTransaction(f"LAST YEAR {name.upper()}", id=f"txn_{ledger_id(name)}")
        own = NewLine(ledger_id(CHECKING), to_minor_units(amount), transaction=transaction)
        other = NewLine(ledger_id(name), -to_minor_units(amount))
        yield NewJournalEntry(_noon(DISCOVER_FROM), "Last year", (own, other))


def _entry(payment, transaction_id):
    """Return the entry of a payment: uncategorized if it has a transaction id, else with its right category."""
    amount = to_minor_units(payment.amount)
    suspense = OUTFLOW if amount < 0 else INFLOW
    right = ledger_id(payment.category)
    parts = [(right, -amount)]
    if transaction_id is not None:
        categorized = to_minor_units(payment.categorized) * (1 if amount < 0 else -1)
        parts = [(suspense, -amount - categorized), (right, categorized)]
    transaction = NewTransaction(payment.text, id=transaction_id)
    lines = [NewLine(ledger, units) for ledger, units in parts if units]
    return NewJournalEntry(
        _noon(payment.day),
        "Payment",
        (NewLine(ledger_id(payment.account), amount, transaction=transaction), *lines),
    )


def _noon(day):
    return dt.datetime.combine(day, dt.time(12), dt.UTC)
