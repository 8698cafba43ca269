"""Parsing of query parameters, bodies and headers. A refusal names every unusable value."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import jiter
import msgspec
from msgspec import Struct

from accounting_analytics.core.errors import OperationRefusedError
from accounting_analytics.service.interface import (
    NULLABLE_PARAMETERS,
    IsCashFlow,
    LedgerPaths,
    Limit,
    LineEntryPaths,
    Query,
    TagIds,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MODIFIED_BY = "modified-by"
"""Name of the header that states the user who makes a change."""

_MAX_DIGITS = 9
_BLANKS = " \t"

fields = lru_cache(msgspec.structs.fields)
AnyStruct = TypeVar("AnyStruct", bound=Struct)
AnyQuery = TypeVar("AnyQuery", bound=Query)


def parse_query(model: type[AnyQuery], parameters: Iterable[tuple[str, str]]) -> AnyQuery:
    """Parse query parameters. Refuse missing, unknown, wrong or repeated parameters with 422."""
    values: dict[str, str] = {}
    for name, text in parameters:
        if name in values:
            refuse_value(["query", name], "given more than once", "repeated")
        values[name] = text
    types = {field.name: field.type for field in fields(model)}
    read = {
        name: _READ.get(types.get(name), str)(text)
        for name, text in values.items()
        if text or name not in NULLABLE_PARAMETERS
    }
    return _convert("query", model, read)


def parse_body(model: type[AnyStruct], body: bytes) -> AnyStruct:
    """Parse a JSON body. Refuse missing, unknown, wrong or repeated fields with 422."""
    try:
        values = jiter.from_json(body, catch_duplicate_keys=True, allow_inf_nan=False)
    except ValueError as error:
        refuse_value(["body"], f"not usable as JSON: {error}", "json_invalid")
    if not isinstance(values, dict):
        refuse_value(["body"], "must be a JSON object", "json_invalid")
    return _convert("body", model, values)


def parse_modified_by(values: Sequence[bytes]) -> str | None:
    """Parse the header modified-by, or return None if it is missing. Refuse an invalid header with 422."""
    if len(values) > 1:
        refuse_value(["header", MODIFIED_BY], "given more than once", "repeated")
    try:
        return b"".join(values).decode() or None
    except UnicodeDecodeError:
        refuse_value(["header", MODIFIED_BY], "must be UTF-8 text", "unicode_error")


def refuse_value(loc: Sequence[str], message: str, kind: str = "value_error") -> NoReturn:
    """Refuse a value at a location in the request, with 422."""
    _refuse([{"loc": list(loc), "msg": message, "type": kind}])


def _read_boolean(text: str) -> bool | str:
    return {"true": True, "false": False}.get(text.lower(), text)


def _read_integer(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else text


def _split(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip(_BLANKS) for part in text.split(",")))


_READ: dict[Any, Any] = {
    IsCashFlow: _read_boolean,
    Limit: _read_integer,
    LedgerPaths: _split,
    LineEntryPaths: _split,
    TagIds: _split,
}
"""Functions that read the text of a parameter, by its type. Parameters of other types stay text."""


def _convert(part: str, model: type[AnyStruct], values: dict[str, Any]) -> AnyStruct:
    """Convert values of a part of a request to a struct. A refusal names all unusable values."""
    known = {field.name: field for field in fields(model)}
    wrong = [(name, "unknown", "extra_forbidden") for name in values if name not in known]
    converted = {}
    for name, field in known.items():
        if name in values:
            try:
                converted[name] = msgspec.convert(values[name], field.type)
            except msgspec.ValidationError as error:
                wrong.append((name, _problem(error, field.type), "value_error"))
        elif field.required:
            wrong.append((name, "required", "missing"))
    if wrong:
        _refuse([{"loc": [part, name], "msg": message, "type": kind} for name, message, kind in wrong])
    return model(**converted)


def _problem(error: msgspec.ValidationError, kind: Any) -> str:  # noqa: ANN401 (any type of a field)
    """Describe a problem without its value.

    Add the description of the field's type, if known.
    """
    problem = "not one of its values" if str(error).startswith("Invalid enum value") else str(error)
    description = msgspec.json.schema(kind).get("description")
    return f"{problem}; {description}" if description else problem


def _refuse(detail: list[dict[str, Any]]) -> NoReturn:
    message = "; ".join(f"{'.'.join(refused['loc'])}: {refused['msg']}" for refused in detail)
    raise OperationRefusedError(message, status=422, error_code="validation_error", detail=detail)
