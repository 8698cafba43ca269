r"""Merchants: descriptions of transactions without what changes from one transaction to the next.

:func:`merchants` applies ``STEPS`` in their order to the upper-case text. A step removes one kind of text, and states
examples that the tests verify. A text of which nothing but digits and signs would remain is kept as it is.

Regular expressions are RE2's, on Arrow columns: a million descriptions take seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable


class Step(NamedTuple):
    """One kind of text that is removed.

    Attributes
    ----------
    name : str
        What is removed.
    pattern : str
        RE2 expression, for text in upper case with single spaces.
    replacement : str
        What it is replaced by: nothing, or the part that stays.
    examples : tuple of (str, str)
        Text before and after this step.
    """

    name: str
    pattern: str
    replacement: str
    examples: tuple[tuple[str, str], ...]


_DAY = r"(?:\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}(?:/(?:\d{4}|\d{2}))?)"
_STATES = (
    "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|P[AR]|RI|S[CD]|T[NX]|UT|V[AT]"
    "|W[AIVY]"
)
"""Codes of the states of the United States."""
STEPS = (
    Step(
        "kind of payment, as banks write it before the name",
        rf"^(?:PURCHASE AUTHORIZED ON {_DAY}|CHECKCARD \d{{4}}|RECURRING (?:PAYMENT|PURCHASE)|ACH (?:DEBIT|CREDIT)"
        r"|(?:POS|DEBIT CARD|CARD|VISA|ATM) (?:PURCHASE|DEBIT|REFUND)|ORIG CO NAME:) ?",
        "",
        (
            ("PURCHASE AUTHORIZED ON 04/12 BLUE BOTTLE", "BLUE BOTTLE"),
            ("CHECKCARD 0412 BLUE BOTTLE", "BLUE BOTTLE"),
            ("POS PURCHASE BLUE BOTTLE", "BLUE BOTTLE"),
            ("PURCHASE COLLEGE", "PURCHASE COLLEGE"),
        ),
    ),
    Step(
        "payment processor before the name",
        r"^(?:SQ|TST|PAYPAL|PP|PY|SP|CKE|IZ|EB|FS|IN|WPY|BT|GDP|CLV|ZETTLE_?) ?\* ?",
        "",
        (
            ("SQ *BLUE BOTTLE", "BLUE BOTTLE"),
            ("TST* LUCALI", "LUCALI"),
            ("PAYPAL *ADOBE", "ADOBE"),
            ("GOOGLE *ADS", "GOOGLE *ADS"),
        ),
    ),
    Step(
        "digits after a product",
        r"(\*[A-Z]{3,})\d{5,}$",
        r"\1",
        (("GOOGLE *ADS289156320", "GOOGLE *ADS"), ("AMZN MKTP US*ST61M9137", "AMZN MKTP US*ST61M9137")),
    ),
    Step(
        "reference after a star",
        r" ?\* ?[A-Z0-9]*\d[A-Z0-9]*\b.*$",
        "",
        (("AMZN MKTP US*2K4T81", "AMZN MKTP US"), ("ULINE *SHIP SUPPLIES", "ULINE *SHIP SUPPLIES")),
    ),
    Step(
        "reference with its label",
        r" (?:REF|CONF|INV|TRN|TXN|AUTH|ORDER|INVOICE|CONFIRMATION|REFERENCE|PPD ID|ID)(?: (?:NO\.?|NUMBER))?[ :#]*"
        r"[A-Z]*\d[A-Z0-9-]*\b.*$",
        "",
        (
            ("MOBILE DEPOSIT REF 001234567", "MOBILE DEPOSIT"),
            ("ZELLE TO M ORTIZ CONF#A1B2C3", "ZELLE TO M ORTIZ"),
            ("REF MARKET", "REF MARKET"),
        ),
    ),
    Step(
        "card",
        r" (?:CARD |ENDING IN |CARD ENDING IN )?(?:[X*]{2,}\d{2,4})\b.*$| (?:CARD|ENDING IN|CARD ENDING IN) \d{4}\b.*$",
        "",
        (
            ("BLUE BOTTLE XXXX1234", "BLUE BOTTLE"),
            ("BLUE BOTTLE CARD 1234", "BLUE BOTTLE"),
            ("CARD FACTORY", "CARD FACTORY"),
        ),
    ),
    Step(
        "telephone number, and the place after it",
        r" (?:1-)?\d{3}-\d{3}-\d{4}\b.*$",
        "",
        (("WEBSTAURANT STORE 717-392-7472", "WEBSTAURANT STORE"), ("1-800-FLOWERS", "1-800-FLOWERS")),
    ),
    Step(
        "date",
        rf" (?:ON )?{_DAY}\b.*$",
        "",
        (("BLUE BOTTLE 04/12/26", "BLUE BOTTLE"), ("ZELLE FROM K ABADI ON 04/12", "ZELLE FROM K ABADI")),
    ),
    Step(
        "number of a store or terminal, and the place after it",
        r" (?:STORE |TERMINAL |NO\.? )?\d{3,}\b.*$| # ?\d+\b.*$",
        "",
        (
            ("STAPLES #0412", "STAPLES"),
            ("BLUE BOTTLE 1234 SF CA", "BLUE BOTTLE"),
            ("BLUE BOTTLE STORE 123", "BLUE BOTTLE"),
            ("UPS STORE #3735", "UPS STORE"),
            ("FOREVER 21", "FOREVER 21"),
        ),
    ),
    Step(
        "code of letters and digits, and the text after it",
        r" (?:[A-Z]{1,3}\d{3,}[A-Z0-9]*|[A-Z]{0,3}\d+[A-Z]+\d[A-Z0-9]*|[A-Z]{1,2}\d{2,}[A-Z]+)\b.*$",
        "",
        (
            ("PELOTON MEMBERSHIP 7AB42K", "PELOTON MEMBERSHIP"),
            ("UBER *TRIP M508U HELP.UBER.COM", "UBER *TRIP"),
            ("FIVE 9 SOFTWARE", "FIVE 9 SOFTWARE"),
        ),
    ),
    Step(
        "state at the end",
        rf"([A-Z]{{3,}}) (?:{_STATES})$",
        r"\1",
        (("BALTHAZAR BAKERY ENGLEWOOD NJ", "BALTHAZAR BAKERY ENGLEWOOD"), ("CAFE 54", "CAFE 54")),
    ),
    Step(
        "company form at the end",
        r",? (?:INC|LLC|LTD|CORP|CO|GMBH|PLC)\.?$",
        "",
        (("ZOOM VIDEO COMMUNICATIONS INC", "ZOOM VIDEO COMMUNICATIONS"), ("ADOBE, LLC", "ADOBE")),
    ),
    Step(
        "apostrophes",
        r"['`\x{2019}]",
        "",
        (("JOE'S PIZZA", "JOES PIZZA"),),
    ),
    Step(
        "signs between words",
        r"[ *.,:;#/_-]*[*,:;#/_][ *.,:;#/_-]*|\.(?: |$)",
        " ",
        (("GOOGLE *ADS", "GOOGLE ADS"), ("ADOBE,", "ADOBE"), ("NETFLIX.COM", "NETFLIX.COM"), ("7-ELEVEN", "7-ELEVEN")),
    ),
)
"""The steps, in their order."""


def merchants(descriptions: Iterable[str]) -> list[str]:
    """Normalize descriptions to the name of the merchant, in upper case.

    Parameters
    ----------
    descriptions : iterable of str
        Descriptions of transactions.

    Returns
    -------
    list of str
        One name per description; the description in upper case with single spaces where no letter would remain.
    """
    upper = pc.utf8_upper(pa.array(descriptions, pa.large_string()))
    texts = pc.utf8_trim_whitespace(pc.replace_substring_regex(upper, r"\s+", " "))
    names = texts
    for step in STEPS:
        names = apply_step(step, names)
    has_letters = pc.match_substring_regex(names, r"\pL")
    found: list[str] = pc.if_else(has_letters, names, texts).to_pylist()
    return found


def apply_step(step: Step, texts: pa.Array) -> pa.Array:
    """Remove the text of one step from each description."""
    replaced = pc.replace_substring_regex(texts, step.pattern, step.replacement)
    return pc.utf8_trim_whitespace(pc.replace_substring(replaced, "  ", " "))
