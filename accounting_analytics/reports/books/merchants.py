r"""Merchants: descriptions of transactions without dates, references and other changing parts.

:func:`merchants` applies ``STEPS`` in their order to the plain text in upper case. A step removes one kind of text, and
states examples that the tests verify. A text that would lose all its letters is kept as it is, and so is a
text with the number of a check, because the texts of different checks differ in nothing else.

A number of one or two digits inside a name stays, and so does a code of letters only: no pattern distinguishes a store
and its place, ``RESTAURANT DEPOT 29 BKLYN``, from a name such as ``ROUTE 66 DINER``. One group of different merchants
would be decided wrongly. Several groups of one merchant only take longer, and one rule with ``contains`` decides them.

Arrow applies the regular expressions (RE2) to whole columns: a million descriptions take seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.name_keys import upper_name

if TYPE_CHECKING:
    from collections.abc import Iterable


class Step(NamedTuple):
    """A kind of text that is removed.

    Attributes
    ----------
    name : str
        The kind of text that is removed.
    pattern : str
        RE2 expression, for text in upper case; with single spaces, but for the first step.
    replacement : str
        Its replacement: nothing, or the part that stays.
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
_CHECK = r"^CHECK (?:# ?)?\d+$"
STEPS = (
    Step(
        "place in a column of its own, as cards print it",
        rf"(\S) {{2,}}[^*#\d]* (?:{_STATES})$",
        r"\1",
        (
            ("BLUE BOTTLE #0412      SAN FRANCISCO CA", "BLUE BOTTLE #0412"),
            ("BLUE BOTTLE            OAKLAND       CA", "BLUE BOTTLE"),
            ("BLUE BOTTLE OAKLAND CA", "BLUE BOTTLE OAKLAND CA"),
        ),
    ),
    Step(
        "kind of payment, as banks write it before the name",
        rf"^(?:PURCHASE AUTHORIZED ON {_DAY}|CHECKCARD \d{{4}}|RECURRING (?:PAYMENT|PURCHASE)|ACH (?:DEBIT|CREDIT)"
        r"|(?:POS|DEBIT CARD|CARD|VISA|ATM) (?:PURCHASE|DEBIT|REFUND)(?: X{3,}\d{4})?|APLPAY|BILL PAY|PAYPAL INST XFER"
        r"|ZELLE (?:PAYMENT )?(?:TO|FROM))(?: |$)|^(?:ORIG CO NAME|WIRE TYPE:.* (?:ORIG|BNF)): ?",
        "",
        (
            ("PURCHASE AUTHORIZED ON 04/12 BLUE BOTTLE", "BLUE BOTTLE"),
            ("CHECKCARD 0412 BLUE BOTTLE", "BLUE BOTTLE"),
            ("POS PURCHASE BLUE BOTTLE", "BLUE BOTTLE"),
            ("DEBIT CARD PURCHASE XXXXX1234 BLUE BOTTLE", "BLUE BOTTLE"),
            ("APLPAY BLUE BOTTLE", "BLUE BOTTLE"),
            ("ZELLE PAYMENT TO M ORTIZ 12345678901", "M ORTIZ 12345678901"),
            ("WIRE TYPE:WIRE IN DATE:260412 TRN:2026041200012345 ORIG:GREEN GROCER", "GREEN GROCER"),
            ("PURCHASE COLLEGE", "PURCHASE COLLEGE"),
            ("BILL PAYNE PLUMBING", "BILL PAYNE PLUMBING"),
        ),
    ),
    Step(
        "invoice before the party that it is of",
        r"^(?:(?:PAYMENT|RECEIPT) (?:OF|FOR) )?(?:INVOICE|BILL|INV)\.? (?:NO\.? ?|# ?)?[A-Z]*[-/]?\d[A-Z0-9/-]* "
        r"(?:FROM|TO|BY) (.+)$",
        r"\1",
        (
            ("PAYMENT OF INVOICE 1042 FROM BIRCH CAFE", "BIRCH CAFE"),
            ("INVOICE 1042 TO BIRCH CAFE", "BIRCH CAFE"),
            ("BILL PAYNE FROM YORK", "BILL PAYNE FROM YORK"),
        ),
    ),
    Step(
        "fields of a bank payment after the name",
        r" (?:ORIG ID|DES|DESC DATE|CO ENTRY DESCR|SEC|INDN|WEB ID|PPD ID|CCD ID|TRACE#?):.*$",
        "",
        (
            ("GREEN GROCER ORIG ID:9138864001 DESC DATE:260412 CO ENTRY DESCR:PAYMENT SEC:CCD", "GREEN GROCER"),
            ("GREEN GROCER DES:PAYMENT ID:6SEMK0 INDN:HARBOR LANE CO ID:9138864007 CCD", "GREEN GROCER"),
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
        r" (?:CARD |ENDING IN |CARD ENDING IN |ON-?LINE )?(?:[X*]{2,}\d{2,4})\b.*$"
        r"| (?:CARD|ENDING IN|CARD ENDING IN) \d{4}\b.*$",
        "",
        (
            ("BLUE BOTTLE XXXX1234", "BLUE BOTTLE"),
            ("BLUE BOTTLE CARD 1234", "BLUE BOTTLE"),
            ("GREENPOINT PLUMBING ON-LINE XXXXX1234 ON 04-12", "GREENPOINT PLUMBING"),
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
        r" (?:STORE |TERMINAL |NO\.? )?\d{3,}\b.*$| #(?: ?\d+\b.*| .*)?$"
        rf"| (?:(?:STORE |TERMINAL |NO\.? |# ?)\d+|\d{{3,}})[A-Z]{{3}}[A-Z .]* (?:{_STATES})$",
        "",
        (
            ("STAPLES #0412", "STAPLES"),
            ("BLUE BOTTLE 1234 SF CA", "BLUE BOTTLE"),
            ("BLUE BOTTLE STORE 123", "BLUE BOTTLE"),
            ("UPS STORE #3735", "UPS STORE"),
            ("BLUE BOTTLE COFFEE 0412OAKLAND CA", "BLUE BOTTLE COFFEE"),
            ("BLUE BOTTLE COFFEE BA # OAKLAND CA", "BLUE BOTTLE COFFEE BA"),
            ("FOREVER 21", "FOREVER 21"),
            ("ROUTE 66 DINER", "ROUTE 66 DINER"),
        ),
    ),
    Step(
        "code of letters and digits, and the text after it",
        r" (?:[A-Z]{1,3}\d{3,}[A-Z0-9]*|[A-Z]{0,3}\d+[A-Z]+\d[A-Z0-9]*|[A-Z]{1,2}\d{2,}[A-Z]+"
        r"|[A-Z]{1,3}-(?:[A-Z0-9]{3,}\d[A-Z0-9]*|[A-Z0-9]*\d[A-Z0-9]{3,}))\b.*$",
        "",
        (
            ("PELOTON MEMBERSHIP 7AB42K", "PELOTON MEMBERSHIP"),
            ("UBER *TRIP M508U HELP.UBER.COM", "UBER *TRIP"),
            ("STRIPE TRANSFER ST-K4H8E2P9", "STRIPE TRANSFER"),
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

    A check, and a text that would lose all its letters, is the whole text in upper case with single spaces.
    """
    upper = pc.utf8_trim_whitespace(pa.array(map(upper_name, descriptions), pa.large_string()))
    texts = _single_spaces(upper)
    in_columns, *others = STEPS
    names = _single_spaces(apply_step(in_columns, upper))
    for step in others:
        names = apply_step(step, names)
    is_name = pc.and_not(pc.match_substring_regex(names, r"\pL"), pc.match_substring_regex(texts, _CHECK))
    found: list[str] = pc.if_else(is_name, names, texts).to_pylist()
    return found


def _single_spaces(texts: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, r"\s+", " "))


def apply_step(step: Step, texts: pa.Array) -> pa.Array:
    """Remove the text of one step from each description."""
    replaced = pc.replace_substring_regex(texts, step.pattern, step.replacement)
    return pc.utf8_trim_whitespace(pc.replace_substring(replaced, "  ", " "))
