"""The OpenAPI 3.1 document, from the models of requests and responses."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from accounting_analytics.service.interface import NULLABLE_PARAMETERS, Error, ValidationError, encode
from accounting_analytics.service.operations import OPERATIONS, Operation
from accounting_analytics.service.requests import MODIFIED_BY

INSTANCE_HEADER = "service-instance-id"
_SCHEMAS = "#/components/schemas/"
_REFUSALS = {
    400: "The page token belongs to another query.",
    401: "The access token is missing or not valid.",
    403: "The subscription tier does not allow this.",
    404: "A resource does not exist in this instance.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body has another media type.",
    429: "Too many requests in this minute; retry after `retry-after` seconds.",
    503: "The books are busy and nothing was changed; retry after `retry-after` seconds.",
    507: "The disk of the service is full and nothing was changed; try again when there is space.",
}
_ALWAYS = (400, 401, 404, 429, 503)
_WITH_BODY = (408, 413, 415, 507)
_COUNT = {"type": "integer", "minimum": 0}
_RATE_LIMIT_HEADERS = {
    "x-ratelimit-limit": {
        "description": "Requests per minute that the instance may make; absent if there is no limit.",
        "schema": _COUNT,
    },
    "x-ratelimit-remaining": {"description": "Requests that are left in this minute.", "schema": _COUNT},
    "x-ratelimit-reset": {"description": "Seconds until the next minute begins.", "schema": _COUNT},
}
_BODIES = [
    *(body for operation in OPERATIONS for body in (operation.body, operation.response) if body),
    Error,
    ValidationError,
]


@lru_cache(maxsize=1)
def openapi_document() -> bytes:
    """Return the OpenAPI 3.1 document as JSON."""
    return encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Ledger Accounting Service",
                "version": "0",
                "description": "Double-entry ledgers: line entries, categories and the cash flow report.",
            },
            "security": [{"bearer": []}],
            "paths": _paths(),
            "components": {
                "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
                "schemas": msgspec.json.schema_components(_BODIES, ref_template=f"{_SCHEMAS}{{name}}")[1],
            },
        }
    )


def _paths() -> dict[str, dict[str, Any]]:
    """Describe the operations by path and method."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return paths


def _operation(operation: Operation) -> dict[str, Any]:
    done = {"description": "Done.", "content": _content(operation.response), "headers": _RATE_LIMIT_HEADERS}
    codes = (*_ALWAYS, *operation.refusals, *(_WITH_BODY if operation.body else ()))
    refused = {str(code): {"description": _REFUSALS[code], "content": _content(Error)} for code in codes}
    invalid = {"description": "A value cannot be used.", "content": _content(ValidationError)}
    headers = [_header(INSTANCE_HEADER, "The service instance.", required=True)]
    if operation.named:
        headers.append(_header(MODIFIED_BY, "User who makes the change, for the audit log, in UTF-8.", required=False))
    in_path = re.findall(r"{(\w+)}", operation.path)
    described = {
        "operationId": operation.function.__name__,
        "summary": operation.summary,
        "parameters": [
            *headers,
            *({"name": part, "in": "path", "required": True, "schema": {"type": "string"}} for part in in_path),
            *(_query_parameters(operation.query) if operation.query else []),
        ],
        "responses": {str(operation.status): done, **refused, "422": invalid},
    }
    return described | (
        {"requestBody": {"required": True, "content": _content(operation.body)}} if operation.body else {}
    )


def _header(name: str, description: str, *, required: bool) -> dict[str, Any]:
    schema = {"type": "string"}
    return {"name": name, "in": "header", "required": required, "description": description, "schema": schema}


def _query_parameters(model: type[Struct]) -> list[dict[str, Any]]:
    """Describe the parameters of a query. A list is one parameter."""
    described = msgspec.json.schema(model)["$defs"][model.__name__]
    return [
        {
            "name": name,
            "in": "query",
            "required": name in described["required"],
            "description": schema.pop("description", ""),
            "schema": _parameter_schema(schema),
            **({"allowEmptyValue": True} if name in NULLABLE_PARAMETERS else {}),
            **({"style": "form", "explode": False} if schema.get("type") == "array" else {}),
        }
        for name, schema in described["properties"].items()
    ]


def _parameter_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a query parameter, without null and empty defaults."""
    kinds: list[dict[str, Any]] = schema.pop("anyOf", [{}])
    (kind,) = [variant for variant in kinds if variant != {"type": "null"}]
    if schema.get("default") in (None, []):
        schema.pop("default", None)
    return schema | kind


def _content(model: type[Struct]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"{_SCHEMAS}{model.__name__}"}}}
