"""Map account paths such as ``assets:bank:checking`` to ledgers with parents.

The first segment determines the type of all accounts below it: assets, liabilities, equity, income, revenue or
expenses, singular or plural and in any case. Every prefix of a path becomes a ledger too.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from accounting_analytics.chart_of_accounts import (
    MAX_SORT_CODE_LENGTH,
    DebitCredit,
    FinancialAccountType,
    LedgerType,
    SubType,
)
from accounting_analytics.ledger_names import PATH_SEPARATOR
from accounting_analytics.messages import join_ids
from accounting_analytics.service.bookkeeping.ledgers import FIRST_DIGIT, NewLedger, names_of_ledgers
from accounting_analytics.service.wire.stored_values import new_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.service.imports.import_errors import ImportErrors
    from accounting_analytics.service.wire.stored_values import StoredLedger

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


@dataclass(frozen=True)
class AccountMapping:
    """Ledgers of the accounts in a file, those to create (parents first), and who has transactions or cash flow."""

    ledger_ids: dict[str, str]
    new_ledgers: tuple[NewLedger, ...]
    financial: frozenset[str]
    cash: tuple[str, ...]


def map_accounts(
    accounts: Mapping[str, str],
    *,
    cash: Sequence[str],
    existing: Iterable[StoredLedger],
    id_suffix: str = "",
    errors: ImportErrors,
) -> AccountMapping:
    """Map accounts to ledgers: existing ones by id or path of names, new ones under their path.

    Only accounts with lines become cash accounts, never their parents.
    """
    existing_ledgers = _ExistingLedgers(existing)
    new_paths = [
        account
        for account, location in accounts.items()
        if not existing_ledgers.find(account, location, errors) and _is_valid_path(account, location, errors)
    ]
    cash_accounts = _match_cash(cash, accounts, errors)
    new_ledgers = _NewLedgers(existing_ledgers, frozenset(cash_accounts), id_suffix, errors)
    for path in sorted(new_paths, key=lambda path: path.split(PATH_SEPARATOR)):
        new_ledgers.add(path)
    for account in cash_accounts:
        if account in existing_ledgers.found and not existing_ledgers.found[account].report_cash_flow:
            errors.add(
                accounts[account],
                f"ledger {account!r} exists and does not report cash flow; remove it from the cash patterns",
            )
    found = existing_ledgers.found.items()
    return AccountMapping(
        ledger_ids={account: ledger.id for account, ledger in found}
        | {path: new_ledgers.ids[path] for path in new_paths if path in new_ledgers.ids},
        new_ledgers=tuple(new_ledgers.ledgers),
        financial=frozenset(account for account, ledger in found if ledger.financial_account_type is not None)
        | frozenset(cash_accounts).difference(existing_ledgers.found),
        cash=tuple(sorted({*cash_accounts, *(account for account, ledger in found if ledger.report_cash_flow)})),
    )


class _ExistingLedgers:
    """Ledgers of the instance, found by id or by the path of their names."""

    def __init__(self, ledgers: Iterable[StoredLedger]) -> None:
        self.by_id = {ledger.id: ledger for ledger in ledgers}
        self.found: dict[str, StoredLedger] = {}
        self.by_path: dict[str, list[StoredLedger]] = {}
        names = names_of_ledgers(list(self.by_id.values()))
        for ledger in self.by_id.values():
            self.by_path.setdefault(names.path(ledger.id), []).append(ledger)

    def find(self, account: str, location: str, errors: ImportErrors) -> bool:
        """Whether `account` is an existing ledger; an ambiguous path is an error."""
        if account in self.by_id:
            self.found[account] = self.by_id[account]
            return True
        ledgers = self.by_path.get(account, [])
        if len(ledgers) > 1:
            ids = ", ".join(sorted(ledger.id for ledger in ledgers))
            errors.add(location, f"account {account!r} could be any of the ledgers {ids}; use the id")
        if ledgers:
            self.found[account] = ledgers[0]
        return bool(ledgers)


@dataclass
class _NewLedgers:
    """Ledgers to create, added path by path in sorted order."""

    existing: _ExistingLedgers
    cash: frozenset[str]
    id_suffix: str
    errors: ImportErrors
    ledgers: list[NewLedger] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    sort_codes: dict[str, str] = field(default_factory=dict)
    child_counts: dict[str, int] = field(default_factory=dict)

    def add(self, path: str) -> str:
        """Id of the ledger of `path`, which is created with its parents unless it exists."""
        if path in self.ids:
            return self.ids[path]
        parent, _, name = path.rpartition(PATH_SEPARATOR)
        existing = self.existing.by_path.get(path)
        if existing:
            ledger_id = self.ids[path] = existing[0].id
            self.sort_codes[path] = existing[0].sort_code
            self.child_counts[path] = sum(ledger.parent_id == ledger_id for ledger in self.existing.by_id.values())
            return ledger_id
        parent_id = self.add(parent) if parent else None
        ledger_type = TYPE_OF_ROOT[path.partition(PATH_SEPARATOR)[0].lower()]
        self.ids[path] = self._ledger_id(path)
        self.sort_codes[path] = self._sort_code(parent, ledger_type)
        fields = self._cash_fields(path, ledger_type) if path in self.cash else {"sub_type": guess_sub_type(path)}
        self.ledgers.append(
            NewLedger(
                name=name,
                debit_credit=_NORMAL_SIDE[ledger_type],
                type=ledger_type,
                parent_id=parent_id,
                sort_code=self.sort_codes[path],
                id=self.ids[path],
                **({"report_cash_flow": False} | fields),
            )
        )
        return self.ids[path]

    def _cash_fields(self, path: str, ledger_type: LedgerType) -> dict[str, Any]:
        """Fields of a cash account, whose lines are changed only by posting."""
        if ledger_type not in _CASH_ACCOUNT:
            self.errors.add("", f"a cash pattern matches {path!r}: only assets and liabilities can be cash accounts")
        is_card = ledger_type == LedgerType.LIABILITY
        return {
            "editable": False,
            "sub_type": SubType.CURRENT_LIABILITIES if is_card else guess_sub_type(path),
            "financial_account_type": _CASH_ACCOUNT.get(ledger_type),
            "report_cash_flow": True,
        }

    def _ledger_id(self, path: str) -> str:
        """Id of a path in this instance; a random one if that ledger has another name or parent now."""
        ledger_id = path_id(path, self.id_suffix)
        return new_id("led") if ledger_id in self.existing.by_id else ledger_id

    def _sort_code(self, parent: str, ledger_type: LedgerType) -> str:
        """Parent's code and a number of at least two digits; or the parent's code, if that would be too long."""
        prefix = self.sort_codes[parent] if parent else FIRST_DIGIT[ledger_type]
        number = self.child_counts.get(parent or prefix, 0) + 1
        self.child_counts[parent or prefix] = number
        code = f"{prefix}{_ordered_number(number)}"
        return code if len(code) <= MAX_SORT_CODE_LENGTH else prefix


def path_id(path: str, id_suffix: str) -> str:
    """Id that an import gives the ledger of a path."""
    return f"led_{hashlib.sha256(f'{path}{id_suffix}'.encode()).hexdigest()[:24]}"


def likely_cash(accounts: Iterable[str]) -> list[str]:
    """Assets and liabilities whose path has a word of bank accounts or cards."""
    roots = {name for name, ledger_type in TYPE_OF_ROOT.items() if ledger_type in _CASH_ACCOUNT}
    return [
        account
        for account in accounts
        if account.partition(PATH_SEPARATOR)[0].lower() in roots and _CASH_WORDS.search(account.lower())
    ]


def guess_sub_type(path: str) -> SubType:
    """Sub_type of an account: that of a word in its path, or the default of its type."""
    root, _, below = path.lower().partition(PATH_SEPARATOR)
    ledger_type = TYPE_OF_ROOT[root]
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


def _is_valid_path(account: str, location: str, errors: ImportErrors) -> bool:
    segments = account.split(PATH_SEPARATOR)
    if any(not segment or segment != segment.strip() for segment in segments):
        errors.add(location, f"account {account!r} has an empty segment or one with spaces around it")
    elif segments[0].lower() not in TYPE_OF_ROOT:
        errors.add(
            location,
            f"account {account!r} is neither a ledger of this instance nor a path that starts with assets, "
            "liabilities, equity, income, revenue or expenses (in journals, --root gives the type of others)",
        )
    else:
        return True
    return False


def _match_cash(patterns: Sequence[str], accounts: Mapping[str, str], errors: ImportErrors) -> dict[str, None]:
    """Accounts that match any pattern; a pattern without a match is an error."""
    matched: dict[str, None] = {}
    for pattern in patterns:
        expression = re.compile(fnmatch.translate(pattern.lower()))
        found = [account for account in accounts if expression.match(account.lower())]
        if not found:
            known = join_ids(accounts, limit=_MAX_ACCOUNTS)
            errors.add("", f"cash pattern {pattern!r} matches no account; the accounts are {known}")
        matched.update(dict.fromkeys(found))
    return matched
