"""Accounts of a file: paths such as ``assets:bank:checking`` become accounts with parents.

The first segment determines the type of all accounts below it: assets, liabilities, equity, income, revenue or
expenses, singular or plural and in any case. Every prefix of a path also becomes an account.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import shlex
from collections import Counter, defaultdict
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from accounting_analytics.core.chart_of_accounts import (
    MAX_SORT_CODE_LENGTH,
    TYPE_OF_SUB_TYPE,
    DebitCredit,
    FinancialAccountType,
    Hierarchy,
    LedgerType,
    RequiredLedger,
    SubType,
)
from accounting_analytics.core.ledger_names import PATH_SEPARATOR, LedgerNames
from accounting_analytics.core.messages import join_ids

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.journals.file_entries import FileEntries, FileErrors

_MAX_ACCOUNTS = 30
_MAX_NAMED = 4

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


FIRST_DIGIT: Mapping[LedgerType, str] = {
    LedgerType.ASSET: "1",
    LedgerType.LIABILITY: "2",
    LedgerType.EQUITY: "3",
    LedgerType.REVENUE: "4",
    LedgerType.EXPENSE: "5",
}
"""First digit of the sort codes of each type."""


_OPENING = re.compile(f"equity{PATH_SEPARATOR}opening")
"""Accounts against which hledger and others post opening balances by convention."""


class Account(NamedTuple):
    """An account with all fields of a ledger of the interface."""

    id: str
    name: str
    type: LedgerType
    sub_type: SubType
    debit_credit: DebitCredit
    report_cash_flow: bool
    sort_code: str
    parent_id: str | None = None
    financial_account_type: FinancialAccountType | None = None
    is_required: bool = False
    editable: bool = True


def path_id(path: str, id_suffix: str = "") -> str:
    """Return the ledger id of a path, in books with an id suffix."""
    return f"led_{hashlib.sha256(f'{path}{id_suffix}'.encode()).hexdigest()[:24]}"


def _required(name: str, sub_type: SubType, side: DebitCredit, sort_code: str) -> Account:
    kind = TYPE_OF_SUB_TYPE[sub_type]
    return Account(
        path_id(name), name, kind, sub_type, side, report_cash_flow=False, sort_code=sort_code, is_required=True
    )


_DEBIT, _CREDIT = DebitCredit.DEBIT, DebitCredit.CREDIT
REQUIRED_ACCOUNTS: Mapping[RequiredLedger, Account] = {
    RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS: _required(
        "Transfers Between Accounts", SubType.TRANSFERS_BETWEEN_ACCOUNTS, _DEBIT, "10001"
    ),
    RequiredLedger.UNCATEGORIZED_INFLOW: _required(
        "Uncategorized Cash Inflow", SubType.UNCATEGORIZED_ASSETS, _CREDIT, "10002"
    ),
    RequiredLedger.UNCATEGORIZED_OUTFLOW: _required(
        "Uncategorized Cash Outflow", SubType.UNCATEGORIZED_ASSETS, _DEBIT, "10003"
    ),
    RequiredLedger.OPENING_BALANCE: _required("Opening Balance Retained Earnings", SubType.EQUITY, _CREDIT, "30001"),
}
"""The four accounts that all books have. An instance of a service gives these accounts its own ids."""


class AccountMapping(NamedTuple):
    """The account in the books for each account of a file, and new accounts, parents first.

    `openings` are the accounts of the file that map to the ledger of opening balances.
    """

    accounts: dict[str, Account]
    new: list[Account]
    openings: Sequence[str] = ()

    def needed(self, names: Iterable[str]) -> list[Account]:
        """Select the new accounts that accounts of the file need, with parents."""
        needed: set[str | None] = {self.accounts[name].id for name in names}
        for account in reversed(self.new):  # children before their parents
            if account.id in needed:
                needed.add(account.parent_id)
        return [account for account in self.new if account.id in needed]


def map_accounts(
    accounts: Mapping[str, str],
    *,
    cash: Sequence[str],
    openings: Sequence[str] | None,
    padded: Container[str],
    existing: Sequence[Account],
    id_suffix: str,
    errors: FileErrors,
) -> AccountMapping:
    """Map accounts of a file to existing ones, or to new ones by path.

    Existing accounts are found by id or path. `accounts` maps each account to its first line in the file. Only accounts
    with lines become cash accounts, never their parents. Accounts of opening balances become the required ledger, by
    which other programs recognize opening balances.
    """
    chart = _Chart(existing, id_suffix)
    known = {account: chart.find(account, location, errors) for account, location in accounts.items()}
    opened = _opening_accounts(accounts, openings, padded, known, errors)
    known |= dict.fromkeys(opened, chart.opening_balance)
    new_paths = [account for account, found in known.items() if found is None]
    for account in new_paths:
        if problem := _path_problem(account):
            errors.add(accounts[account], f"account {account!r} {problem}")
    errors.raise_if_any()
    cash_accounts = _match(cash, accounts, errors, "cash")
    for account in cash_accounts:
        found = known[account]
        if found is None and type_of_path(account) not in _CASH_ACCOUNT:
            errors.add("", f"a cash pattern matches {account!r}: only assets and liabilities can be cash accounts")
        elif found is not None and not found.report_cash_flow:
            errors.add(
                accounts[account],
                f"ledger {account!r} exists and does not report cash flow; remove it from the cash patterns",
            )
    errors.raise_if_any()
    added = {path: chart.add(path, cash_accounts) for path in sorted(new_paths, key=_segments)}
    mapped = {account: found or added[account] for account, found in known.items()}
    return AccountMapping(mapped, chart.new, [name for name in opened if name != chart.opening_balance.name])


def check_transactions(books: FileEntries, accounts: Mapping[str, Account]) -> None:
    """Refuse a file that states transactions on accounts that cannot have any."""
    for name, locations in books.transactions.items():
        if accounts[name].financial_account_type is None:
            books.errors.add(
                locations[0],
                f"account {name!r} is not a cash account, so its lines ({len(locations)}) cannot be transactions; "
                "declare it as cash (--cash, or cash=), or leave the transaction columns empty",
            )
    books.errors.raise_if_any()


def refuse_without_cash(books: FileEntries) -> NoReturn:
    """Refuse a file without a cash account, and name accounts that are likely cash."""
    likely = likely_cash(books.accounts)
    named = f"likely: {join_ids(likely, limit=_MAX_NAMED)}" if likely else "none of them looks like one"
    patterns = likely[:_MAX_NAMED] or ["PATTERN"]
    options = " ".join(f"--cash {shlex.quote(account) if likely else account}" for account in patterns)
    books.errors.fail(
        f"no account reports cash flow, so every cash flow report would be empty; {named}: give {options} "
        f"(cash={patterns!r}), or --no-cash (cash=[]) if there is none"
    )


class _Chart:
    """Accounts by id and by path.

    New accounts are added by path.
    """

    def __init__(self, existing: Sequence[Account], id_suffix: str) -> None:
        self._by_id = {account.id: account for account in existing}
        self._id_suffix = id_suffix
        self._by_path: defaultdict[str, list[Account]] = defaultdict(list)
        self._child_counts = Counter(
            self._by_id[account.parent_id].sort_code for account in existing if account.parent_id
        )
        self.new: list[Account] = []
        parents = Hierarchy({account.id: account.parent_id for account in existing})
        names = LedgerNames({account.id: account.name for account in existing}, parents)
        for account in existing:
            self._by_path[names.path(account.id)].append(account)

    @property
    def opening_balance(self) -> Account:
        """The required account of opening balances."""
        required = (account for account in self._by_id.values() if account.is_required)
        return next(account for account in required if account.sub_type == SubType.EQUITY)

    def find(self, account: str, location: str, errors: FileErrors) -> Account | None:
        """Find an account by id or path. An ambiguous path is an error."""
        if account in self._by_id:
            return self._by_id[account]
        found = self._by_path.get(account, [])
        if len(found) > 1:
            ids = ", ".join(sorted(candidate.id for candidate in found))
            errors.add(location, f"account {account!r} could be any of the ledgers {ids}; use the id")
        return found[0] if found else None

    def add(self, path: str, cash: Container[str]) -> Account:
        """Return the account of a path. If it is missing, create it with its parents."""
        if path in self._by_path:
            return self._by_path[path][0]
        parent_path, _, name = path.rpartition(PATH_SEPARATOR)
        parent = self.add(parent_path, cash) if parent_path else None
        kind, is_cash = type_of_path(path), path in cash
        is_card = is_cash and kind == LedgerType.LIABILITY
        account = Account(
            id=self._unused_id(path),
            name=name,
            editable=not is_cash,
            debit_credit=_NORMAL_SIDE[kind],
            type=kind,
            sub_type=SubType.CURRENT_LIABILITIES if is_card else guess_sub_type(path),
            financial_account_type=_CASH_ACCOUNT[kind] if is_cash else None,
            report_cash_flow=is_cash,
            parent_id=parent.id if parent else None,
            sort_code=self._sort_code(parent.sort_code if parent else FIRST_DIGIT[kind]),
        )
        self._by_path[path].append(account)
        self.new.append(account)
        return account

    def _unused_id(self, path: str) -> str:
        """Return an unused id of a path.

        If another account has the id, a number is added.
        """
        numbers = chain([""], map(str, count(2)))
        ids = (path_id(path, f"{self._id_suffix}{number}") for number in numbers)
        return next(account_id for account_id in ids if account_id not in self._by_id)

    def _sort_code(self, prefix: str) -> str:
        """Return the sort code of the parent with the next number.

        If the code would be too long, return the parent's code.
        """
        self._child_counts[prefix] += 1
        code = f"{prefix}{_ordered_number(self._child_counts[prefix])}"
        return code if len(code) <= MAX_SORT_CODE_LENGTH else prefix


def likely_cash(accounts: Iterable[str]) -> list[str]:
    """List assets and liabilities whose path has a word of cash accounts."""
    return [
        account
        for account in accounts
        if TYPE_OF_ROOT.get(_root(account)) in _CASH_ACCOUNT and _CASH_WORDS.search(account.lower())
    ]


def guess_sub_type(path: str) -> SubType:
    """Guess a sub_type from words in the path, else from the type."""
    ledger_type, below = type_of_path(path), path.lower().partition(PATH_SEPARATOR)[2]
    for word_type, sub_type, words in _SUB_TYPE_WORDS:
        if word_type == ledger_type and words.search(below):
            return sub_type
    return _DEFAULT_SUB_TYPE[ledger_type]


def _ordered_number(number: int) -> str:
    """Write a number as a text that sorts in numeric order.

    For example, 89 and 90 become ``89`` and ``9000``.
    """
    digits, prefix = 2, ""
    while number >= 9 * 10 ** (digits - 1):
        number -= 9 * 10 ** (digits - 1)
        digits, prefix = digits + 1, prefix + "9"
    return f"{prefix}{number:0{digits}d}"


def _path_problem(account: str) -> str:
    """Say why a path cannot be a new account, or return ""."""
    segments = _segments(account)
    if any(not segment or segment != segment.strip() for segment in segments):
        return "has an empty segment or one with spaces around it"
    if _root(account) not in TYPE_OF_ROOT:
        return (
            "is neither a ledger of the books nor a path that starts with assets, liabilities, equity, income, "
            "revenue or expenses (in journals, --root or roots= gives the type of others)"
        )
    return ""


def _segments(path: str) -> list[str]:
    return path.split(PATH_SEPARATOR)


def _root(path: str) -> str:
    return _segments(path)[0].lower()


def type_of_path(path: str) -> LedgerType:
    """Return the ledger type that a path's first segment determines."""
    return TYPE_OF_ROOT[_root(path)]


