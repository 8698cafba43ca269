"""The form in which names are compared: payees, rules, ledgers and files."""

from __future__ import annotations

import unicodedata


def name_key(text: str) -> str:
    r"""Return a name as it is compared: without case, Unicode forms, invisible characters and surplus spaces.

    Names are shown as they are written, and ids are compared as they are.

    Examples
    --------
    >>> name_key(" Joe\u2019s\u00a0Caf\u00e9 ") == name_key("JOE'S Cafe\u0301")
    True
    """
    visible = "".join(one for one in text if unicodedata.category(one) != "Cf").replace(
        "\N{RIGHT SINGLE QUOTATION MARK}", "'"
    )
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
    return " ".join(folded.split())
