"""What a request may carry: query parameters and bodies of the four operations, parsed once and then trusted."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema, field_validator
from pydantic_core import PydanticCustomError

from accounting_analytics.chart_of_accounts import (
    DEFAULTS,
    MAX_SORT_CODE_LENGTH,
    TYPE_OF_SUB_TYPE,
    DebitCredit,
    FinancialAccountType,
    LedgerType,
    SubType,
)
from accounting_analytics.errors import OperationRefusedError, PeriodError
from accounting_analytics.periods import parse_date, time_zone_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import ValidationInfo

MAX_LIMIT = 1000
MAX_DEPTH = 32
"""How deep a body may nest; those of the interface do not nest at all."""

_MAX_LIMIT_DIGITS = 9
_MAX_DETAIL = 50
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)  # a string as a whole, or one bracket
_BOOLEANS = {"true": True, "false": False}

LedgerPath = Literal["parent", "parent.parent"]
LineEntryPath = Literal[
    "ledger", "ledger.parent", "ledger.parent.parent", "transaction", "journal_entry", "opposing_ledger_ids"
]


def _date(text: str) -> dt.date:
    try:
        return parse_date(text)
    except PeriodError as error:
        kind, message = "date_parsing", "must be a calendar date like 2025-01-31"
        raise PydanticCustomError(kind, message) from error


def _boolean(text: str) -> bool:
    if text not in _BOOLEANS:
        kind, message = "bool_parsing", "must be true or false"
        raise PydanticCustomError(kind, message)
    return _BOOLEANS[text]


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_LIMIT_DIGITS):
        kind, message = "int_parsing", "must be a whole number"
        raise PydanticCustomError(kind, message)
    return int(text)


def _time_zone(text: str) -> str:
    if text not in time_zone_names():
        kind, message = "enum", "must be a time zone name of the interface, such as America/New_York, UTC or localtime"
        raise PydanticCustomError(kind, message)
    return text


def _parts(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.split(",")))


CalendarDate = Annotated[dt.date, BeforeValidator(_date), WithJsonSchema({"type": "string", "format": "date"})]
Boolean = Annotated[bool, BeforeValidator(_boolean)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(_whole_number)]
TimeZoneName = Annotated[
    str,
    BeforeValidator(_time_zone),
    WithJsonSchema({"type": "string", "enum": sorted(time_zone_names()), "default": "UTC"}),
]
LedgerPaths = Annotated[tuple[LedgerPath, ...], Field(min_length=1), BeforeValidator(_parts)]
LineEntryPaths = Annotated[tuple[LineEntryPath, ...], Field(min_length=1), BeforeValidator(_parts)]
TagIds = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1), BeforeValidator(_parts)]
Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]+$")]


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CreateLedgerQuery(_Query):
    """Query of creating a ledger."""

    expand: LedgerPaths = Field(default=(), description="Ledger expand paths, comma-separated.")


class RecategorizeTransactionQuery(_Query):
    """Query of recategorizing a transaction: it has none."""


class _PeriodQuery(_Query):
    start_date: CalendarDate = Field(description="First day, inclusive.")
    end_date: CalendarDate = Field(description="Last day, inclusive; not before start_date.")
    time_zone: TimeZoneName = Field(default="UTC", description="Zone that days are counted in.")
    tag_ids: TagIds = Field(default=(), description="Tags, comma-separated; only lines that carry all of them.")

    @field_validator("end_date")
    @classmethod
    def _not_before_start(cls, end: dt.date, given: ValidationInfo) -> dt.date:
        start = given.data.get("start_date")
        if start is not None and end < start:
            kind, message = "value_error", "end_date is before start_date"
            raise PydanticCustomError(kind, message)
        return end


class ListLineEntriesQuery(_PeriodQuery):
    """Query of listing the line entries of a ledger."""

    is_cashflow: Boolean | None = Field(
        default=None,
        description="Only lines whose journal entry touches a ledger that reports cash flow, or only others.",
    )
    expand: LineEntryPaths = Field(default=(), description="Line entry expand paths, comma-separated.")
    limit: Limit = Field(default=50, description="Records a page.")
    page_token: str | None = Field(default=None, description="Token of a previous page; repeat every other parameter.")


class CashFlowReportQuery(_PeriodQuery):
    """Query of the cash flow report."""


def _fields_that_agree() -> list[Any]:
    """Say in JSON Schema which fields a new ledger needs, and which types and sub_types go together."""
    sub_types = {kind: [sub for sub, of in TYPE_OF_SUB_TYPE.items() if of == kind] for kind in LedgerType}
    both = [
        {"required": ["type", "sub_type"], "properties": {"type": {"const": kind}, "sub_type": {"enum": subs}}}
        for kind, subs in sub_types.items()
    ]
    account_types = {kind: [account for account, of in DEFAULTS.items() if of.type == kind] for kind in LedgerType}
    with_defaults = [
        {
            "required": ["financial_account_type"],
            "properties": {
                "financial_account_type": {"enum": accounts},
                "type": {"enum": [None, kind]},
                "sub_type": {"enum": [None, *sub_types[kind]]},
            },
        }
        for kind, accounts in account_types.items()
        if accounts
    ]
    needed = {"debit_credit": "string", "report_cash_flow": "boolean", "sort_code": "string"}
    without = {"required": list(needed), "properties": {name: {"type": kind} for name, kind in needed.items()}}
    account = {
        "required": ["financial_account_type"],
        "properties": {"financial_account_type": {"type": "string"}},
    }
    return [*with_defaults, {**account, "anyOf": both}, {**without, "anyOf": both}]


class CreateLedgerBody(BaseModel):
    """Body of creating a ledger."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, json_schema_extra={"anyOf": _fields_that_agree()}
    )

    name: Text
    editable: bool
    debit_credit: DebitCredit | None = None
    financial_account_type: FinancialAccountType | None = None
    parent_id: str | None = None
    report_cash_flow: bool | None = None
    sort_code: Annotated[str, Field(min_length=1, max_length=MAX_SORT_CODE_LENGTH, pattern=r"^[^\x00]+$")] | None = None
    sub_type: SubType | None = None
    type: LedgerType | None = None


