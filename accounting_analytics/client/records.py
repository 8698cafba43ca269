"""Typed wire records of the responses: exact decimals, open enumerations, unknown fields ignored.

The names are the interface's. Absent and null are both None. Decoding a value that breaks the interface, such as an
empty id, raises an error with the path of the field.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Id = Annotated[str, msgspec.Meta(min_length=1)]


class Ledger(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A ledger. Nested inside another object, it has no ``parent_id``."""

    id: Id
    name: str
    debit_credit: str
    type: str
    sub_type: str
    sort_code: str
    report_cash_flow: bool
    is_required: bool | None = None
    editable: bool = True
    financial_account_type: str | None = None
    parent_id: Id | msgspec.UnsetType | None = msgspec.UNSET
    parent: Ledger | msgspec.UnsetType | None = msgspec.UNSET
    created_at: dt.datetime | None = None


class Transaction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """View of a line entry on a financial-account ledger."""

    id: Id
    amount: Decimal | None = None
    datetime: dt.datetime | None = None
    description: str | None = None
    journal_entry_id: Id | None = None
    ledger_id: Id | None = None
    line_entry_id: Id | None = None
    opposing_line_entry_ids: list[Id] | None = None
    personal: bool | None = None
    posted_status: str | None = None
    review_status: str | None = None
    source_account_id: Id | None = None
    categorization_method: str | None = None


class Category(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A category of a transaction: the ledger of an opposing line."""

    ledger_id: Id
    ledger_name: str | None = None
    editable: bool | None = None


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The journal entry of a line."""

    id: Id
    datetime: dt.datetime | None = None
    description: str | None = None
    line_entry_ids: list[Id] | None = None


class Tag(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tag on a line."""

    id: Id
    name: str | None = None
    tag_group_id: Id | None = None


class LineEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line entry as the list operation returns it."""

    id: Id
    amount: Decimal
    debit_credit: str
    datetime: dt.datetime
    ledger_id: Id
    journal_entry_id: Id
    description: str | None = None
    editable: bool | None = None
    ledger_name: str | None = None
    ledger: Ledger | None = None
    related_line_entry_id: Id | None = None
    transaction_id: Id | None = None
    transaction: Transaction | None = None
    journal_entry_description: str | None = None
    journal_entry: JournalEntry | None = None
    opposing_ledger_ids: list[Id] | None = None
    tags: list[Tag] | None = None


class LineEntryPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of line entries. Both tokens are required, and null at the ends of the list.

    `characters_replaced` is not on the wire: it counts lone surrogates in texts, which became U+FFFD.
    """

    records: list[LineEntry]
    next_page_token: str | None
    prev_page_token: str | None
    characters_replaced: int = 0

    @property
    def ids(self) -> list[str]:
        """Ids of the line entries."""
        return [line.id for line in self.records]


class RecategorizedTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction after its categories were changed."""

    transaction: Transaction
    categories: list[Category]
    ledger: Ledger
    journal_entry_id: Id | None = None


class CashFlowLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line of the cash flow report."""

    line_id: Id
    amount: Decimal
    datetime: dt.datetime
    cash_flow_ledger_name: str | None = None
    journal_entry_id: Id | None = None
    journal_entry_description: str | None = None


class CashFlowLedger(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger of the cash flow report. Some deployments nest its children."""

    ledger_id: Id
    name: str
    net_cash_flow: Decimal
    total_net_cash_flow: Decimal | None = None
    lines: list[CashFlowLine] = []
    children: list[CashFlowLedger] = []


class CashLedgerBalance(msgspec.Struct, frozen=True, kw_only=True):
    """The balance of a ledger that reports cash flow. Some deployments nest its children."""

    ledger_id: Id
    ledger_name: str
    cash_balance: Decimal
    total_cash_balance: Decimal | None = None
    sort_code: str = ""
    children: list[CashLedgerBalance] = []


class CashFlowReport(msgspec.Struct, frozen=True, kw_only=True):
    """The cash flow report; `characters_replaced` is as in :class:`LineEntryPage`."""

    cash_flow_ledgers: list[CashFlowLedger]
    starting_balances: list[CashLedgerBalance]
    ending_balances: list[CashLedgerBalance]
    starting_cash_balance: Decimal
    ending_cash_balance: Decimal
    characters_replaced: int = 0


Nested = TypeVar("Nested", CashFlowLedger, CashLedgerBalance)


def flattened(nested: Iterable[Nested]) -> Iterator[Nested]:
    """List nested ledgers or balances, children after their parent."""
    for parent in nested:
        yield parent
        yield from flattened(parent.children)


# msgspec prepares a type when it is first decoded; two threads that do so in parallel crash the interpreter
for _kind in (Ledger, LineEntryPage, RecategorizedTransaction, CashFlowReport):
    msgspec.json.Decoder(_kind)
