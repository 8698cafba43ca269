"""The chart of accounts: closed vocabularies, defaults, the required ledgers, display order and hierarchy."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_SORT_CODE_LENGTH = 20


class DebitCredit(StrEnum):
    """Side of a line entry, and the normal balance of a ledger."""

    DEBIT = "debit"
    CREDIT = "credit"


class LedgerType(StrEnum):
    """Purpose of the recorded value, and the report it appears on."""

    ASSET = "asset"
    LIABILITY = "liability"
    EQUITY = "equity"
    REVENUE = "revenue"
    EXPENSE = "expense"


class SubType(StrEnum):
    """Group of ledgers with similar accounting treatment inside a type."""

    CURRENT_ASSETS = "current_assets"
    NON_CURRENT_ASSETS = "non-current_assets"
    TRANSFERS_BETWEEN_ACCOUNTS = "transfers_between_accounts"
    UNCATEGORIZED_ASSETS = "uncategorized_assets"
    CURRENT_LIABILITIES = "current_liabilities"
    NON_CURRENT_LIABILITIES = "non-current_liabilities"
    EQUITY = "equity"
    OPERATING_REVENUES = "operating_revenues"
    OTHER_INCOME = "other_income"
    COST_OF_GOODS_SOLD = "cost_of_goods_sold"
    OPERATING_EXPENSES = "operating_expenses"
    OTHER_EXPENSES = "other_expenses"


class FinancialAccountType(StrEnum):
    """Real-world financial account that a ledger represents."""

    BANK_ACCOUNT = "bank_account"
    CREDIT_CARD = "credit_card"
    PAYMENTS = "payments"
    PAYROLL = "payroll"
    LOAN = "loan"
    PREPAID_CARD = "prepaid_card"
    ACCOUNTS_RECEIVABLE = "accounts_receivable"
    ACCOUNTS_PAYABLE = "accounts_payable"


TYPE_OF_SUB_TYPE: Mapping[SubType, LedgerType] = {
    SubType.CURRENT_ASSETS: LedgerType.ASSET,
    SubType.NON_CURRENT_ASSETS: LedgerType.ASSET,
    SubType.TRANSFERS_BETWEEN_ACCOUNTS: LedgerType.ASSET,
    SubType.UNCATEGORIZED_ASSETS: LedgerType.ASSET,
    SubType.CURRENT_LIABILITIES: LedgerType.LIABILITY,
    SubType.NON_CURRENT_LIABILITIES: LedgerType.LIABILITY,
    SubType.EQUITY: LedgerType.EQUITY,
    SubType.OPERATING_REVENUES: LedgerType.REVENUE,
    SubType.OTHER_INCOME: LedgerType.REVENUE,
    SubType.COST_OF_GOODS_SOLD: LedgerType.EXPENSE,
    SubType.OPERATING_EXPENSES: LedgerType.EXPENSE,
    SubType.OTHER_EXPENSES: LedgerType.EXPENSE,
}
"""The one type that each sub_type belongs to."""


class LedgerDefaults(NamedTuple):
    """What the service supplies for a ledger that represents a financial account."""

    type: LedgerType
    sub_type: SubType
    debit_credit: DebitCredit
    report_cash_flow: bool


_CASH = LedgerDefaults(LedgerType.ASSET, SubType.CURRENT_ASSETS, DebitCredit.DEBIT, report_cash_flow=True)
_OWED = LedgerDefaults(LedgerType.LIABILITY, SubType.CURRENT_LIABILITIES, DebitCredit.CREDIT, report_cash_flow=False)
DEFAULTS: Mapping[FinancialAccountType, LedgerDefaults] = {
    FinancialAccountType.BANK_ACCOUNT: _CASH,
    FinancialAccountType.PREPAID_CARD: _CASH,
    FinancialAccountType.PAYMENTS: _CASH,
    FinancialAccountType.PAYROLL: _CASH,
    FinancialAccountType.ACCOUNTS_RECEIVABLE: _CASH._replace(report_cash_flow=False),
    FinancialAccountType.ACCOUNTS_PAYABLE: _OWED,
    FinancialAccountType.LOAN: _OWED,
    FinancialAccountType.CREDIT_CARD: _OWED._replace(report_cash_flow=True),
}
"""Defaults per financial account type; any of them may be overridden."""


class RequiredLedger(StrEnum):
    """The four ledgers every instance has; their names may change, so never find them by name."""

    TRANSFERS_BETWEEN_ACCOUNTS = "transfers between accounts"
    OPENING_BALANCE = "opening balance retained earnings"
    UNCATEGORIZED_INFLOW = "uncategorized cash inflow"
    UNCATEGORIZED_OUTFLOW = "uncategorized cash outflow"


def required_ledger(*, is_required: bool, sub_type: str, debit_credit: str) -> RequiredLedger | None:
    """Which required ledger these fields describe; None for an ordinary ledger.

    The two uncategorized ledgers may be revenue and expense elsewhere: they are the required ledgers that are neither
    transfers nor equity, the inflow one on the credit side.
    """
    if not is_required:
        return None
    if sub_type == SubType.TRANSFERS_BETWEEN_ACCOUNTS:
        return RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS
    if sub_type == SubType.EQUITY:
        return RequiredLedger.OPENING_BALANCE
    if debit_credit == DebitCredit.CREDIT:
        return RequiredLedger.UNCATEGORIZED_INFLOW
    return RequiredLedger.UNCATEGORIZED_OUTFLOW


def display_order(sort_code: str, ledger_id: str) -> tuple[str, str]:
    """Sort key of a ledger in reports: sort_code compared as text (``20010`` before ``3050``), then id."""
    return (sort_code, ledger_id)


class Hierarchy:
    """Which ledger is whose parent.

    Parameters
    ----------
    parents : Mapping of str to (str or None)
        Ledger id to parent id; None for a root. Ids that only occur as parents are roots.

    Raises
    ------
    HierarchyError
        The parents form a cycle; the message names the ledgers in it.
    """

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        self._parents = {child: parent for child, parent in parents.items() if parent is not None}
        self._children: dict[str, list[str]] = defaultdict(list)
        for child, parent in self._parents.items():
            self._children[parent].append(child)
        settled: set[str] = set()
        for start in self._parents:
            seen: dict[str, None] = {}
            at: str | None = start
            while at is not None and at not in settled:
                if at in seen:
                    cycle = [*list(seen)[list(seen).index(at) :], at]
                    msg = f"the parents of ledger {at!r} form a cycle: {' -> '.join(cycle)}"
                    raise HierarchyError(msg)
                seen[at] = None
                at = self._parents.get(at)
            settled.update(seen)

    def parent(self, ledger_id: str) -> str | None:
        """Parent of a ledger; None for a root or an unknown ledger."""
        return self._parents.get(ledger_id)

    def children(self, ledger_id: str) -> list[str]:
        """Direct children of a ledger."""
        return list(self._children.get(ledger_id, ()))

    def ancestors(self, ledger_id: str) -> Iterator[str]:
        """Parent, grandparent and so on up to the root."""
        at = self._parents.get(ledger_id)
        while at is not None:
            yield at
            at = self._parents.get(at)

    def descendants(self, ledger_id: str) -> Iterator[str]:
        """Children, grandchildren and so on, at any depth."""
        waiting = self.children(ledger_id)
        while waiting:
            at = waiting.pop()
            yield at
            waiting.extend(self._children.get(at, ()))
