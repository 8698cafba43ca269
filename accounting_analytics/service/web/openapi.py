"""The OpenAPI 3.1 document of the service, from the models that parse the requests and encode the responses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic.json_schema import models_json_schema

from accounting_analytics.service.wire import requests, response_models
from accounting_analytics.service.wire.response_models import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

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
    503: "The books are busy and nothing was changed, or they cannot be reached, as the message says; retry after "
    "`retry-after` seconds.",
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
_SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
}


@lru_cache(maxsize=1)
def openapi_document() -> bytes:
    """OpenAPI 3.1 document, as JSON."""
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
                "securitySchemes": _SECURITY_SCHEMES,
                "schemas": _schemas(),
            },
        }
    )


def _paths() -> dict[str, Any]:
    return {
        "/v0/ledgers": {
            "post": _operation(
                "create_ledger",
                "Create a ledger",
                query=requests.CreateLedgerQuery,
                body=requests.CreateLedgerBody,
                response=(201, response_models.Ledger),
                refusals=(*_ALWAYS, *_WITH_BODY),
            )
        },
        "/v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories": {
            "put": _operation(
                "recategorize_transaction",
                "Recategorize a ledger transaction",
                path=("ledger_id", "transaction_id"),
                headers=[
                    _header(
                        requests.MODIFIED_BY, "User who makes the change, for the audit log, in UTF-8.", required=False
                    )
                ],
                body=requests.RecategorizeTransactionBody,
                response=(200, response_models.RecategorizedTransaction),
                refusals=(*_ALWAYS, *_WITH_BODY),
            )
        },
        "/v0/ledgers/{ledger_id}/line-entries": {
            "get": _operation(
                "list_line_entries",
                "List line entries of a ledger",
                path=("ledger_id",),
                query=requests.ListLineEntriesQuery,
                response=(200, response_models.LineEntryPage),
                refusals=_ALWAYS,
            )
        },
        "/v0/reports/cash-flow": {
            "get": _operation(
                "retrieve_cash_flow_report",
                "Retrieve the cash flow report",
                query=requests.CashFlowReportQuery,
                response=(200, response_models.CashFlowReport),
                refusals=(*_ALWAYS, 403),
            )
        },
    }


def _operation(
    name: str,
    summary: str,
    *,
    response: tuple[int, type[msgspec.Struct]],
    refusals: tuple[int, ...],
    path: tuple[str, ...] = (),
    query: type[BaseModel] | None = None,
    headers: list[dict[str, Any]] | None = None,
    body: type[BaseModel] | None = None,
) -> dict[str, Any]:
    status, model = response
    operation = {
        "operationId": name,
        "summary": summary,
        "parameters": [
            _header(INSTANCE_HEADER, "The service instance.", required=True),
            *({"name": part, "in": "path", "required": True, "schema": {"type": "string"}} for part in path),
            *(headers or []),
            *(_query_parameters(query) if query else []),
        ],
        "responses": {
            str(status): {
                "description": "Done.",
                "content": _content(model),
                "headers": _RATE_LIMIT_HEADERS,
            },
            **{
                str(code): {"description": _REFUSALS[code], "content": _content(response_models.Error)}
                for code in refusals
            },
            "422": {"description": "A value cannot be used.", "content": _content(response_models.ValidationError)},
        },
    }
    return operation | ({"requestBody": {"required": True, "content": _content(body)}} if body else {})


def _header(name: str, description: str, *, required: bool) -> dict[str, Any]:
    schema = {"type": "string"}
    return {"name": name, "in": "header", "required": required, "description": description, "schema": schema}


def _query_parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Parameters of a query model; lists are one comma-separated parameter."""
    schema = model.model_json_schema(mode="validation", ref_template=f"{_SCHEMAS}{{model}}")
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "description": described.pop("description", ""),
            "schema": _parameter_schema(described),
            **({"allowEmptyValue": True} if name in requests.NULLABLE_PARAMETERS else {}),
            **({"style": "form", "explode": False} if described.get("type") == "array" else {}),
        }
        for name, described in schema.get("properties", {}).items()
    ]


def _parameter_schema(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a query parameter: a query has no null, and an empty list is not sent."""
    schema = {key: value for key, value in described.items() if key not in {"title", "default"}}
    if "anyOf" in schema:
        (only,) = [kind for kind in schema.pop("anyOf") if kind != {"type": "null"}]
        schema |= only
    if described.get("default") not in (None, (), []):
        schema["default"] = described["default"]
    return schema


def _content(model: type[BaseModel | msgspec.Struct]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"{_SCHEMAS}{model.__name__}"}}}


def _schemas() -> dict[str, Any]:
    """Schemas of all bodies; requests and responses share their enumerations."""
    bodies: list[type[BaseModel]] = [
        requests.CreateLedgerBody,
        requests.RecategorizeTransactionBody,
    ]
    responses = [
        response_models.Ledger,
        response_models.RecategorizedTransaction,
        response_models.LineEntryPage,
        response_models.CashFlowReport,
        response_models.Error,
        response_models.ValidationError,
    ]
    _, of_bodies = models_json_schema([(body, "validation") for body in bodies], ref_template=f"{_SCHEMAS}{{model}}")
    _, of_responses = msgspec.json.schema_components(responses, ref_template=f"{_SCHEMAS}{{name}}")
    return {**of_bodies["$defs"], **of_responses}
