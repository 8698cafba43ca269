"""The service as a Starlette application: its options, routes, error responses and rate limits."""

from __future__ import annotations

import ipaddress
import logging
import math
import re
import secrets
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from anyio import CapacityLimiter, move_on_after
from anyio.to_thread import run_sync
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from accounting_analytics.core.errors import ConfigurationError, OperationRefusedError
from accounting_analytics.service.instances import instance_of_token, token_key
from accounting_analytics.service.interface import Error, Health, Query, ValidationError, encode
from accounting_analytics.service.openapi import INSTANCE_HEADER, openapi_document
from accounting_analytics.service.operations import OPERATIONS, Operation
from accounting_analytics.service.operations.shared_queries import Call
from accounting_analytics.service.requests import MODIFIED_BY, parse_body, parse_modified_by, parse_query, refuse_value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from msgspec import Struct
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from accounting_analytics.service.database import Store
    from accounting_analytics.service.stored_values import Instance

    _Endpoint = Callable[[Request], Awaitable[Response]]

JSON = "application/json"
REALM = 'realm="accounting-analytics"'
"""Protection space of a challenge (RFC 6750, 3)."""

LOOPBACK = "127.0.0.1"
_MAX_PORT = 65535
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class ServiceOptions:
    """Options of the service; every option has a default that is safe on this machine.

    Parameters
    ----------
    host : str
        Address to bind to; an address that other machines can reach needs `allow_remote`.
    port : int
        Port; 0 takes a free one.
    allow_remote : bool
        Whether other machines may reach the service.
    public_hosts : sequence of str
        Host names that requests may use, besides those of loopback.
    requests_per_minute : int, optional
        Requests per minute and instance; no limit if omitted.

    Raises
    ------
    ConfigurationError
        Other machines could reach the service, which is not allowed; or the port does not exist.
    """

    host: str = LOOPBACK
    port: int = 0
    allow_remote: bool = False
    public_hosts: Sequence[str] = ()
    requests_per_minute: int | None = None

    def __post_init__(self) -> None:
        if self.is_remote and not self.allow_remote:
            raise ConfigurationError(
                f"host {self.host!r} can be reached by other machines, and this service uses plain HTTP: "
                f"use {LOOPBACK}, or allow it with allow_remote (--allow-remote)"
            )
        for name in self.public_hosts:
            if not _HOST_NAME.fullmatch(name):
                raise ConfigurationError(
                    f"public host {name!r} must be a bare host name such as 'books.example.org', without scheme, port "
                    "or path"
                )
        if not 0 <= self.port <= _MAX_PORT:
            raise ConfigurationError(
                f"port {self.port} does not exist; use a port from 0 (any free one) to {_MAX_PORT}"
            )

    @property
    def is_remote(self) -> bool:
        """True if other machines can reach the host."""
        try:
            return self.host != "localhost" and not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return True

    @property
    def allowed_hosts(self) -> list[str]:
        """Host names that requests may use. A remote host without public host names allows all names."""
        if self.is_remote and not self.public_hosts:
            return ["*"]
        return ["localhost", LOOPBACK, "[::1]", self.host, *self.public_hosts]


_DEFAULTS = ServiceOptions()


MAX_READS = 40
MAX_REPORTS = 4
"""Number of reports that are calculated in parallel: each needs tens of megabytes, and more reports are not faster."""

MAX_CHANGES = 4
"""Number of changes that hold the write lock or wait for it in a thread. Further changes wait without a thread."""

MAX_BODY = 64 * 1024
"""Largest body of a request, in bytes."""

BODY_DEADLINE = 20
"""Seconds within which the whole body of a request must arrive."""


def create_app(store: Store, options: ServiceOptions = _DEFAULTS) -> ASGIApp:
    """Create an ASGI application that serves the books of a store."""
    service = LedgerService(store, options)
    app = Starlette(routes=_routes(service), exception_handlers=_ERROR_HANDLERS)
    app.router.redirect_slashes = False
    # the request of a web page that binds its own name to this address has another host name
    return ResponseHeaders(TrustedHostMiddleware(app, options.allowed_hosts, www_redirect=False))


