"""Accounts of a journal: names that hledger reads as they are, and the letters of their types."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from accounting_analytics.chart_of_accounts import LedgerType
from accounting_analytics.exact_sums import collect, wrap
from accounting_analytics.messages import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from accounting_analytics.ledger_tree import LedgerTree

CASH_TYPE = "C"
TYPE_LETTERS: Mapping[str, str] = {
    LedgerType.ASSET: "A",
    LedgerType.LIABILITY: "L",
    LedgerType.EQUITY: "E",
    LedgerType.REVENUE: "R",
    LedgerType.EXPENSE: "X",
}
"""Types of accounts as hledger names them; an asset that reports cash flow is `CASH_TYPE`."""
_SEPARATORS = re.compile("[:;]")
_SPECIAL_FIRST = ("*", "!", "(", "[")
"""What hledger reads as a status or as an account that need not balance, if a posting begins with it."""
_ID_CHARACTERS = "-_.~/@+="


def account_names(tree: LedgerTree) -> dict[str, str]:
    """Account of each ledger: a path that hledger reads as one account, and that no other ledger has in any case."""
    children: dict[str | None, list[str]] = {}
    for ledger_id in tree.ordered:
        parent = tree.hierarchy.parent(ledger_id)
        children.setdefault(parent if parent in tree.names else None, []).append(ledger_id)
    roots = {one: _guarded(_account_part(tree.names[one]) or encoded(one)) for one in children.get(None, ())}
    accounts = _unique_names(roots)
    pending = list(accounts)
    for parent in pending:
        names = {one: _account_part(tree.names[one]) or encoded(one) for one in children.get(parent, ())}
        accounts |= {one: f"{accounts[parent]}:{name}" for one, name in _unique_names(names).items()}
        pending.extend(names)
    return accounts


def _unique_names(names: Mapping[str, str]) -> dict[str, str]:
    """Names of siblings by id, followed by the id where another has the same in upper or lower case."""
    counts = Counter(map(_caseless, names.values()))
    taken = {key for key, count in counts.items() if count == 1}
    unique = dict(names)
    for ledger_id, name in names.items():
        if counts[_caseless(name)] > 1:
            unique[ledger_id] = f"{name} {encoded(ledger_id)}"
            while _caseless(unique[ledger_id]) in taken:
                unique[ledger_id] += "_"
            taken.add(_caseless(unique[ledger_id]))
    return unique


def _account_part(name: str) -> str:
    """Name of a ledger without what separates accounts, comments and amounts."""
    return " ".join(printable(_SEPARATORS.sub("-", name), " ").split())


def _guarded(root: str) -> str:
    """Name of a root that hledger does not take for a status or for an account that need not balance."""
    return f"_{root}" if root.startswith(_SPECIAL_FIRST) else root


def _caseless(name: str) -> str:
    """Text that is the same for all names that a query of hledger, which ignores case, may not distinguish."""
    return name.casefold().upper().casefold()


def encoded(text: str) -> str:
    """Id as one word without a character that has a meaning in a journal."""
    return quote(text, safe=_ID_CHARACTERS)


def account_types(ledgers: Any, cash: Collection[str]) -> dict[str, str]:  # noqa: ANN401 (any frame narwhals knows)
    """Letter of the type of each ledger that has one."""
    frame = wrap(ledgers, "ledgers", ("id", "type"))
    if "type" not in frame.collect_schema():
        return dict.fromkeys(cash, CASH_TYPE)
    rows = collect(frame.select("id", "type")).to_pylist()
    letters = {row["id"]: TYPE_LETTERS[row["type"]] for row in rows if row["type"] in TYPE_LETTERS}
    asset = TYPE_LETTERS[LedgerType.ASSET]
    return letters | {one: CASH_TYPE for one in cash if letters.get(one, asset) == asset}
