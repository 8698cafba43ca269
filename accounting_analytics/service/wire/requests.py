"""Query parameters and bodies of the requests: one model each, parsed once and then trusted."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, LiteralString, NoReturn, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from accounting_analytics.chart_of_accounts import (
    MAX_SORT_CODE_LENGTH,
    DebitCredit,
    FinancialAccountType,
    LedgerType,
    SubType,
)
from accounting_analytics.errors import OperationRefusedError, PeriodError
from accounting_analytics.periods import parse_date, time_zone_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MAX_LIMIT = 1000
MAX_DEPTH = 32
"""Levels that a body may be nested; the bodies of the interface are flat."""

MODIFIED_BY = "modified-by"
"""Header with the user who makes a change."""

_MAX_DIGITS = 9
_MAX_ERRORS = 50
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)  # a whole string, or one bracket
_BOOLEANS = {"true": True, "false": False}
_BLANKS = " \t"

NULLABLE_PARAMETERS = frozenset({"expand", "is_cashflow", "limit", "page_token", "tag_ids"})
"""Query parameters that the interface allows to be null: in a URL, null is an empty value."""

LedgerPath = Literal["parent", "parent.parent"]
LineEntryPath = Literal[
    "ledger", "ledger.parent", "ledger.parent.parent", "transaction", "journal_entry", "opposing_ledger_ids"
]


def _reject(kind: str, message: LiteralString) -> NoReturn:
    raise PydanticCustomError(kind, message)


def _parse_date(text: str) -> dt.date:
    try:
        return parse_date(text)
    except PeriodError:
        _reject("date_parsing", "must be a calendar date like 2025-01-31")


def _parse_boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        _reject("bool_parsing", "must be true or false")
    return value


def _parse_integer(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        _reject("int_parsing", "must be a whole number")
    return int(text)


def _check_time_zone(text: str) -> str:
    if text not in time_zone_names():
        _reject("enum", "must be a time zone name of the interface, such as America/New_York, UTC or localtime")
    return text


def _split(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip(_BLANKS) for part in text.split(",")))


CalendarDate = Annotated[dt.date, BeforeValidator(_parse_date), WithJsonSchema({"type": "string", "format": "date"})]
Boolean = Annotated[bool, BeforeValidator(_parse_boolean)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(_parse_integer)]
TimeZoneName = Annotated[
    str,
    BeforeValidator(_check_time_zone),
    WithJsonSchema({"type": "string", "enum": sorted(time_zone_names()), "default": "UTC"}),
]
# of the schema alone: text never splits into nothing, and the check would count a wrong part as a missing one
_NOT_EMPTY = Field(json_schema_extra={"minItems": 1})
LedgerPaths = Annotated[tuple[LedgerPath, ...], _NOT_EMPTY, BeforeValidator(_split)]
LineEntryPaths = Annotated[tuple[LineEntryPath, ...], _NOT_EMPTY, BeforeValidator(_split)]
TagIds = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], _NOT_EMPTY, BeforeValidator(_split)]
Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]+$")]


class Query(BaseModel):
    """Query parameters of an operation; unknown ones are refused, and empty ones may be omitted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in values.items() if value or name not in NULLABLE_PARAMETERS}


class CreateLedgerQuery(Query):
    """Query of creating a ledger."""

    expand: LedgerPaths = Field(default=(), description="Ledger expand paths, comma-separated.")


class RecategorizeTransactionQuery(Query):
    """Query of recategorizing a transaction: it has no parameters."""


class PeriodQuery(Query):
    """Parameters that listing line entries and the cash flow report share."""

    start_date: CalendarDate = Field(description="First day, inclusive.")
    end_date: CalendarDate = Field(description="Last day, inclusive; not before start_date.")
    time_zone: TimeZoneName = Field(default="UTC", description="Time zone of the dates.")
    tag_ids: TagIds = Field(default=(), description="Tags, comma-separated; only lines that have all of them.")

    @field_validator("end_date")
    @classmethod
    def _check_order(cls, end: dt.date, fields: ValidationInfo) -> dt.date:
        start = fields.data.get("start_date")
        if start is not None and end < start:
            _reject("value_error", "end_date is before start_date")
        return end