def _opening_accounts(
    accounts: Mapping[str, str],
    patterns: Sequence[str] | None,
    padded: Container[str],
    known: Mapping[str, Account | None],
    errors: FileErrors,
) -> list[str]:
    """List the equity accounts of opening balances, by pattern or convention.

    By convention these are ``equity:opening*``, and accounts from which a ``pad`` of beancount takes balances, unless
    the account exists.
    """
    if patterns is None:
        new = (name for name in accounts if known[name] is None and TYPE_OF_ROOT.get(_root(name)) == LedgerType.EQUITY)
        return [name for name in new if name in padded or _OPENING.match(name.lower())]
    matched = _match(patterns, accounts, errors, "opening")
    for name in matched:
        found = known[name]
        if (TYPE_OF_ROOT.get(_root(name)) if found is None else found.type) != LedgerType.EQUITY:
            errors.add("", f"an opening pattern matches {name!r}: only accounts of equity have opening balances")
    errors.raise_if_any()
    return matched


def opening_notes(mapping: AccountMapping) -> Iterator[str]:
    """Write a note that names the accounts of a file that become the ledger of opening balances."""
    if mapping.openings:
        name = mapping.accounts[mapping.openings[0]].name
        yield f"entries of {join_ids(mapping.openings)} are opening balances, no inflow: they are on the ledger {name}"


def _match(patterns: Sequence[str], accounts: Mapping[str, str], errors: FileErrors, what: str) -> list[str]:
    """List accounts that match a pattern. A pattern that no account matches is an error."""
    matched: set[str] = set()
    for pattern in patterns:
        expression = re.compile(fnmatch.translate(pattern.lower()))
        found = [account for account in accounts if expression.match(account.lower())]
        if not found:
            known = join_ids(accounts, limit=_MAX_ACCOUNTS)
            errors.add("", f"{what} pattern {pattern!r} matches no account; the accounts are {known}")
        matched.update(found)
    return [account for account in accounts if account in matched]
