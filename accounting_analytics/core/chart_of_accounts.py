"""The chart of accounts: enumerations, defaults, required ledgers, display order and hierarchy."""

from __future__ import annotations

from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.core.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_SORT_CODE_LENGTH = 20


class DebitCredit(StrEnum):
    """Side of a line entry, or normal balance of a ledger."""

    DEBIT = "debit"
    CREDIT = "credit"


class LedgerType(StrEnum):
    """Type of a ledger, which decides the report that shows the ledger."""

    ASSET = "asset"
    LIABILITY = "liability"
    EQUITY = "equity"
    REVENUE = "revenue"
    EXPENSE = "expense"


class SubType(StrEnum):
    """Group of ledgers within a type."""

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
"""Type that each sub_type belongs to."""


class LedgerDefaults(NamedTuple):
    """Default values for a ledger that represents a financial account."""

    type: LedgerType
    sub_type: SubType
    debit_credit: DebitCredit
    report_cash_flow: bool


_CASH = LedgerDefaults(LedgerType.ASSET, SubType.CURRENT_ASSETS, DebitCredit.DEBIT, report_cash_flow=True)
_PAYABLE = LedgerDefaults(LedgerType.LIABILITY, SubType.CURRENT_LIABILITIES, DebitCredit.CREDIT, report_cash_flow=False)
DEFAULTS: Mapping[FinancialAccountType, LedgerDefaults] = {
    FinancialAccountType.BANK_ACCOUNT: _CASH,
    FinancialAccountType.PREPAID_CARD: _CASH,
    FinancialAccountType.PAYMENTS: _CASH,
    FinancialAccountType.PAYROLL: _CASH,
    FinancialAccountType.ACCOUNTS_RECEIVABLE: _CASH._replace(report_cash_flow=False),
    FinancialAccountType.ACCOUNTS_PAYABLE: _PAYABLE,
    FinancialAccountType.LOAN: _PAYABLE,
    FinancialAccountType.CREDIT_CARD: _PAYABLE._replace(report_cash_flow=True),
}
"""Defaults for each financial account type. Each default can be overridden."""


class RequiredLedger(StrEnum):
    """Roles of the four ledgers that every instance has. Ledgers are found by role, because users may rename them."""

    TRANSFERS_BETWEEN_ACCOUNTS = "transfers between accounts"
    OPENING_BALANCE = "opening balance retained earnings"
    UNCATEGORIZED_INFLOW = "uncategorized cash inflow"
    UNCATEGORIZED_OUTFLOW = "uncategorized cash outflow"


def required_ledger(*, is_required: bool, sub_type: str, debit_credit: str) -> RequiredLedger | None:
    """Return the required ledger with these fields, or None for an ordinary ledger.

    The type of the two uncategorized ledgers differs between deployments. They are the required ledgers that are
    neither transfers nor equity, and the ledger for inflows is on the credit side.
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


def required_roles(ledgers: Iterable[Mapping[Any, Any]], stated: Mapping[str, str]) -> dict[str, RequiredLedger]:
    """Return the roles of required ledgers by id. Roles in `stated` have precedence."""
    roles = {}
    for row in ledgers:
        is_required, sub_type, side = bool(row["is_required"]), row["sub_type"] or "", row["debit_credit"] or ""
        if role := required_ledger(is_required=is_required, sub_type=sub_type, debit_credit=side):
            roles[row["id"]] = role
    for role_name, ledger_id in stated.items():
        role = RequiredLedger(role_name)
        if roles.get(ledger_id) != role:  # the chart of accounts gives the role to another ledger
            roles = {other_id: other for other_id, other in roles.items() if other != role} | {ledger_id: role}
    return roles


def display_order(sort_code: str, ledger_id: str) -> tuple[str, str]:
    """Return the sort key of a ledger: sort_code as text (``20010`` before ``3050``), then id."""
    return (sort_code, ledger_id)


class Hierarchy:
    """Parents and ancestors of ledgers.

    Parameters
    ----------
    parents : Mapping of str to (str or None)
        Parent id by ledger id; None for a root. Ids that occur only as parents are roots.

    Raises
    ------
    HierarchyError
        The parents form a cycle; the message names the ledgers in it.
    """

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        self._parents = {child: parent for child, parent in parents.items() if parent is not None}
        self._refuse_cycles()

    def _refuse_cycles(self) -> None:
        try:
            TopologicalSorter({child: (parent,) for child, parent in self._parents.items()}).prepare()
        except CycleError as error:
            cycle = error.args[1][::-1]  # ids on the way from child to parent
            raise HierarchyError(f"the parents of ledger {cycle[0]!r} form a cycle: {' -> '.join(cycle)}") from None

    def parent(self, ledger_id: str) -> str | None:
        """Return the parent of a ledger, or None for a root or an unknown ledger."""
        return self._parents.get(ledger_id)

    def ancestors(self, ledger_id: str) -> Iterator[str]:
        """Yield the parent, the grandparent and so on up to the root."""
        parent = self.parent(ledger_id)
        while parent is not None:
            yield parent
            parent = self.parent(parent)

    def with_descendants(self, ledger_id: str) -> set[str]:
        """Return a ledger and all ledgers below it."""
        return {ledger_id, *(child for child in self._parents if ledger_id in self.ancestors(child))}

    def root(self, ledger_id: str) -> str:
        """Return the topmost ancestor, or the ledger itself if it has no parent."""
        root = ledger_id
        for root in self.ancestors(ledger_id):  # noqa: B007 (the last one)
            pass
        return root