def _routes(service: LedgerService) -> list[Route]:
    """Return the routes. Changes that wait never use the threads of readers."""
    reads, reports, changes = map(CapacityLimiter, (MAX_READS, MAX_REPORTS, MAX_CHANGES))

    def endpoint_of(operation: Operation) -> _Endpoint:
        async def endpoint(request: Request) -> Response:
            instance = await run_sync(service.admit, request, limiter=reads)
            if operation.body is not None:
                body = await _read_body(request)
                return await run_sync(service.carry_out, operation, request, instance, body, limiter=changes)
            limiter = reports if operation.slow else reads
            return await run_sync(service.carry_out, operation, request, instance, limiter=limiter)

        return endpoint

    async def health(_: Request) -> Response:
        if await run_sync(service.is_available):
            return json_response(Health(status="ok"))
        return json_response(Health(status="unavailable"), HTTPStatus.SERVICE_UNAVAILABLE)

    async def openapi(_: Request) -> Response:
        return Response(openapi_document(), media_type=JSON)

    return [
        *(Route(operation.path, endpoint_of(operation), methods=[operation.method]) for operation in OPERATIONS),
        Route("/health", health, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]


class LedgerService:
    """Operations on a store, for requests with a token of an instance."""

    def __init__(self, store: Store, options: ServiceOptions) -> None:
        self._store = store
        self._rate_limits = RateLimits(options.requests_per_minute)
        self._page_token_key = store.page_token_key()

    def carry_out(self, operation: Operation, request: Request, instance: Instance, body: bytes = b"") -> Response:
        """Parse a request, call its operation, and encode the result."""
        query = parse_query(operation.query or Query, request.query_params.multi_items())
        parsed: dict[str, Struct] = {} if operation.query is None else {"query": query}
        if operation.body is not None:
            parsed["body"] = parse_body(operation.body, body)
        modified_by = None
        if operation.named:
            modified_by = parse_modified_by(
                [value for name, value in request.headers.raw if name == MODIFIED_BY.encode()]
            )
        with self._store.reading() if operation.body is None else self._store.writing() as connection:
            call = Call(connection, instance, request.state.actor, modified_by, self._page_token_key)
            result = operation.function(call, **request.path_params, **parsed)
        return json_response(result, operation.status)

    def is_available(self) -> bool:
        """Return whether the database can be read."""
        try:
            self._store.page_token_key()
        except (OperationRefusedError, SQLAlchemyError):
            return False
        return True

    def admit(self, request: Request) -> Instance:
        """Return the instance of the request's token, or refuse with 401, 404, 422 or 429.

        The header of the request must name the same instance.
        """
        instance = self._authenticated(request)
        request.state.instance = instance
        limits = self._rate_limits.acquire(instance.pk)
        request.state.response_headers.update(limits)
        if seconds := limits.get("retry-after"):
            raise OperationRefusedError(
                f"more than {limits['x-ratelimit-limit']} requests per minute; nothing was changed, "
                f"retry in {seconds} s",
                status=429,
                error_code="too_many_requests",
            )
        named = request.headers.getlist(INSTANCE_HEADER)
        if len(named) != 1:
            refuse_value(["header", INSTANCE_HEADER], f"the header {INSTANCE_HEADER} is required, once", "missing")
        if named[0] != instance.id:
            raise OperationRefusedError(
                "the instance does not exist, or the access token belongs to another instance",
                status=404,
                error_code="instance_not_found",
            )
        return instance

    def _authenticated(self, request: Request) -> Instance:
        headers = request.headers.getlist("authorization")
        scheme, _, token = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise unauthorized(with_token=False)
        with self._store.reading() as connection:
            instance = instance_of_token(connection, token)
        if instance is None:
            raise unauthorized(with_token=True)
        request.state.actor = token_key(token)
        return instance


def unauthorized(*, with_token: bool) -> OperationRefusedError:
    """Return the 401 for a request with or without a token (RFC 6750, 3.1)."""
    msg = "a valid access token is required: Authorization: Bearer <token>"
    challenge = f"Bearer {REALM}" + (', error="invalid_token"' if with_token else "")
    return OperationRefusedError(msg, status=401, error_code="unauthorized", headers={"www-authenticate": challenge})


async def _read_body(request: Request) -> bytes:
    """Read a JSON body. Refuse another content type, and bodies that are too large or too late."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise OperationRefusedError(f"the body must be sent as {JSON}", status=415, error_code="unsupported_media_type")
    body = bytearray()
    with move_on_after(BODY_DEADLINE):
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise OperationRefusedError(
                    f"the body is larger than {MAX_BODY} bytes", status=413, error_code="body_too_large"
                )
        return bytes(body)
    raise OperationRefusedError(
        f"the body did not arrive within {BODY_DEADLINE} s; nothing was changed",
        status=408,
        error_code="request_timeout",
    )


def json_response(body: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Respond with a struct as JSON."""
    return Response(encode(body), status, headers, media_type=JSON)


def error_response(error: OperationRefusedError) -> Response:
    """Make the response to an operation that was refused."""
    detail = {"detail": error.detail}
    body = (
        msgspec.convert(detail, ValidationError) if error.detail else Error.from_message(str(error), error.error_code)
    )
    return json_response(body, error.status, error.headers)


_log = logging.getLogger(__name__)


async def _refused(request: Request, error: OperationRefusedError) -> Response:
    if isinstance(error.__cause__, SQLAlchemyError | OSError):
        _log.warning("request %s: %s", request.state.request_id, error)
    return error_response(error)


async def _http_error(_: Request, error: HTTPException) -> Response:
    code = str(error.detail).lower().replace(" ", "_")
    headers = dict(error.headers) if error.headers else None
    return json_response(Error.from_message(str(error.detail), code), error.status_code, headers)


async def _client_disconnected(_: Request, __: Exception) -> Response:
    """Make the response for a client that has disconnected.

    A disconnected client is not a failure.
    """
    return Response(status_code=HTTPStatus.BAD_REQUEST)


async def _failed(request: Request, error: Exception) -> Response:
    """Respond to an unexpected failure without its cause.

    Only the log has the cause.
    """
    reason = str(error).partition("\n")[0] if isinstance(error, SQLAlchemyError) else ""
    _log.error("request %s failed: %s %s", request.state.request_id, type(error).__name__, reason)
    msg = "the service failed; a change may or may not have been made"
    return json_response(Error.from_message(msg, "internal_error"), HTTPStatus.INTERNAL_SERVER_ERROR)


_ERROR_HANDLERS: dict[Any, Callable[[Request, Any], Awaitable[Response]]] = {
    OperationRefusedError: _refused,
    HTTPException: _http_error,
    ClientDisconnect: _client_disconnected,
    SQLAlchemyError: _failed,
    Exception: _failed,
}


_WINDOW = 60.0


class RateLimits:
    """Counter of the requests of each instance in a minute, for any thread.

    A minute begins with its first request. Refused requests do not count, so that a client that waits until the minute
    ends is served. Without a limit, nothing is counted.
    """

    def __init__(self, requests_per_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        if requests_per_minute is not None and requests_per_minute < 1:
            raise ConfigurationError(
                f"requests per minute must be 1 or more, not {requests_per_minute}; omit it for no limit"
            )
        self._limit = requests_per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._minutes: dict[int, tuple[float, int]] = {}

    def acquire(self, instance_pk: int) -> dict[str, str]:
        """Count a request if the limit allows it, and return the response headers.

        The headers have ``retry-after`` only if the limit was reached. Seconds until the minute ends are rounded up.
        """
        if self._limit is None:
            return {}
        with self._lock:
            moment = self._clock()
            ends, used = self._minutes.get(instance_pk, (0.0, 0))
            if moment >= ends:
                ends, used = moment + _WINDOW, 0
            allowed = used < self._limit
            used += allowed
            self._minutes[instance_pk] = (ends, used)
        seconds = str(math.ceil(ends - moment))
        headers = {
            "x-ratelimit-limit": str(self._limit),
            "x-ratelimit-remaining": str(self._limit - used),
            "x-ratelimit-reset": seconds,
        }
        return headers if allowed else headers | {"retry-after": seconds}


_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class ResponseHeaders:
    """ASGI application that adds a request id and further headers to responses."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        state = scope.setdefault("state", {})
        state |= {"request_id": secrets.token_hex(8), "response_headers": {}}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = {"x-request-id": state["request_id"], **state["response_headers"]}
                encoded = [(name.encode(), value.encode()) for name, value in added.items()]
                message = {**message, "headers": [*message.get("headers", []), *_HEADERS, *encoded]}
            await send(message)

        await self._app(scope, receive, send_with_headers)
