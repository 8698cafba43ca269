"""Normalized forms by which names are compared. Names are shown as they were written."""

from __future__ import annotations

import unicodedata

_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"


def plain_name(text: str) -> str:
    """Normalize Unicode forms and remove invisible characters. Case and spaces are kept."""
    if text.isascii():
        return text
    visible = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible.replace(_APOSTROPHE, "'"))


def upper_name(text: str) -> str:
    """Normalize a name and convert it to upper case. Spaces are kept.

    A letter whose capital is two letters, such as the German sharp s, becomes both.
    """
    return text.upper() if text.isascii() else plain_name(plain_name(text).casefold().upper())


def name_key(text: str) -> str:
    r"""Normalize a name for comparison, as :func:`plain_name` and without case and surplus spaces.

    Ids are compared as they are.

    Examples
    --------
    >>> name_key(" Joe\u2019s\u00a0Caf\u00e9 ") == name_key("JOE'S Cafe\u0301")
    True
    """
    return " ".join(plain_name(plain_name(text).casefold()).split())
