"""The HTTP face of the service: routes, authentication, and errors as JSON."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service import operations
from accounting_analytics.service.openapi import INSTANCE_HEADER, openapi_document
from accounting_analytics.service.rendering import encode, error_fields
from accounting_analytics.service.requests import (
    CashFlowReportQuery,
    CreateLedgerBody,
    CreateLedgerQuery,
    ListLineEntriesQuery,
    RecategorizeTransactionBody,
    RecategorizeTransactionQuery,
    parse_body,
    parse_query,
)
from accounting_analytics.service.store import instance_of_token

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from accounting_analytics.service.operations.cash_flow_report import Report
    from accounting_analytics.service.store import Store
    from accounting_analytics.service.stored import Instance

MAX_BODY = 64 * 1024
_JSON = "application/json"


class LedgerService:
    """Endpoints over a store: each authenticates, parses, calls the operation of its name, and answers."""

    def __init__(self, store: Store, localtime: str | None = None) -> None:
        self._store = store
        self._localtime = localtime
        self._page_token_key = store.page_token_key()

    def create_ledger(self, request: Request, instance: Instance, body: bytes) -> Response:
        """Create a ledger."""
        query = parse_query(CreateLedgerQuery, request.query_params.multi_items())
        new = parse_body(CreateLedgerBody, body)
        with self._store.writing() as connection:
            created = operations.create_ledger(connection, instance, query, new)
        return _json(created, 201)

    def recategorize_transaction(self, request: Request, instance: Instance, body: bytes) -> Response:
        """Change the category of a transaction."""
        parse_query(RecategorizeTransactionQuery, request.query_params.multi_items())
        change = parse_body(RecategorizeTransactionBody, body)
        who = request.headers.get("modified-by") or None
        with self._store.writing() as connection:
            changed = operations.recategorize_transaction(
                connection, instance, **request.path_params, body=change, modified_by=who
            )
        return _json(changed)

    def list_line_entries(self, request: Request, instance: Instance, _: bytes) -> Response:
        """List the line entries of a ledger."""
        query = parse_query(ListLineEntriesQuery, request.query_params.multi_items())
        with self._store.reading() as connection:
            page = operations.list_line_entries(
                connection, instance, **request.path_params, query=query, key=self._page_token_key
            )
        return _json(page)

    def retrieve_cash_flow_report(self, request: Request, instance: Instance, _: bytes) -> Response:
        """Retrieve the cash flow report."""
        query = parse_query(CashFlowReportQuery, request.query_params.multi_items())
        with self._store.reading() as connection:
            report = operations.retrieve_cash_flow_report(connection, instance, query)
        return _ReportResponse(report)

    def authenticated(self, request: Request) -> Instance:
        """Instance that the request's token and instance header name; 401, 404 or 422 otherwise."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        with self._store.reading() as connection:
            instance = instance_of_token(connection, token.strip())
        if scheme.lower() != "bearer" or instance is None:
            msg = "a valid access token is needed: Authorization: Bearer <token>"
            raise OperationRefusedError(msg, status=401, error_code="unauthorized")
        named = request.headers.getlist(INSTANCE_HEADER)
        if len(named) != 1:
            msg = f"the header {INSTANCE_HEADER} is required, once"
            detail = [{"loc": ["header", INSTANCE_HEADER], "msg": msg, "type": "missing"}]
            raise OperationRefusedError(msg, status=422, error_code="validation_error", detail=detail)
        if named[0] != instance.id:
            msg = "the instance does not exist, or the access token is not one of it"
            raise OperationRefusedError(msg, status=404, error_code="instance_not_found")
        return replace(instance, localtime=self._localtime) if self._localtime else instance


class _ReportResponse(StreamingResponse):
    """Sends a report part by part, and lets go of it however the sending ends."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.parts, headers={"content-length": str(report.length)}, media_type=_JSON)
        self._close = report.close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._close()


def create_app(store: Store, *, localtime: str | None = None) -> Starlette:
    """ASGI application that serves the books of a store; `localtime` overrides what the instances say."""
    service = LedgerService(store, localtime)
    line_entries = "/v0/ledgers/{ledger_id}/line-entries"
    categories = "/v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories"
    app = Starlette(
        routes=[
            Route("/v0/ledgers", _endpoint(service, service.create_ledger), methods=["POST"]),
            Route(categories, _endpoint(service, service.recategorize_transaction), methods=["PUT"]),
            Route(line_entries, _endpoint(service, service.list_line_entries), methods=["GET"]),
            Route("/v0/reports/cash-flow", _endpoint(service, service.retrieve_cash_flow_report), methods=["GET"]),
            Route("/openapi.json", _openapi, methods=["GET"]),
        ],
        exception_handlers={
            OperationRefusedError: _refused,
            HTTPException: _http_error,
            ClientDisconnect: _gone,
            Exception: _failed,
        },
    )
    app.router.redirect_slashes = False
    return app


def _endpoint(service: LedgerService, operation: Callable[[Request, Instance, bytes], Response]) -> Any:  # noqa: ANN401
    async def endpoint(request: Request) -> Response:
        instance = await run_in_threadpool(service.authenticated, request)
        body = await _body(request) if request.method in {"POST", "PUT"} else b""
        return await run_in_threadpool(operation, request, instance, body)

    return endpoint


async def _body(request: Request) -> bytes:
    """Body of a request, refused when it is not JSON or too large; never more than the limit in memory."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        msg = f"the body must be sent as {_JSON}"
        raise OperationRefusedError(msg, status=415, error_code="unsupported_media_type")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            msg = f"the body is larger than {MAX_BODY} bytes"
            raise OperationRefusedError(msg, status=413, error_code="body_too_large")
    return bytes(body)


async def _openapi(_: Request) -> Response:
    return _json(openapi_document())


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, OperationRefusedError):
        raise error
    if error.detail:
        return _json(encode({"detail": error.detail}), error.status)
    headers = {"www-authenticate": "Bearer"} if error.status == 401 else None  # noqa: PLR2004 (the status)
    return _json(encode(error_fields(str(error), error.error_code)), error.status, headers)


async def _http_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    code = str(error.detail).lower().replace(" ", "_")
    headers = dict(error.headers) if error.headers else None
    return _json(encode(error_fields(str(error.detail), code)), error.status_code, headers)


async def _gone(_: Request, __: Exception) -> Response:
    """Nobody is there to answer: a client that went away in mid-request is no fault of the service."""
    return Response(status_code=HTTPStatus.BAD_REQUEST)


async def _failed(_: Request, __: Exception) -> Response:
    """Answer an unforeseen failure without a word of its cause; the server logs that."""
    return _json(encode(error_fields("the service failed; nothing was changed", "internal_error")), 500)


def _json(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type=_JSON)
