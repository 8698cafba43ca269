"""Parties and invoice numbers that the texts of receivables and payables name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.reports.books.merchants import merchants

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOT_NAMED = "not named"
"""Party of a text that names no party."""
_MOST_IN_RANGE = 100
_NUMBERS = "\0"
"""Text that stands for invoice numbers while the party of a text is read."""
_NUMBER = r"[a-z]*[-/]?\d[\w/-]*"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
_RANGE = re.compile(
    r"(\b(?:invoices|bills)\s+(?:nos?\b\.?\s*|numbers\s+)?#?\s*)(\d+)"
    r"\s*(?:-|\N{EN DASH}|to|through)\s*#?(\d+)(?![\w/-])",
    re.IGNORECASE,
)
_INVOICES = re.compile(
    r"(?:\b(?:invoices?|inv|bills?)(?:\b\.?:?|(?=\d))|(\b(?:paid|payment\s+(?:of|for))\s+)(?=#))"
    rf"\s*(?:nos?\b\.?|numbers?\b)?\s*(#?\s*{_NUMBER}(?:\s*(?:[,;&+]|and\b)(?:\s*and\b)?\s*"
    rf"(?:(?:invoice|inv|bill)\b\.?\s*)?#?\s*{_NUMBER}(?=\s*(?:$|[^\w\s]|(?:and|to|by|of|from|for|written)\b)))*)",
    re.IGNORECASE,
)
_EVENT = (
    r"(?:\b(?:(?:pre)?payments?|paid|receipts?|received|refund(?:ed)?|deposit|advance|remittance|made|in full"
    rf"|on account|sales?|sold|purchased?|invoices?|bills?|credit (?:note|memo))\b(?:\s+#?{_NUMBER})?|{_NUMBERS})"
    rf"(?:\s+(?:of|for|on|against))?(?:\s*{_NUMBERS})?"
)
_MEANS = r"(?:checks?|cheques?|(?:credit |debit )?card|(?:bank |wire )?transfer|wire|cash|ach|direct debit)"
_DAY = rf"(?:\d{{4}}-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]|\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH})"
_PARTY = re.compile(
    rf"(?:\bpayments?\s+(?:of|for)\s+[^{_NUMBERS}]+?\s+(?:to|from|by)|{_EVENT}\s+(?:to|from|by|of(?!\s+(?:\d|{_MONTH}))))"
    rf"\s+(?!{_DAY}|{_MEANS}\s*(?:$|[\d#{_NUMBERS}]))([^{_NUMBERS}]+?)"
    rf"(?:[\s,;:(-]+(?:for|of|on|against|re)?\s*{_NUMBERS}.*|\s+(?:written off|in full)\b.*)?$",
    re.IGNORECASE,
)
_CONNECTED = rf"(?:of|for|by)\b\W*(?:(?={_NUMBERS}|$)|{_MEANS}\b\W*(?:\d+\b\W*)?)"
_BEFORE_PAYEE = re.compile(
    rf"^\W*(?:(?:(?:pre)?payment|paid|invoice)\b\W*(?:{_CONNECTED}|(?!\W*(?:of|for|by)\b))|{_NUMBERS}\W*(?:{_CONNECTED})?)+"
    rf"|\W*{_NUMBERS}\W*",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\b(?:unit|flat|apartment|apt|suite|room)\b\.?\s*#\s*(\w+)", re.IGNORECASE)


class PartyText(NamedTuple):
    """The party and the invoice numbers that the texts of a line name.

    Attributes
    ----------
    text : str
        The longest text.
    party : str
        The party, in upper case.
    is_named : bool
        Whether the party follows words such as "payment of" or "invoice 7 to"; else it is the counterparty of the text.
    numbers : tuple of str
        Invoice numbers, in upper case.
    """

    text: str
    party: str
    is_named: bool
    numbers: tuple[str, ...]


def read_party_texts(lines: Iterable[Sequence[str]]) -> list[PartyText]:
    """Read the party and invoice numbers of each line from its texts.

    The party is that of the first text that names a party, else the longest text without invoice numbers.
    """
    found = [_read(texts) for texts in lines]
    payees = merchants([_BEFORE_PAYEE.sub(" ", party_text.party) for party_text in found])
    return [
        party_text._replace(
            party=_upper(party_text.party if party_text.is_named else _with_unit(counterparty, party_text.text))
        )
        for party_text, counterparty in zip(found, payees, strict=True)
    ]


def _read(texts: Sequence[str]) -> PartyText:
    """Read the party and numbers of a line from its texts.

    Without a party, take the longest text.
    """
    longest = max(texts, key=len, default="")
    listed = [_RANGE.sub(_each_number, text) for text in (longest, *texts)]
    numbers = next(filter(None, map(_numbers, listed[1:])), ())
    unnumbered = [_INVOICES.sub(lambda found: f"{found[1] or ''}{_NUMBERS}", text) for text in listed]
    party = next((found[1] for text in unnumbered[1:] if (found := _PARTY.search(text))), None)
    return PartyText(longest, unnumbered[0] if party is None else party, party is not None, numbers)


def _numbers(text: str) -> tuple[str, ...]:
    """Return the invoice numbers of a text, each once."""
    lists = [found[2] for found in _INVOICES.finditer(text)]
    tokens = [token for listed in lists for token in re.findall(_NUMBER, listed, re.IGNORECASE)]
    return tuple(dict.fromkeys(re.sub(r"^(?:INV|NO)?[-/]*", "", token.upper()).rstrip("-/") for token in tokens))


def _each_number(found: re.Match[str]) -> str:
    """Spell out a range of numbers such as ``101-103``."""
    first, last = found[2], found[3]
    if len(first) != len(last) or not 0 < int(last) - int(first) < _MOST_IN_RANGE:
        return found[0]
    return found[1] + ", ".join(f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1))


def _with_unit(counterparty: str, text: str) -> str:
    """Add the number of the flat to a counterparty."""
    unit = _UNIT.search(text)
    return counterparty if unit is None or unit[1].upper() in counterparty.split() else f"{counterparty} #{unit[1]}"


def _upper(party: str) -> str:
    return " ".join(party.upper().split()) or NOT_NAMED
