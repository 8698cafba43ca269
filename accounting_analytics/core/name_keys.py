"""Normalized forms in which names are compared; names are shown as written."""

from __future__ import annotations

import unicodedata

_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"


def plain_name(text: str) -> str:
    """Normalize Unicode forms, remove invisible characters; keep case and spaces."""
    if text.isascii():
        return text
    visible = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible.replace(_APOSTROPHE, "'"))


def upper_name(text: str) -> str:
    """Normalize a name and convert it to upper case; keep its spaces.

    A letter whose capital is two letters, such as the German sharp s, becomes both.
    """
    return text.upper() if text.isascii() else plain_name(plain_name(text).casefold().upper())


def name_key(text: str) -> str:
    r"""Normalize a name for comparison: plain, without case and surplus spaces.

    Ids are compared as they are.

    Examples
    --------
    >>> name_key(" Joe\u2019s\u00a0Caf\u00e9 ") == name_key("JOE'S Cafe\u0301")
    True
    """
    return " ".join(plain_name(plain_name(text).casefold()).split())
