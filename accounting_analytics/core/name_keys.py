"""The form in which names are compared: counterparties, rules, ledgers, files. They are shown as they are written."""

from __future__ import annotations

import unicodedata

_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"


def plain_name(text: str) -> str:
    """Return a name without Unicode forms and invisible characters; case and spaces stay."""
    if text.isascii():
        return text
    visible = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return unicodedata.normalize("NFKC", visible.replace(_APOSTROPHE, "'"))


def upper_name(text: str) -> str:
    """Return a name that is plain and in upper case, also where one small letter is two capitals; spaces stay."""
    return text.upper() if text.isascii() else plain_name(plain_name(text).casefold().upper())


def name_key(text: str) -> str:
    r"""Return a name as it is compared: plain, without case and surplus spaces. Ids are compared as they are.

    Examples
    --------
    >>> name_key(" Joe\u2019s\u00a0Caf\u00e9 ") == name_key("JOE'S Cafe\u0301")
    True
    """
    return " ".join(plain_name(plain_name(text).casefold()).split())