class ListLineEntriesQuery(PeriodQuery):
    """Query of listing the line entries of a ledger."""

    is_cashflow: Boolean | None = Field(
        default=None,
        description="Only lines whose journal entry touches a ledger that reports cash flow, or only the others.",
    )
    expand: LineEntryPaths = Field(default=(), description="Line entry expand paths, comma-separated.")
    limit: Limit = Field(default=50, description="Records per page.")
    page_token: str | None = Field(default=None, description="Token of a previous page; repeat every other parameter.")


class CashFlowReportQuery(PeriodQuery):
    """Query of the cash flow report."""


class CreateLedgerBody(BaseModel):
    """Body of creating a ledger; without financial_account_type the other fields but parent_id are required."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

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


AnyQuery = TypeVar("AnyQuery", bound=Query)
AnyBody = TypeVar("AnyBody", bound=BaseModel)


def parse_query(model: type[AnyQuery], parameters: Iterable[tuple[str, str]]) -> AnyQuery:
    """Query of name-value pairs; 422 for a missing, unknown, wrong or repeated parameter."""
    values: dict[str, str] = {}
    for name, value in parameters:
        if name in values:
            refuse_value(["query", name], "given more than once", "repeated")
        values[name] = value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        _refuse(_bad_values("query", error), error)


def parse_body(model: type[AnyBody], body: bytes) -> AnyBody:
    """Body of JSON; 422 if it is not JSON or nested too deeply, and for a missing, unknown, wrong or repeated field."""
    if _is_too_deep(body):
        refuse_value(["body"], f"nested deeper than {MAX_DEPTH}", "json_too_deep")
    try:
        parsed = model.model_validate_json(body)
    except ValidationError as error:
        _refuse(_bad_values("body", error), error)
    json.loads(body, object_pairs_hook=_refuse_repeated_fields)
    return parsed


def parse_modified_by(values: Sequence[bytes]) -> str | None:
    """User of the header modified-by, None if it is missing or empty; 422 if it is repeated or not UTF-8."""
    if len(values) > 1:
        refuse_value(["header", MODIFIED_BY], "given more than once", "repeated")
    try:
        return b"".join(values).decode() or None
    except UnicodeDecodeError:
        refuse_value(["header", MODIFIED_BY], "must be UTF-8 text", "unicode_error")


def refuse_value(
    loc: Sequence[str], message: str, kind: str = "value_error", *, error_code: str = "validation_error"
) -> NoReturn:
    """Refuse a value at a location in the request with 422."""
    detail = [{"loc": list(loc), "msg": message, "type": kind}]
    raise OperationRefusedError(message, status=422, error_code=error_code, detail=detail)


def _refuse_repeated_fields(fields: list[tuple[str, Any]]) -> None:
    counts = Counter(name for name, _ in fields)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        _refuse([{"loc": ["body", name], "msg": "given more than once", "type": "repeated"} for name in repeated])


def _is_too_deep(body: bytes) -> bool:
    """Whether a body is nested more deeply than allowed; brackets within strings do not count."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    for bracket in _BRACKETS.findall(body):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(bracket, 0)
        deepest = max(deepest, depth)
    return deepest > MAX_DEPTH


def _bad_values(part: str, error: ValidationError) -> list[dict[str, Any]]:
    """Values of a part of the request that failed validation."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        {"loc": [part, *value["loc"]], "msg": value["msg"], "type": value["type"]} for value in errors[:_MAX_ERRORS]
    ]


def _refuse(detail: list[dict[str, Any]], error: Exception | None = None) -> NoReturn:
    raise OperationRefusedError(
        "; ".join(f"{'.'.join(map(str, value['loc']))}: {value['msg']}" for value in detail),
        status=422,
        error_code="validation_error",
        detail=detail,
    ) from error
