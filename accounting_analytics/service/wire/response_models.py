"""Bodies of the responses: one struct per resource, which is encoded as JSON and defines its OpenAPI schema.

A field that a response may omit is ``UNSET`` there. Amounts are :func:`number`, never floats.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from starlette.responses import Response

from accounting_analytics.chart_of_accounts import (
    MAX_SORT_CODE_LENGTH,
    DebitCredit,
    FinancialAccountType,
    LedgerType,
    SubType,
)
from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service.wire.stored_values import StoredLedger, number_text

if TYPE_CHECKING:
    from collections.abc import Mapping


_EXACT = "Exact decimal number; read it as a decimal."
Number: TypeAlias = Annotated[Raw, Meta(description=_EXACT, extra_json_schema={"type": "number"})]
Magnitude: TypeAlias = Annotated[Raw, Meta(description=_EXACT, extra_json_schema={"type": "number", "minimum": 0})]
Instant: TypeAlias = Annotated[dt.datetime, Meta(tz=True)]
LocalInstant: TypeAlias = Annotated[dt.datetime, Meta(tz=False)]


class Resource(Struct, forbid_unknown_fields=True, gc=False):
    """A JSON object of the interface."""


AnyLedger = TypeVar("AnyLedger", bound="NestedLedger")


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
    def from_stored(cls, ledger: StoredLedger, parent: NestedLedger | UnsetType | None = UNSET) -> NestedLedger:
        """Ledger as the store has it, with its expanded parent."""
        return cls(**_common_fields(ledger), created_at=ledger.created_at.replace(tzinfo=None), parent=parent)


class Ledger(NestedLedger, kw_only=True):
    """A ledger."""

    parent_id: str | None
    created_at: Instant

    @classmethod
    def from_stored(cls, ledger: StoredLedger, parent: NestedLedger | UnsetType | None = UNSET) -> Ledger:
        """Ledger as the store has it, with its expanded parent."""
        return cls(**_common_fields(ledger), created_at=ledger.created_at, parent_id=ledger.parent_id, parent=parent)


def _common_fields(ledger: StoredLedger) -> dict[str, Any]:
    """Fields that a ledger has by the same name in the store, nested, and on its own."""
    different = {"created_at", "parent"}
    return {name: getattr(ledger, name) for name in NestedLedger.__struct_fields__ if name not in different}


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
        """Error that shows its message as it is."""
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
"""JSON of a struct or a plain value."""


def number(units: int, scale: int) -> msgspec.Raw:
    """Exact JSON number of minor units."""
    return msgspec.Raw(number_text(units, scale))


JSON = "application/json"
REALM = 'realm="accounting-analytics"'
"""Protection space of a challenge (RFC 6750, 3)."""


def json_response(body: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Response with a struct as its JSON body."""
    return Response(encode(body), status, headers, media_type=JSON)


def error_response(error: OperationRefusedError) -> Response:
    """Response to an operation that was refused."""
    return json_response(_error_body(error), error.status, error.headers)


def _error_body(error: OperationRefusedError) -> msgspec.Struct:
    if error.detail:
        return msgspec.convert({"detail": error.detail}, ValidationError)
    return Error.from_message(str(error), error.error_code)


def unauthorized(*, with_token: bool) -> OperationRefusedError:
    """Return the 401 for a request with a bearer token or without (RFC 6750, 3.1), whatever is wrong with the token."""
    msg = "a valid access token is required: Authorization: Bearer <token>"
    challenge = f"Bearer {REALM}" + (', error="invalid_token"' if with_token else "")
    return OperationRefusedError(msg, status=401, error_code="unauthorized", headers={"www-authenticate": challenge})
