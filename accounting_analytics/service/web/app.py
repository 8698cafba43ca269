"""The HTTP face of the service: routes, authentication, quotas, and who waits for whom."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.routing import Route

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service import operations
from accounting_analytics.service.auth.access_tokens import check_lifetime, instance_of_token
from accounting_analytics.service.auth.oauth_clients import are_valid_credentials, issue_client_token
from accounting_analytics.service.faults.faulty_service import FaultyService
from accounting_analytics.service.web import token_endpoint
from accounting_analytics.service.web.openapi import INSTANCE_HEADER, openapi_document
from accounting_analytics.service.web.rate_limits import Quotas
from accounting_analytics.service.web.request_guard import FrontDoor, Hosts
from accounting_analytics.service.wire.rendering import encode
from accounting_analytics.service.wire.requests import (
    CashFlowReportQuery,
    CreateLedgerBody,
    CreateLedgerQuery,
    ListLineEntriesQuery,
    RecategorizeTransactionBody,
    RecategorizeTransactionQuery,
    parse_body,
    parse_query,
)
from accounting_analytics.service.wire.responses import (
    ERROR_ANSWERS,
    JSON,
    ReportAnswer,
    busy,
    is_of_type,
    json_answer,
    unauthorized,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from accounting_analytics.service.faults.fault_plan import FaultDial
    from accounting_analytics.service.storage.store import Store
    from accounting_analytics.service.wire.stored_records import Instance

MAX_BODY = 64 * 1024
BODY_DEADLINE = 20
"""Seconds within which a body must have come."""

_READERS = 40
_WRITERS = 4
_TOKEN_WRITERS = 2
_REPORTS = 16
"""Reports that are made, or on their way to who asked, at once: each keeps a file that may be large."""

_REPORT_TURN = 10
"""Seconds that a report waits for its turn."""

_TURN = 30
"""Seconds that a change waits for its turn."""


class LedgerService:
    """Endpoints over a store: each parses, calls the operation of its name, and answers.

    Parameters
    ----------
    store : Store
        The books.
    localtime : str, optional
        Time zone that ``localtime`` means, instead of what the instances say.
    quotas : Quotas, optional
        Limits how often an instance may ask.
    token_lifetime : float
        Seconds that a token lives that a client gets by its credentials.
    """

    def __init__(self, store: Store, localtime: str | None, quotas: Quotas | None, token_lifetime: float) -> None:
        self._store = store
        self._localtime = localtime
        self._quotas = quotas
        self._token_lifetime = check_lifetime(token_lifetime)
        self._page_token_key = store.page_token_key()

    def create_ledger(self, request: Request, instance: Instance, body: bytes) -> Response:
        """Create a ledger."""
        query = parse_query(CreateLedgerQuery, request.query_params.multi_items())
        new = parse_body(CreateLedgerBody, body)
        with self._store.writing() as connection:
            created = operations.create_ledger(connection, instance, query, new)
        return json_answer(created, 201)

    def recategorize_transaction(self, request: Request, instance: Instance, body: bytes) -> Response:
        """Change the category of a transaction."""
        parse_query(RecategorizeTransactionQuery, request.query_params.multi_items())
        change = parse_body(RecategorizeTransactionBody, body)
        who = request.headers.get("modified-by") or None
        with self._store.writing() as connection:
            changed = operations.recategorize_transaction(
                connection, instance, **request.path_params, body=change, modified_by=who
            )
        return json_answer(changed)

    def list_line_entries(self, request: Request, instance: Instance) -> Response:
        """List the line entries of a ledger."""
        query = parse_query(ListLineEntriesQuery, request.query_params.multi_items())
        with self._store.reading() as connection:
            page = operations.list_line_entries(
                connection, instance, **request.path_params, query=query, key=self._page_token_key
            )
        return json_answer(page)

    def retrieve_cash_flow_report(self, request: Request, instance: Instance) -> ReportAnswer:
        """Retrieve the cash flow report."""
        query = parse_query(CashFlowReportQuery, request.query_params.multi_items())
        with self._store.reading() as connection:
            report = operations.retrieve_cash_flow_report(connection, instance, query)
        return ReportAnswer(report)

    def signed_in(self, request: Request, body: bytes) -> token_endpoint.SignIn:
        """Credentials of a request for a token; 400 or 401 when they open nothing. Waits for no writer."""
        credentials = token_endpoint.sign_in(body, request.headers.getlist("authorization"))
        with self._store.reading() as connection:
            known = are_valid_credentials(connection, credentials.client_id, credentials.client_secret)
        if not known:
            raise _unknown_client(credentials)
        return credentials

    def issue_token(self, credentials: token_endpoint.SignIn) -> Response:
        """Issue an access token for client credentials."""
        with self._store.writing() as connection:
            token = issue_client_token(
                connection, credentials.client_id, credentials.client_secret, lifetime=self._token_lifetime
            )
        if token is None:  # revoked just now
            raise _unknown_client(credentials)
        return json_answer(
            encode(token_endpoint.token_fields(token, self._token_lifetime)), headers={"pragma": "no-cache"}
        )

    def admitted(self, request: Request) -> Instance:
        """Instance that the request's token opens and its header names; 401, 404, 422 or 429 otherwise."""
        instance = self._authenticated(request)
        request.state.instance = instance
        if self._quotas is not None:
            quota = self._quotas.take(instance.pk)
            request.state.answer_headers = quota.headers()
            if not quota.allowed:
                msg = f"more than {quota.limit} requests a minute; nothing was done, ask again in {quota.reset} s"
                raise OperationRefusedError(msg, status=429, error_code="too_many_requests")
        named = request.headers.getlist(INSTANCE_HEADER)
        if len(named) != 1:
            msg = f"the header {INSTANCE_HEADER} is required, once"
            detail = [{"loc": ["header", INSTANCE_HEADER], "msg": msg, "type": "missing"}]
            raise OperationRefusedError(msg, status=422, error_code="validation_error", detail=detail)
        if named[0] != instance.id:
            msg = "the instance does not exist, or the access token is not one of it"
            raise OperationRefusedError(msg, status=404, error_code="instance_not_found")
        return replace(instance, localtime=self._localtime) if self._localtime else instance

    def _authenticated(self, request: Request) -> Instance:
        sent = request.headers.getlist("authorization")
        scheme, _, token = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise unauthorized(presented=False)
        with self._store.reading() as connection:
            instance = instance_of_token(connection, token)
        if instance is None:
            raise unauthorized(presented=True)
        return instance


