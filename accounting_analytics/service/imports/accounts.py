"""Map account paths such as ``assets:bank:checking`` to ledgers with parents.

The first segment determines the type of all accounts below it: assets, liabilities, equity, income, revenue or
expenses, singular or plural and in any case. Every prefix of a path becomes a ledger too.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from accounting_analytics.core.chart_of_accounts import (
    MAX_SORT_CODE_LENGTH,
    DebitCredit,
    FinancialAccountType,
    LedgerType,
    SubType,
)
from accounting_analytics.core.ledger_names import PATH_SEPARATOR
from accounting_analytics.core.messages import join_ids
from accounting_analytics.service.ledgers import FIRST_DIGIT, NewLedger, names_of_ledgers
from accounting_analytics.service.stored_values import new_id

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from accounting_analytics.service.imports.file_books import ImportErrors
    from accounting_analytics.service.stored_values import StoredLedger

_MAX_ACCOUNTS = 30

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
"""Ledger type by the first segment of a path, in lower case."""

_NORMAL_SIDE: Mapping[LedgerType, DebitCredit] = {
    LedgerType.ASSET: DebitCredit.DEBIT,
    LedgerType.LIABILITY: DebitCredit.CREDIT,
    LedgerType.EQUITY: DebitCredit.CREDIT,
    LedgerType.REVENUE: DebitCredit.CREDIT,
    LedgerType.EXPENSE: DebitCredit.DEBIT,
}
_DEFAULT_SUB_TYPE: Mapping[LedgerType, SubType] = {
    LedgerType.ASSET: SubType.CURRENT_ASSETS,
    LedgerType.LIABILITY: SubType.CURRENT_LIABILITIES,
    LedgerType.EQUITY: SubType.EQUITY,
    LedgerType.REVENUE: SubType.OPERATING_REVENUES,
    LedgerType.EXPENSE: SubType.OPERATING_EXPENSES,
}
_SUB_TYPE_WORDS: Sequence[tuple[LedgerType, SubType, re.Pattern[str]]] = (
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

_CASH_WORDS = re.compile(
    r"bank|cash|check|cheq|saving|giro|current account|wallet|paypal|stripe|credit.?card|\bcard|visa|amex"
)


AnyLedger: TypeAlias = "NewLedger | StoredLedger"


class AccountMapping(NamedTuple):
    """The ledger of each account of a file, and the ledgers to create, parents first."""

    ledgers: dict[str, AnyLedger]
    new_ledgers: list[NewLedger]


def map_accounts(
    accounts: Mapping[str, str],
    *,
    cash: Sequence[str],
    existing: Sequence[StoredLedger],
    id_suffix: str,
    errors: ImportErrors,
) -> AccountMapping:
    """Map accounts, each with its first line in a file, to existing ledgers by id or path, or to new ones by path.

    Only accounts with lines become cash accounts, never their parents.
    """
    chart = _Chart(existing, id_suffix)
    ledgers = {account: chart.find(account, location, errors) for account, location in accounts.items()}
    new_paths = [account for account, ledger in ledgers.items() if ledger is None]
    for account in new_paths:
        if problem := _path_problem(account):
            errors.add(accounts[account], f"account {account!r} {problem}")
    errors.raise_if_any()
    cash_accounts = _match_cash(cash, accounts, errors)
    for account in cash_accounts:
        ledger = ledgers[account]
        if ledger is None and _type_of(account) not in _CASH_ACCOUNT:
            errors.add("", f"a cash pattern matches {account!r}: only assets and liabilities can be cash accounts")
        elif ledger is not None and not ledger.report_cash_flow:
            errors.add(
                accounts[account],
                f"ledger {account!r} exists and does not report cash flow; remove it from the cash patterns",
            )
    errors.raise_if_any()
    added = {path: chart.add(path, cash_accounts) for path in sorted(new_paths, key=_segments)}
    return AccountMapping({account: ledger or added[account] for account, ledger in ledgers.items()}, chart.new_ledgers)


class _Chart:
    """Ledgers of an instance by id and by the path of their names, to which new ones are added path by path."""

    def __init__(self, existing: Sequence[StoredLedger], id_suffix: str) -> None:
        self._by_id = {ledger.id: ledger for ledger in existing}
        self._id_suffix = id_suffix
        self._by_path: defaultdict[str, list[AnyLedger]] = defaultdict(list)
        self._child_counts = Counter(self._by_id[one.parent_id].sort_code for one in existing if one.parent_id)
        self.new_ledgers: list[NewLedger] = []
        names = names_of_ledgers(existing)
        for ledger in existing:
            self._by_path[names.path(ledger.id)].append(ledger)

    def find(self, account: str, location: str, errors: ImportErrors) -> AnyLedger | None:
        """Ledger with an id or path; an ambiguous path is an error."""
        if account in self._by_id:
            return self._by_id[account]
        ledgers = self._by_path.get(account, [])
        if len(ledgers) > 1:
            ids = ", ".join(sorted(str(ledger.id) for ledger in ledgers))
            errors.add(location, f"account {account!r} could be any of the ledgers {ids}; use the id")
        return ledgers[0] if ledgers else None

    def add(self, path: str, cash: Container[str]) -> AnyLedger:
        """Ledger of a path, which is created with its parents unless it exists."""
        if path in self._by_path:
            return self._by_path[path][0]
        parent_path, _, name = path.rpartition(PATH_SEPARATOR)
        parent = self.add(parent_path, cash) if parent_path else None
        kind, is_cash = _type_of(path), path in cash
        is_card = is_cash and kind == LedgerType.LIABILITY
        ledger_id = path_id(path, self._id_suffix)
        ledger = NewLedger(
            name=name,
            editable=not is_cash,
            debit_credit=_NORMAL_SIDE[kind],
            type=kind,
            sub_type=SubType.CURRENT_LIABILITIES if is_card else guess_sub_type(path),
            financial_account_type=_CASH_ACCOUNT[kind] if is_cash else None,
            report_cash_flow=is_cash,
            parent_id=parent.id if parent else None,
            sort_code=self._sort_code(str(parent.sort_code) if parent else FIRST_DIGIT[kind]),
            id=new_id("led") if ledger_id in self._by_id else ledger_id,  # that ledger has another name or parent now
        )
        self._by_path[path].append(ledger)
        self.new_ledgers.append(ledger)
        return ledger

    def _sort_code(self, prefix: str) -> str:
        """Parent's code and a number of at least two digits; or the parent's code, if that would be too long."""
        self._child_counts[prefix] += 1
        code = f"{prefix}{_ordered_number(self._child_counts[prefix])}"
        return code if len(code) <= MAX_SORT_CODE_LENGTH else prefix


def path_id(path: str, id_suffix: str) -> str:
    """Id that an import gives the ledger of a path."""
    return f"led_{hashlib.sha256(f'{path}{id_suffix}'.encode()).hexdigest()[:24]}"


def likely_cash(accounts: Iterable[str]) -> list[str]:
    """Assets and liabilities whose path has a word of bank accounts or cards."""
    return [
        account
        for account in accounts
        if TYPE_OF_ROOT.get(_root(account)) in _CASH_ACCOUNT and _CASH_WORDS.search(account.lower())
    ]


def guess_sub_type(path: str) -> SubType:
    """Sub_type of an account: that of a word in its path, or the default of its type."""
    ledger_type, below = _type_of(path), path.lower().partition(PATH_SEPARATOR)[2]
    for word_type, sub_type, words in _SUB_TYPE_WORDS:
        if word_type == ledger_type and words.search(below):
            return sub_type
    return _DEFAULT_SUB_TYPE[ledger_type]


def _ordered_number(number: int) -> str:
    """Digits that sort as text in the order of the numbers: 01 to 89, then 9000 to 9899, and so on."""
    digits, prefix = 2, ""
    while number >= 9 * 10 ** (digits - 1):
        number -= 9 * 10 ** (digits - 1)
        digits, prefix = digits + 1, prefix + "9"
    return f"{prefix}{number:0{digits}d}"


def _path_problem(account: str) -> str:
    """Why an account that is not an existing ledger cannot be the path of a new one; empty if it can."""
    segments = _segments(account)
    if any(not segment or segment != segment.strip() for segment in segments):
        return "has an empty segment or one with spaces around it"
    if _root(account) not in TYPE_OF_ROOT:
        return (
            "is neither a ledger of this instance nor a path that starts with assets, liabilities, equity, income, "
            "revenue or expenses (in journals, --root gives the type of others)"
        )
    return ""


def _segments(path: str) -> list[str]:
    return path.split(PATH_SEPARATOR)


def _root(path: str) -> str:
    return _segments(path)[0].lower()


def _type_of(path: str) -> LedgerType:
    return TYPE_OF_ROOT[_root(path)]


def _match_cash(patterns: Sequence[str], accounts: Mapping[str, str], errors: ImportErrors) -> list[str]:
    """Accounts that match any pattern; a pattern without a match is an error."""
    matched: set[str] = set()
    for pattern in patterns:
        expression = re.compile(fnmatch.translate(pattern.lower()))
        found = [account for account in accounts if expression.match(account.lower())]
        if not found:
            known = join_ids(accounts, limit=_MAX_ACCOUNTS)
            errors.add("", f"cash pattern {pattern!r} matches no account; the accounts are {known}")
        matched.update(found)
    return [account for account in accounts if account in matched]
