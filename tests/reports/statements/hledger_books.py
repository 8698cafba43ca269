"""Random books whose ledgers have awkward names and ids, and what hledger reads from a journal."""

import json
from decimal import Decimal

from books_strategy import books
from hledger_journals import run
from hypothesis import strategies as st

AWKWARD = (
    *(
        "Rent",
        "rent",
        "RENT",
        "ß",
        "SS",
        "Straße",
        "\u0131",
        "I",
        "K",
        "Rent  (old)",
        "(Rent)",
        "[Rent]",
        "* Rent",
        "!x",
    ),
    *("A:B", "A;B", "a  ; type: C", "  ", "\t", "line\nbreak", 'Owner\'s "Draw"', "50% [x] ^a$ .* +?|{2}", "\\", "\\1"),
    *(
        "2025-01-01",
        "= 5",
        "@ 3",
        "#",
        "~",
        "€ 12.50",
        "\u00a0x\u00a0\u00a0y",
        "Zoë",
        "日本 銀行",
        "date:2025-01-01",
        "x  1.00",
    ),
)
"""Names that a journal could be mistaken in."""
NAMES = st.one_of(st.sampled_from(AWKWARD), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
IDS = st.one_of(st.just(""), st.sampled_from([" ", ",", ":", "\n", ";", "é", "%20", ")", "[2025-01-01]"]))


@st.composite
def awkward_books(draw):
    """Draw books, and give their ledgers, entries and lines awkward names and ids."""
    naive = draw(books())
    suffix = draw(IDS)

    def renamed(text):
        return None if text is None else f"{text}{suffix}"

    ledgers = [
        one._replace(id=renamed(one.id), parent=renamed(one.parent), name=draw(NAMES)) for one in naive.ledgers.values()
    ]
    lines = [
        one._replace(id=renamed(one.id), ledger=renamed(one.ledger), entry=renamed(one.entry)) for one in naive.lines
    ]
    return type(naive)(ledgers, lines, naive.zone)


def printed(journal):
    """Transactions of a journal as hledger prints them."""
    return json.loads(run("hledger", "-f", str(journal), "print", "-O", "json"))


def quantities(amounts):
    """Exact sum of amounts that hledger prints as JSON."""
    return sum(
        (Decimal(one["aquantity"]["decimalMantissa"]).scaleb(-one["aquantity"]["decimalPlaces"]) for one in amounts),
        Decimal(0),
    )


def account_balances(journal):
    """Balance of each account, parents without their children."""
    rows, _ = json.loads(run("hledger", "-f", str(journal), "balance", "--flat", "--empty", "-N", "-O", "json"))
    return {row[0]: quantities(row[3]) for row in rows}