def _unknown_client(credentials: token_endpoint.SignIn) -> OperationRefusedError:
    msg = "the client is unknown, or its secret is wrong"
    return token_endpoint.refused_client(msg, by_header=credentials.by_header)


def create_app(
    store: Store,
    *,
    localtime: str | None = None,
    requests_per_minute: int | None = None,
    token_lifetime: float = token_endpoint.DEFAULT_LIFETIME,
    hosts: Hosts | None = None,
    faults: FaultDial | None = None,
) -> ASGIApp:
    """ASGI application that serves the books of a store.

    Parameters
    ----------
    store : Store
        The books.
    localtime : str, optional
        Time zone that ``localtime`` means, instead of what the instances say.
    requests_per_minute : int, optional
        How often a minute an instance may ask; as often as it likes when left out.
    token_lifetime : float
        Seconds that a token lives that a client gets by its credentials.
    hosts : Hosts, optional
        Names the service answers to; those of loopback when left out.
    faults : FaultDial, optional
        Faults that are played on purpose.
    """
    limits = [
        limit for limit in (requests_per_minute, faults.requests_per_minute if faults else None) if limit is not None
    ]
    quotas = Quotas(min(limits)) if limits else None
    service = LedgerService(store, localtime, quotas, token_lifetime)
    turns = _Turns()
    read, change = turns.reader(service), turns.writer(service)
    line_entries = "/v0/ledgers/{ledger_id}/line-entries"
    report = "/v0/reports/cash-flow"
    categories = "/v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories"
    app = Starlette(
        routes=[
            Route("/v0/ledgers", change(service.create_ledger), methods=["POST"], name="create_ledger"),
            Route(
                categories, change(service.recategorize_transaction), methods=["PUT"], name="recategorize_transaction"
            ),
            Route(line_entries, read(service.list_line_entries), methods=["GET"], name="list_line_entries"),
            Route(report, turns.report_endpoint(service), methods=["GET"], name="retrieve_cash_flow_report"),
            Route(token_endpoint.TOKEN_PATH, turns.token_endpoint(service), methods=["POST"]),
            Route("/openapi.json", _openapi, methods=["GET"]),
        ],
        exception_handlers=ERROR_ANSWERS,
    )
    app.router.redirect_slashes = False
    return FrontDoor(FaultyService(app, store, faults) if faults else app, hosts or Hosts())


