"""Query parameters, bodies and responses of the operations: one struct each.

A response is encoded as JSON by its struct, and the OpenAPI document is made of all of them. A field that a response
may omit is ``UNSET`` there. Amounts are :func:`number`, never floats.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from accounting_analytics.core.chart_of_accounts import (
    MAX_SORT_CODE_LENGTH,
    DebitCredit,
    FinancialAccountType,
    LedgerType,
    SubType,
)
from accounting_analytics.core.periods import time_zone_names
from accounting_analytics.service.stored_values import StoredLedger, number_text

MAX_LIMIT = 1000

NULLABLE_PARAMETERS = frozenset({"expand", "is_cashflow", "limit", "page_token", "tag_ids"})
"""Query parameters that the interface allows to be null: in a URL, null is an empty value."""

LedgerPath = Literal["parent", "parent.parent"]
_LEDGER_PATHS = tuple("ledger" + ".parent" * levels for levels in range(10))
"""A ledger with no parent, its parent, and so on: all ancestors in a chart of up to ten levels."""
if TYPE_CHECKING:
    LineEntryPath = str
    TimeZoneName = str
else:
    LineEntryPath = Literal[(*_LEDGER_PATHS, "transaction", "journal_entry", "opposing_ledger_ids")]
    TimeZoneName = Literal[tuple(sorted(time_zone_names()))]

_NOT_EMPTY = Meta(min_length=1, pattern=r"^[^\x00]+$")
_PATHS = Meta(description="Expand paths, comma-separated.", extra_json_schema={"minItems": 1})
_TAGS = Meta(description="Tags, comma-separated; only lines that have all of them.", extra_json_schema={"minItems": 1})
LedgerPaths: TypeAlias = Annotated[tuple[LedgerPath, ...], _PATHS]
LineEntryPaths: TypeAlias = Annotated[tuple[LineEntryPath, ...], _PATHS]
TagIds: TypeAlias = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], _TAGS]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_LIMIT, description=f"Records per page, from 1 to {MAX_LIMIT}.")]
IsCashFlow: TypeAlias = Annotated[
    bool | None,
    Meta(
        description="true: only lines whose journal entry touches a ledger that reports cash flow; false: the others."
    ),
]


class Query(Struct, frozen=True, kw_only=True):
    """Query parameters of an operation; unknown ones are refused, and empty ones may be omitted."""


class CreateLedgerQuery(Query, frozen=True, kw_only=True):
    """Query of creating a ledger."""

    expand: LedgerPaths = ()


class PeriodQuery(Query, frozen=True, kw_only=True):
    """Parameters that listing line entries and the cash flow report share."""

    start_date: Annotated[dt.date, Meta(description="First day, inclusive, such as 2025-01-31.")]
    end_date: Annotated[dt.date, Meta(description="Last day, inclusive, such as 2025-12-31; not before start_date.")]
    time_zone: Annotated[
        TimeZoneName, Meta(description="Time zone of the dates, such as America/New_York, UTC or localtime.")
    ] = "UTC"
    tag_ids: TagIds = ()


class ListLineEntriesQuery(PeriodQuery, frozen=True, kw_only=True):
    """Query of listing the line entries of a ledger."""

    is_cashflow: IsCashFlow = None
    expand: LineEntryPaths = ()
    limit: Limit = 50
    page_token: Annotated[str | None, Meta(description="Token of a previous page; repeat every other parameter.")] = (
        None
    )


class CashFlowReportQuery(PeriodQuery, frozen=True, kw_only=True):
    """Query of the cash flow report."""


class CreateLedgerBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of creating a ledger; without financial_account_type the other fields but parent_id are required."""

    name: Annotated[str, _NOT_EMPTY]
    editable: bool
    debit_credit: DebitCredit | None = None
    financial_account_type: FinancialAccountType | None = None
    parent_id: str | None = None
    report_cash_flow: bool | None = None
    sort_code: Annotated[str, _NOT_EMPTY, Meta(max_length=MAX_SORT_CODE_LENGTH)] | None = None
    sub_type: SubType | None = None
    type: LedgerType | None = None


class RecategorizeTransactionBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of recategorizing a transaction."""

    updated_category_ledger_id: str
    category_ledger_id: str | None = None


_EXACT = "Exact decimal number; read it as a decimal."
Number: TypeAlias = Annotated[Raw, Meta(description=_EXACT, extra_json_schema={"type": "number"})]
Magnitude: TypeAlias = Annotated[Raw, Meta(description=_EXACT, extra_json_schema={"type": "number", "minimum": 0})]
Instant: TypeAlias = Annotated[dt.datetime, Meta(tz=True)]
LocalInstant: TypeAlias = Annotated[dt.datetime, Meta(tz=False)]


class Resource(Struct, forbid_unknown_fields=True, gc=False):
    """A JSON object of the interface."""


class NestedLedger(Resource, kw_only=True):
    """A ledger inside another object; `created_at` is UTC without zone designator."""

    id: str
    name: str
    debit_credit: DebitCredit
    editable: bool
    financial_account_type: FinancialAccountType | None
    is_required: bool
    report_cash_flow: bool
    sort_code: Annotated[str, Meta(max_length=MAX_SORT_CODE_LENGTH)]
    sub_type: SubType
    type: LedgerType
    created_at: LocalInstant
    parent: Annotated[NestedLedger | UnsetType | None, Meta(description="Only if expanded; null above a root.")] = UNSET

    @classmethod
    def from_stored(cls, ledger: StoredLedger, parent: NestedLedger | UnsetType | None = UNSET) -> Self:
        """Convert a stored ledger, with its expanded parent."""
        fields = {name: getattr(ledger, name) for name in cls.__struct_fields__ if name != "parent"}
        if cls is NestedLedger:
            fields["created_at"] = ledger.created_at.replace(tzinfo=None)
        return cls(**fields, parent=parent)


class Ledger(NestedLedger, kw_only=True):
    """A ledger."""

    parent_id: str | None
    created_at: Instant


class Transaction(Resource, kw_only=True):
    """A line entry on the ledger of a financial account, seen as its transaction; the amount is signed."""

    id: str
    amount: Number
    datetime: Instant
    description: str
    journal_entry_id: str
    ledger_id: str
    line_entry_id: str
    personal: bool
    posted_status: str
    review_status: str
    source_account_id: str | None


class CategorizedTransaction(Transaction, kw_only=True):
    """A transaction with its opposing lines."""

    opposing_line_entry_ids: list[str]
    categorization_method: str


class Category(Resource, kw_only=True):
    """A category ledger of a transaction."""

    ledger_id: str
    ledger_name: str
    editable: bool


class RecategorizedTransaction(Resource, kw_only=True):
    """A transaction after it was recategorized."""

    transaction: CategorizedTransaction
    categories: list[Category]
    ledger: NestedLedger
    journal_entry_id: str | None


class JournalEntry(Resource, kw_only=True):
    """The journal entry of a line."""

    datetime: Instant
    description: str
    id: str
    line_entry_ids: list[str]


class Tag(Resource, kw_only=True):
    """A tag of a line."""

    id: str
    name: str
    tag_group_id: str


class LineEntry(Resource, kw_only=True):
    """A line entry; expandable objects only if expanded."""

    id: str
    amount: Magnitude
    debit_credit: DebitCredit
    description: str
    datetime: Instant
    editable: bool
    ledger_id: str
    ledger_name: str
    ledger: NestedLedger | UnsetType = UNSET
    related_line_entry_id: str | UnsetType = UNSET
    transaction_id: str | UnsetType = UNSET
    transaction: Transaction | UnsetType = UNSET
    journal_entry_id: str
    journal_entry_description: str
    journal_entry: JournalEntry | UnsetType = UNSET
    opposing_ledger_ids: list[str] | UnsetType = UNSET
    tags: list[Tag]


class LineEntryPage(Resource, kw_only=True):
    """A page of line entries in (datetime, id) order."""

    records: list[LineEntry]
    next_page_token: str | None
    prev_page_token: str | None


class CashFlowLine(Resource, kw_only=True):
    """A category line: positive into cash, negative out of cash."""

    line_id: str
    amount: Number
    datetime: Instant
    cash_flow_ledger_name: str
    journal_entry_id: str
    journal_entry_description: str


class CashFlowLedger(Resource, kw_only=True):
    """A ledger that moved cash; the total includes all its descendants."""

    ledger_id: str
    name: str
    net_cash_flow: Number
    total_net_cash_flow: Number
    lines: list[CashFlowLine]


class CashLedgerBalance(Resource, kw_only=True):
    """Debit balance of a ledger that reports cash flow; the total includes its descendants that do."""

    ledger_id: str
    ledger_name: str
    sort_code: str
    cash_balance: Number
    total_cash_balance: Number


class CashFlowReport(Resource, kw_only=True):
    """The cash flow report of a period."""

    cash_flow_ledgers: list[CashFlowLedger]
    starting_balances: list[CashLedgerBalance]
    ending_balances: list[CashLedgerBalance]
    starting_cash_balance: Number
    ending_cash_balance: Number


class Error(Resource, kw_only=True):
    """Why a request was refused."""

    message: str
    data: Any
    display_message: str
    error_code: str

    @classmethod
    def from_message(cls, message: str, error_code: str) -> Error:
        """Create an error that shows its message unchanged."""
        return cls(message=message, data=None, display_message=message, error_code=error_code)


class WrongValue(Resource, kw_only=True):
    """A value that cannot be used, and its location in the request."""

    loc: list[str | int]
    msg: str
    type: str


class ValidationError(Resource, kw_only=True):
    """What is wrong with the values of a request."""

    detail: list[WrongValue]


class Health(Resource, kw_only=True):
    """Whether the service can read its database."""

    status: Literal["ok", "unavailable"]


encode = msgspec.json.Encoder().encode
"""Encodes a struct or a plain value as JSON."""


def number(units: int, scale: int) -> msgspec.Raw:
    """Write minor units as an exact JSON number."""
    return msgspec.Raw(number_text(units, scale))
