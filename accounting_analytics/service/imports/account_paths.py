"""Account paths such as ``assets:bank:checking`` as a parent/child chart of accounts.

The first segment gives the type of all below it: assets, liabilities, equity, income, revenue or expenses, in singular
or plural and in any case. Accounts between the first and the last segment become ledgers too.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accounting_analytics.chart_of_accounts import (
    MAX_SORT_CODE_LENGTH,
    DebitCredit,
    FinancialAccountType,
    Hierarchy,
    LedgerType,
    SubType,
)
from accounting_analytics.service.bookkeeping.new_ledgers import NewLedger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.service.imports.import_errors import Refusals
    from accounting_analytics.service.wire.stored_records import StoredLedger

SEPARATOR = ":"
_SHOWN_ACCOUNTS = 30

TYPE_OF_ROOT: Mapping[str, LedgerType] = {
    "asset": LedgerType.ASSET,
    "assets": LedgerType.ASSET,
    "liability": LedgerType.LIABILITY,
    "liabilities": LedgerType.LIABILITY,
    "equity": LedgerType.EQUITY,
    "income": LedgerType.REVENUE,
    "incomes": LedgerType.REVENUE,
    "revenue": LedgerType.REVENUE,
    "revenues": LedgerType.REVENUE,
    "expense": LedgerType.EXPENSE,
    "expenses": LedgerType.EXPENSE,
}
"""Type that the first segment of a path names, in lower case."""

_SORT_DIGIT: Mapping[LedgerType, str] = {
    LedgerType.ASSET: "1",
    LedgerType.LIABILITY: "2",
    LedgerType.EQUITY: "3",
    LedgerType.REVENUE: "4",
    LedgerType.EXPENSE: "5",
}
_NORMAL_SIDE: Mapping[LedgerType, DebitCredit] = {
    LedgerType.ASSET: DebitCredit.DEBIT,
    LedgerType.LIABILITY: DebitCredit.CREDIT,
    LedgerType.EQUITY: DebitCredit.CREDIT,
    LedgerType.REVENUE: DebitCredit.CREDIT,
    LedgerType.EXPENSE: DebitCredit.DEBIT,
}
_USUAL_SUB_TYPE: Mapping[LedgerType, SubType] = {
    LedgerType.ASSET: SubType.CURRENT_ASSETS,
    LedgerType.LIABILITY: SubType.CURRENT_LIABILITIES,
    LedgerType.EQUITY: SubType.EQUITY,
    LedgerType.REVENUE: SubType.OPERATING_REVENUES,
    LedgerType.EXPENSE: SubType.OPERATING_EXPENSES,
}
_TELLING_WORDS: Sequence[tuple[LedgerType, SubType, re.Pattern[str]]] = (
    (
        LedgerType.ASSET,
        SubType.NON_CURRENT_ASSETS,
        re.compile(r"fixed|equipment|property|vehicle|long.?term|non.?curr"),
    ),
    (LedgerType.LIABILITY, SubType.NON_CURRENT_LIABILITIES, re.compile(r"loan|mortgage|long.?term|non.?curr")),
    (LedgerType.REVENUE, SubType.OTHER_INCOME, re.compile(r"interest|dividend|gain|other")),
    (LedgerType.EXPENSE, SubType.COST_OF_GOODS_SOLD, re.compile(r"cogs|cost of (goods|sales|revenue)")),
    (LedgerType.EXPENSE, SubType.OTHER_EXPENSES, re.compile(r"interest|loss|other expense")),
)
_CASH_ACCOUNT: Mapping[LedgerType, FinancialAccountType] = {
    LedgerType.ASSET: FinancialAccountType.BANK_ACCOUNT,
    LedgerType.LIABILITY: FinancialAccountType.CREDIT_CARD,
}


@dataclass(frozen=True)
class Chart:
    """Ledgers that the accounts of a file mean.

    Parameters
    ----------
    ledger_ids : dict of str to str
        Ledger id of every account in the file.
    new_ledgers : tuple of NewLedger
        The ledgers that do not exist yet, parents before children.
    financial : frozenset of str
        Accounts (as written in the file) whose lines are transactions.
    cash : tuple of str
        Accounts (as written in the file) that report cash flow, sorted.
    """

    ledger_ids: dict[str, str]
    new_ledgers: tuple[NewLedger, ...]
    financial: frozenset[str]
    cash: tuple[str, ...]


def chart_of(
    accounts: Mapping[str, str],
    *,
    cash: Sequence[str],
    existing: Iterable[StoredLedger],
    refusals: Refusals,
) -> Chart:
    """Map accounts to ledgers: existing ones by id or path, new ones under their path.

    Parameters
    ----------
    accounts : Mapping of str to str
        Every account that has a line in the file, with the place of its first line.
    cash : sequence of str
        Glob patterns of the accounts that report cash flow. A pattern must match the whole path, in any case; ``*`` is
        any run of characters (``:`` too), ``?`` any one. Only accounts with lines are marked, never those in between.
        An asset becomes a bank_account, a liability a credit_card.
    existing : iterable of StoredLedger
        Ledgers the instance has. An account that is a ledger's id, or the path of its names, means that ledger.
    refusals : Refusals
        Receives every account or pattern that cannot be used.

    Returns
    -------
    Chart
        Only complete if nothing was refused.
    """
    known = _ExistingLedgers(existing)
    new_paths = [
        account
        for account, place in accounts.items()
        if not known.find(account, place, refusals) and _is_path(account, place, refusals)
    ]
    is_cash = _matched(cash, accounts, refusals)
    new_ledgers = _NewLedgers(known, frozenset(is_cash), refusals)
    for path in sorted(new_paths, key=lambda path: path.split(SEPARATOR)):
        new_ledgers.add(path)
    for account in is_cash:
        if account in known.found and not known.found[account].report_cash_flow:
            refusals.add(
                accounts[account],
                f"ledger {account!r} exists and does not report cash flow; leave it out of the cash patterns",
            )
    found = known.found.items()
    return Chart(
        ledger_ids={account: ledger.id for account, ledger in found}
        | {path: new_ledgers.ids[path] for path in new_paths if path in new_ledgers.ids},
        new_ledgers=tuple(new_ledgers.ledgers),
        financial=frozenset(account for account, ledger in found if ledger.financial_account_type is not None)
        | frozenset(is_cash).difference(known.found),
        cash=tuple(sorted({*is_cash, *(account for account, ledger in found if ledger.report_cash_flow)})),
    )


class _ExistingLedgers:
    """Ledgers of the instance, found by id or by the path of their names."""

    def __init__(self, ledgers: Iterable[StoredLedger]) -> None:
        self.by_id = {ledger.id: ledger for ledger in ledgers}
        self.found: dict[str, StoredLedger] = {}
        self.by_path: dict[str, list[StoredLedger]] = {}
        hierarchy = Hierarchy({ledger.id: ledger.parent_id for ledger in self.by_id.values()})
        for ledger in self.by_id.values():
            above = [self.by_id[ancestor].name for ancestor in hierarchy.ancestors(ledger.id)]
            self.by_path.setdefault(SEPARATOR.join([*reversed(above), ledger.name]), []).append(ledger)

    def find(self, account: str, place: str, refusals: Refusals) -> bool:
        """Whether `account` means a ledger that exists; an ambiguous path is refused."""
        if account in self.by_id:
            self.found[account] = self.by_id[account]
            return True
        ledgers = self.by_path.get(account, [])
        if len(ledgers) > 1:
            ids = ", ".join(sorted(ledger.id for ledger in ledgers))
            refusals.add(place, f"account {account!r} could be any of the ledgers {ids}; write the id")
        if ledgers:
            self.found[account] = ledgers[0]
        return bool(ledgers)


@dataclass
class _NewLedgers:
    """Ledgers to create, grown path by path in sorted order."""

    known: _ExistingLedgers
    cash: frozenset[str]
    refusals: Refusals
    ledgers: list[NewLedger] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    sort_codes: dict[str, str] = field(default_factory=dict)
    child_counts: dict[str, int] = field(default_factory=dict)

    def add(self, path: str) -> str:
        """Id of the ledger of `path`, which is made with all its parents unless it is there."""
        if path in self.ids:
            return self.ids[path]
        parent, _, name = path.rpartition(SEPARATOR)
        existing = self.known.by_path.get(path)
        if existing:
            self.ids[path], self.sort_codes[path] = existing[0].id, existing[0].sort_code
            self.child_counts[path] = sum(ledger.parent_id == existing[0].id for ledger in self.known.by_id.values())
            return existing[0].id
        parent_id = self.add(parent) if parent else None
        kind = TYPE_OF_ROOT[path.partition(SEPARATOR)[0].lower()]
        self.ids[path] = _id_of(path)
        self.sort_codes[path] = self._sort_code(parent, kind)
        is_cash = path in self.cash
        if is_cash and kind not in _CASH_ACCOUNT:
            self.refusals.add("", f"a cash pattern matches {path!r}: only assets and liabilities can be cash accounts")
        self.ledgers.append(
            NewLedger(
                name=name,
                editable=not is_cash,
                debit_credit=_NORMAL_SIDE[kind],
                type=kind,
                sub_type=SubType.CURRENT_LIABILITIES if is_cash and kind == LedgerType.LIABILITY else sub_type_of(path),
                financial_account_type=_CASH_ACCOUNT.get(kind) if is_cash else None,
                report_cash_flow=is_cash,
                parent_id=parent_id,
                sort_code=self.sort_codes[path],
                id=self.ids[path],
            )
        )
        return self.ids[path]

    def _sort_code(self, parent: str, kind: LedgerType) -> str:
        """Parent's code and a number of two digits or more; a child too deep for twenty digits shares its parent's."""
        above = self.sort_codes[parent] if parent else _SORT_DIGIT[kind]
        number = self.child_counts.get(parent or above, 0) + 1
        self.child_counts[parent or above] = number
        code = f"{above}{_ordered_number(number)}"
        return code if len(code) <= MAX_SORT_CODE_LENGTH else above


def sub_type_of(path: str) -> SubType:
    """Sub_type of an account: the usual one of its type, unless a word in its path tells more."""
    root, _, below = path.lower().partition(SEPARATOR)
    kind = TYPE_OF_ROOT[root]
    for of_type, sub_type, words in _TELLING_WORDS:
        if of_type == kind and words.search(below):
            return sub_type
    return _USUAL_SUB_TYPE[kind]


def _ordered_number(number: int) -> str:
    """Digits that sort as text like the number does: 01 to 89, then 9000 to 9899, and so on."""
    digits, prefix = 2, ""
    while number >= 9 * 10 ** (digits - 1):
        number -= 9 * 10 ** (digits - 1)
        digits, prefix = digits + 1, prefix + "9"
    return f"{prefix}{number:0{digits}d}"


def _is_path(account: str, place: str, refusals: Refusals) -> bool:
    segments = account.split(SEPARATOR)
    if any(not segment or segment != segment.strip() for segment in segments):
        refusals.add(place, f"account {account!r} has an empty segment or one with spaces around it")
    elif segments[0].lower() not in TYPE_OF_ROOT:
        refusals.add(
            place,
            f"account {account!r} is neither a ledger of this instance nor a path that starts with assets, "
            "liabilities, equity, income, revenue or expenses",
        )
    else:
        return True
    return False


def _matched(patterns: Sequence[str], accounts: Mapping[str, str], refusals: Refusals) -> dict[str, None]:
    """Accounts that any pattern matches; a pattern that matches none is refused."""
    matched: dict[str, None] = {}
    for pattern in patterns:
        expression = re.compile(fnmatch.translate(pattern.lower()))
        found = [account for account in accounts if expression.match(account.lower())]
        if not found:
            shown = sorted(accounts)[:_SHOWN_ACCOUNTS]
            more = f" and {len(accounts) - len(shown)} more" if len(accounts) > len(shown) else ""
            refusals.add("", f"cash pattern {pattern!r} matches no account; there are {', '.join(shown)}{more}")
        matched.update(dict.fromkeys(found))
    return matched


def _id_of(path: str) -> str:
    return f"led_{hashlib.sha256(path.encode()).hexdigest()[:24]}"