class _Turns:
    """Threads that work is done in: changes wait for each other without taking the threads of those who read."""

    def __init__(self) -> None:
        self._readers = CapacityLimiter(_READERS)
        self._writers = CapacityLimiter(_WRITERS)
        self._token_writers = CapacityLimiter(_TOKEN_WRITERS)
        self._reports = CapacityLimiter(_REPORTS)

    def reader(self, service: LedgerService) -> Callable[[Callable[[Request, Instance], Response]], Any]:
        def endpoint_of(operation: Callable[[Request, Instance], Response]) -> Any:  # noqa: ANN401
            def answered(request: Request) -> Response:
                return operation(request, service.admitted(request))

            async def endpoint(request: Request) -> Response:
                return await run_sync(answered, request, limiter=self._readers)

            return endpoint

        return endpoint_of

    def report_endpoint(self, service: LedgerService) -> Any:  # noqa: ANN401
        async def endpoint(request: Request) -> Response:
            instance = await run_sync(service.admitted, request, limiter=self._readers)
            turn = object()
            await _take(self._reports, turn, _REPORT_TURN)
            give_back = partial(self._reports.release_on_behalf_of, turn)
            with ExitStack() as unless_answered:
                unless_answered.callback(give_back)
                answer = await run_sync(service.retrieve_cash_flow_report, request, instance, limiter=self._readers)
                unless_answered.pop_all()
            answer.when_sent(give_back)
            return answer

        return endpoint

    def writer(self, service: LedgerService) -> Callable[[Callable[[Request, Instance, bytes], Response]], Any]:
        def endpoint_of(operation: Callable[[Request, Instance, bytes], Response]) -> Any:  # noqa: ANN401
            async def endpoint(request: Request) -> Response:
                instance = await run_sync(service.admitted, request, limiter=self._readers)
                _check_json(request)
                body = await _body(request)
                return await _in_turn(self._writers, operation, request, instance, body)

            return endpoint

        return endpoint_of

    def token_endpoint(self, service: LedgerService) -> Any:  # noqa: ANN401
        async def endpoint(request: Request) -> Response:
            token_endpoint.check_form(request.headers.get("content-type", ""))
            body = await _body(request)
            credentials = await run_sync(service.signed_in, request, body, limiter=self._readers)
            return await _in_turn(self._token_writers, service.issue_token, credentials)

        return endpoint


async def _in_turn(writers: CapacityLimiter, work: Callable[..., Response], *arguments: object) -> Response:
    turn = object()
    await _take(writers, turn, _TURN)
    try:
        return await run_sync(work, *arguments)
    finally:
        writers.release_on_behalf_of(turn)


async def _take(limiter: CapacityLimiter, turn: object, seconds: float) -> None:
    """Take a place; 503 when none becomes free in time."""
    with anyio.move_on_after(seconds) as waiting:
        await limiter.acquire_on_behalf_of(turn)
    if waiting.cancelled_caught:
        raise busy()


def _check_json(request: Request) -> None:
    if not is_of_type(request.headers.get("content-type", ""), JSON):
        msg = f"the body must be sent as {JSON}"
        raise OperationRefusedError(msg, status=415, error_code="unsupported_media_type")


async def _body(request: Request) -> bytes:
    """Body of a request, refused when it is too large or too late; never more in memory."""
    body = bytearray()
    with anyio.move_on_after(BODY_DEADLINE):
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                msg = f"the body is larger than {MAX_BODY} bytes"
                raise OperationRefusedError(msg, status=413, error_code="body_too_large")
        return bytes(body)
    msg = f"the body did not come within {BODY_DEADLINE} s; nothing was changed"
    raise OperationRefusedError(msg, status=408, error_code="request_timeout")


async def _openapi(_: Request) -> Response:
    return json_answer(openapi_document())
