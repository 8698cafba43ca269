"""Accounts, categories, payees and statement texts of a design and building company.

Payees are those of ``statement_texts.toml``.
Texts are as banks, cards and processors print them: a bank adds what it knows before and after the name, a card cuts
the name after 20 or 22 characters and pads it, a processor writes its mark before the name, chains have store numbers
and several places, and a web shop has a reference or telephone number.
"""

import string
import tomllib
from pathlib import Path
from typing import NamedTuple

from accounting_analytics.core.chart_of_accounts import RequiredLedger

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


class Merchant(NamedTuple):
    """A merchant of the table."""

    name: str
    category: str
    median: float


def read_merchants():
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
