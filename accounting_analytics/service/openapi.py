"""The OpenAPI 3.1 document of the service, made from the models that requests are parsed with."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from accounting_analytics.service import requests, resources
from accounting_analytics.service.rendering import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

INSTANCE_HEADER = "service-instance-id"
_SCHEMAS = "#/components/schemas/"
_REFUSALS = {
    400: "The page token is not one of this query.",
    401: "The access token is missing or not valid.",
    403: "The subscription tier does not allow this.",
    404: "Something named does not exist in this instance.",
    409: "The books do not allow this.",
    413: "The body is too large.",
    415: "The body is not JSON.",
}
_BODY_REFUSALS = (401, 404, 413, 415)


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
                "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
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
                answer=(201, resources.Ledger),
                refusals=(*_BODY_REFUSALS, 409),
            )
        },
        "/v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories": {
            "put": _operation(
                "recategorize_transaction",
                "Recategorize a ledger transaction",
                path=("ledger_id", "transaction_id"),
                headers=[_header("modified-by", "Who changes it, for the audit log.", required=False)],
                body=requests.RecategorizeTransactionBody,
                answer=(200, resources.RecategorizedTransaction),
                refusals=_BODY_REFUSALS,
            )
        },
        "/v0/ledgers/{ledger_id}/line-entries": {
            "get": _operation(
                "list_line_entries",
                "List line entries of a ledger",
                path=("ledger_id",),
                query=requests.ListLineEntriesQuery,
                answer=(200, resources.LineEntryPage),
                refusals=(400, 401, 404),
            )
        },
        "/v0/reports/cash-flow": {
            "get": _operation(
                "retrieve_cash_flow_report",
                "Retrieve the cash flow report",
                query=requests.CashFlowReportQuery,
                answer=(200, resources.CashFlowReport),
                refusals=(401, 403, 404),
            )
        },
    }


def _operation(
    name: str,
    summary: str,
    *,
    answer: tuple[int, type[BaseModel]],
    refusals: tuple[int, ...],
    path: tuple[str, ...] = (),
    query: type[BaseModel] | None = None,
    headers: list[dict[str, Any]] | None = None,
    body: type[BaseModel] | None = None,
) -> dict[str, Any]:
    status, model = answer
    described = {
        "operationId": name,
        "summary": summary,
        "parameters": [
            _header(INSTANCE_HEADER, "The service instance.", required=True),
            *({"name": part, "in": "path", "required": True, "schema": {"type": "string"}} for part in path),
            *(headers or []),
            *(_query_parameters(query) if query else []),
        ],
        "responses": {
            str(status): {"description": "Done.", "content": _content(model)},
            **{str(code): {"description": _REFUSALS[code], "content": _content(resources.Error)} for code in refusals},
            "422": {"description": "A value cannot be used.", "content": _content(resources.ValidationError)},
        },
    }
    return described | ({"requestBody": {"required": True, "content": _content(body)}} if body else {})


def _header(name: str, description: str, *, required: bool) -> dict[str, Any]:
    schema = {"type": "string"}
    return {"name": name, "in": "header", "required": required, "description": description, "schema": schema}


def _query_parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Parameters of a query model; lists are one comma-separated parameter."""
    schema = model.model_json_schema(mode="validation")
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "description": described.pop("description", ""),
            "schema": _parameter_schema(described),
            **({"style": "form", "explode": False} if described.get("type") == "array" else {}),
        }
        for name, described in schema.get("properties", {}).items()
    ]


def _parameter_schema(described: Mapping[str, Any]) -> dict[str, Any]:
    """Describe one query parameter: a query cannot say null, and an absent list is simply not sent."""
    schema = {key: value for key, value in described.items() if key not in {"title", "default"}}
    if "anyOf" in schema:
        (only,) = [kind for kind in schema.pop("anyOf") if kind != {"type": "null"}]
        schema |= only
    if described.get("default") not in (None, (), []):
        schema["default"] = described["default"]
    return schema


def _content(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"{_SCHEMAS}{model.__name__}"}}}


def _schemas() -> dict[str, Any]:
    bodies: list[type[BaseModel]] = [requests.CreateLedgerBody, requests.RecategorizeTransactionBody]
    answers: list[type[BaseModel]] = [
        resources.Ledger,
        resources.RecategorizedTransaction,
        resources.LineEntryPage,
        resources.CashFlowReport,
        resources.Error,
        resources.ValidationError,
    ]
    _, schema = models_json_schema(
        [*((model, "validation") for model in bodies), *((model, "serialization") for model in answers)],
        ref_template=f"{_SCHEMAS}{{model}}",
    )
    return dict(schema["$defs"])
