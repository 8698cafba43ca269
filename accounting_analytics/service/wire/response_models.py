"""Shapes of what the service answers, for its OpenAPI document; the answers themselves are rendered by hand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from accounting_analytics.chart_of_accounts import (
    MAX_SORT_CODE_LENGTH,
    DebitCredit,
    FinancialAccountType,
    LedgerType,
    SubType,
)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default")


def _maybe(description: str | None = None) -> Any:  # noqa: ANN401 (the default of a field of any type)
    """Field that an answer may leave out."""
    return Field(default=None, description=description, json_schema_extra=_without_default)


Number = Annotated[float, Field(json_schema_extra={"description": "Exact decimal number; read it as a decimal."})]
DateTime = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class _Resource(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NestedLedger(_Resource):
    """A ledger inside another object; `created_at` is UTC without zone designator."""

    id: str
    name: str
    debit_credit: DebitCredit
    editable: bool
    financial_account_type: FinancialAccountType | None
    is_required: bool
    report_cash_flow: bool
    sort_code: Annotated[str, Field(max_length=MAX_SORT_CODE_LENGTH)]
    sub_type: SubType
    type: LedgerType
    created_at: str
    parent: NestedLedger | None = _maybe("Only where it was asked for; null above a root.")


class Ledger(NestedLedger):
    """A ledger."""

    parent_id: str | None
    created_at: DateTime


class Transaction(_Resource):
    """A line entry on the ledger of a financial account, seen as its transaction; the amount is signed."""

    id: str
    amount: Number
    datetime: DateTime
    description: str
    journal_entry_id: str
    ledger_id: str
    line_entry_id: str
    personal: bool
    posted_status: str
    review_status: str
    source_account_id: str = _maybe()


class CategorizedTransaction(Transaction):
    """A transaction with what opposes it."""

    opposing_line_entry_ids: list[str]
    categorization_method: str


class Category(_Resource):
    """A category ledger of a transaction."""

    ledger_id: str
    ledger_name: str
    editable: bool


class RecategorizedTransaction(_Resource):
    """A transaction after it was recategorized."""

    transaction: CategorizedTransaction
    categories: list[Category]
    ledger: NestedLedger
    journal_entry_id: str | None


class JournalEntry(_Resource):
    """The journal entry of a line."""

    datetime: DateTime
    description: str
    id: str
    line_entry_ids: list[str]


class Tag(_Resource):
    """A tag of a line."""

    id: str
    name: str
    tag_group_id: str


class LineEntry(_Resource):
    """A line entry; expandable objects only where they were asked for."""

    id: str
    amount: Annotated[Number, Field(ge=0)]
    debit_credit: DebitCredit
    description: str
    datetime: DateTime
    editable: bool
    ledger_id: str
    ledger_name: str
    ledger: NestedLedger = _maybe()
    related_line_entry_id: str = _maybe()
    transaction_id: str = _maybe()
    transaction: Transaction = _maybe()
    journal_entry_id: str
    journal_entry_description: str
    journal_entry: JournalEntry = _maybe()
    opposing_ledger_ids: list[str] = _maybe()
    tags: list[Tag]


class LineEntryPage(_Resource):
    """A page of line entries in (datetime, id) order."""

    records: list[LineEntry]
    next_page_token: str | None
    prev_page_token: str | None


class CashFlowLine(_Resource):
    """A category line: positive into cash, negative out of cash."""

    line_id: str
    amount: Number
    datetime: DateTime
    cash_flow_ledger_name: str
    journal_entry_id: str
    journal_entry_description: str


class CashFlowLedger(_Resource):
    """A ledger that moved cash; the total includes all its descendants."""

    ledger_id: str
    name: str
    lines: list[CashFlowLine]
    net_cash_flow: Number
    total_net_cash_flow: Number


class CashLedgerBalance(_Resource):
    """Debit balance of a ledger that reports cash flow; the total includes its descendants that do."""

    ledger_id: str
    ledger_name: str
    sort_code: str
    cash_balance: Number
    total_cash_balance: Number


class CashFlowReport(_Resource):
    """The cash flow report of a period."""

    cash_flow_ledgers: list[CashFlowLedger]
    starting_balances: list[CashLedgerBalance]
    ending_balances: list[CashLedgerBalance]
    starting_cash_balance: Number
    ending_cash_balance: Number


class Error(_Resource):
    """Why a request was refused."""

    message: str
    data: Any
    display_message: str
    error_code: str


class WrongValue(_Resource):
    """One value that cannot be used, and where it stands."""

    loc: list[str | int]
    msg: str
    type: str


class ValidationError(_Resource):
    """What is wrong with the values of a request."""

    detail: list[WrongValue]


class AccessToken(_Resource):
    """A new access token."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: Annotated[int, Field(ge=0, description="Seconds it lives.")]


class TokenRefusal(_Resource):
    """Why no access token was issued (RFC 6749, 5.2)."""

    error: Literal["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope"]
    error_description: str
