"""Counterparties of the demo company: the text on bank statements, and the right category."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from random import Random

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"


class Merchant(NamedTuple):
    """A counterparty: its text on the statement (``#`` is a digit, ``?`` a letter or digit) and its category.

    Amounts are `least` to `most` cents; `weight` is its relative frequency.
    """

    statement: str
    category: str
    least: int
    most: int
    weight: int = 1
    personal: bool = False

    def statement_text(self, rng: Random) -> str:
        """Text of one transaction on the bank statement."""
        return "".join(_random_character(character, rng) for character in self.statement)


CARD = (
    Merchant("SQ *BLUE BTTL #### SF CA", "meals", 600, 4800, 4),
    Merchant("TST* LUCALI #### BROOKLYN NY", "meals", 3200, 16500, 3),
    Merchant("SWEETGREEN FULTON #### NEW YORK", "meals", 1400, 4200, 3),
    Merchant("AMZN Mktp US*??#??###?", "office", 1200, 19000, 9),
    Merchant("STAPLES ####0#### BROOKLYN", "office", 1800, 14000, 3),
    Merchant("WEBSTAURANT STORE 717-392-####", "packaging", 9000, 62000, 5),
    Merchant("ULINE *SHIP SUPPLIES 800-295-####", "packaging", 12000, 78000, 4),
    Merchant("UBER   *TRIP ????? HELP.UBER.COM", "travel", 1100, 6400, 6),
    Merchant("LYFT   *RIDE ??? #PM", "travel", 900, 5200, 3),
    Merchant("DELTA AIR 006########## ATLANTA", "travel", 24000, 62000, 1),
    Merchant("MTA*NYCT PAYGO ######## NY", "travel", 290, 3400, 4),
    Merchant("FACEBK *????#??#?? fb.me/ads", "marketing", 9000, 48000, 5),
    Merchant("GOOGLE *ADS#########", "marketing", 15000, 52000, 4),
    Merchant("CANVA* I#####-####### 8007799", "marketing", 1499, 5499, 2),
    Merchant("USPS PO 359673#### BROOKLYN NY", "shipping", 900, 9800, 6),
    Merchant("FEDEX ######### MEMPHIS TN", "shipping", 2200, 18500, 4),
    Merchant("PIRATE SHIP* POSTAGE ####### WY", "shipping", 8000, 42000, 5),
    Merchant("SHELL OIL 57442###### BROOKLYN", "vehicle", 3800, 9200, 4),
    Merchant("EZPASSNY REBILL 800-333-####", "vehicle", 2500, 6000, 2),
    Merchant("HOMEDEPOT.COM 800-430-####", "repairs", 2400, 39000, 3),
    Merchant("GRAINGER 877-202-####", "repairs", 5200, 48000, 2),
    Merchant("RESTAURANT DEPOT ## BKLYN", "milk", 11000, 68000, 7),
    Merchant("BALTHAZAR BAKERY ##### ENGLEWOOD NJ", "milk", 9000, 36000, 6),
    Merchant("PY *HUDSON VLY FRESH ######", "milk", 12000, 41000, 6),
    Merchant("NYC DOHMH PERMIT ########", "taxes", 10000, 34000, 1),
    Merchant("NETFLIX.COM 866-579-7172 CA", "draws", 1549, 1799, 1, personal=True),
    Merchant("PELOTON* MEMBERSHIP ???##", "draws", 4400, 4900, 1, personal=True),
)
"""Card purchases."""

ACCOUNT_PAYMENTS = (
    Merchant("ZELLE TO M ORTIZ CONF ##??#?", "contractors", 18000, 85000, 4),
    Merchant("CHECK ####", "repairs", 12000, 90000, 3),
    Merchant("ACH DEBIT NYS DOL UI ########", "taxes", 15000, 42000, 1),
    Merchant("VENMO PAYMENT 10#########", "contractors", 8000, 36000, 3),
    Merchant("BILL PAY GREENPOINT PLUMBING", "repairs", 16000, 110000, 1),
    Merchant("ORIG CO NAME:INTUIT *QBOOKS", "software", 3500, 9000, 2),
)
"""Payments from the operating account."""

ACCOUNT_RECEIPTS = (
    Merchant("MOBILE DEPOSIT REF 00########", "wholesale_sales", 18000, 120000, 4),
    Merchant("ZELLE FROM K ABADI ON ##/##", "wholesale_sales", 9000, 60000, 3),
    Merchant("VENMO CASHOUT PPD ID 5264######", "cafe_sales", 6000, 42000, 3),
    Merchant("CON EDISON REBATE ########", "grants", 12000, 30000, 1),
)
"""Receipts into the operating account."""

CARD_REFUNDS = (
    Merchant("AMZN Mktp US REFUND ??#??###?", "office", 1200, 9000, 2),
    Merchant("WEBSTAURANT STORE CREDIT", "packaging", 4000, 22000, 1),
)
"""Refunds to the card."""


def _random_character(character: str, rng: Random) -> str:
    if character == "#":
        return str(rng.randrange(10))
    return rng.choice(_LETTERS) if character == "?" else character