class RecategorizeTransactionBody(BaseModel):
    """Body of recategorizing a transaction."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    updated_category_ledger_id: str
    category_ledger_id: str | None = None


class TokenForm(BaseModel):
    """Form of asking for an access token; the credentials may come by HTTP Basic instead."""

    grant_type: Literal["client_credentials"]
    client_id: Annotated[str, Field(min_length=1)]
    client_secret: Annotated[str, Field(min_length=1)]


Query = TypeVar("Query", bound=_Query)
Body = TypeVar("Body", bound=BaseModel)


def parse_query(model: type[Query], given: Iterable[tuple[str, str]]) -> Query:
    """Query of name-value pairs; 422 for what is missing, unknown, wrong, or given twice."""
    values: dict[str, str] = {}
    for name, value in given:
        if name in values:
            _refuse([{"loc": ["query", name], "msg": "given more than once", "type": "repeated"}])
        values[name] = value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        _refuse(_detail("query", error), error)


def parse_body(model: type[Body], given: bytes) -> Body:
    """Body of JSON; 422 for what is not JSON, too deep, missing, unknown or wrong."""
    if _too_deep(given):
        _refuse([{"loc": ["body"], "msg": f"nested deeper than {MAX_DEPTH}", "type": "json_too_deep"}])
    try:
        return model.model_validate_json(given)
    except ValidationError as error:
        _refuse(_detail("body", error), error)


def _too_deep(given: bytes) -> bool:
    """Whether more brackets are open at once than a body may nest; those within strings do not count."""
    if given.count(b"[") + given.count(b"{") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    for bracket in _BRACKETS.findall(given):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(bracket, 0)
        deepest = max(deepest, depth)
    return deepest > MAX_DEPTH


def _detail(where: str, error: ValidationError) -> list[dict[str, Any]]:
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    return [{"loc": [where, *one["loc"]], "msg": one["msg"], "type": one["type"]} for one in wrong[:_MAX_DETAIL]]


def _refuse(detail: list[dict[str, Any]], error: Exception | None = None) -> NoReturn:
    msg = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in detail)
    raise OperationRefusedError(msg, status=422, error_code="validation_error", detail=detail) from error
