"""The request guard: checks the form of every request and its body, and adds headers to every response and logs it."""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio

from accounting_analytics.errors import ConfigurationError, OperationRefusedError
from accounting_analytics.service.wire.response_models import JSON, Error, has_media_type, json_response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 64 * 1024
"""Bytes of a body."""

BODY_DEADLINE = 20
"""Seconds within which the whole body must arrive."""


def check_json(request: Request) -> None:
    """Refuse a body that is not sent as JSON with 415."""
    if not has_media_type(request.headers.get("content-type", ""), JSON):
        raise OperationRefusedError(f"the body must be sent as {JSON}", status=415, error_code="unsupported_media_type")


async def read_body(request: Request) -> bytes:
    """Body of a request; 413 as soon as it is too large, 408 if it is too late."""
    body = bytearray()
    with anyio.move_on_after(BODY_DEADLINE):
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


MAX_HEADERS = 64
MAX_HEADER_BYTES = 32 * 1024
MAX_PATH = 8 * 1024
MAX_QUERY = 16 * 1024

SECURITY_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)

_HOST = re.compile(r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_ABSOLUTE_FORM = re.compile(rb"(?i:https?)://(?P<authority>[^/]*)(?P<path>.*)", re.DOTALL)
_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
_log = logging.getLogger("accounting_analytics.service.access")


def show_access_log() -> None:
    """Write a line on stderr for every response."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)


class AllowedHosts:
    """Host names that requests may use; they keep out a web page that rebinds its own name to this address.

    Any IP address may be allowed too: an address cannot be rebound.
    """

    def __init__(self, public: Iterable[str] = (), *, any_address: bool = False) -> None:
        self._names = {"localhost"} | {_check_host_name(name) for name in public}
        self._any_address = any_address

    def allows(self, host: str) -> bool:
        """Whether a Host header is allowed."""
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = (match["literal"] or match["name"]).lower().removesuffix(".")
        return name in self._names or _is_loopback(name) or (self._any_address and _is_address(name))


class RequestGuard:
    """ASGI application that checks the form of a request, gives it an id, and logs its response.

    The log line has the method, the route as a template, the status, milliseconds, the request id and the instance;
    never an id of the books, a query or a token.
    """

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        state = scope.setdefault("state", {})
        state["request_id"] = secrets.token_hex(8)
        state["response_headers"] = {}
        response = _LoggedResponse(scope, send)
        try:
            await (self._refused(scope) or self._app)(scope, receive, response.send)
        finally:
            response.log()

    def _refused(self, scope: Scope) -> Response | None:
        """Error response to a request of the wrong form."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        names = [name for name, _ in headers]
        if len(headers) > MAX_HEADERS or sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
            return _refuse(
                431, f"there are more than {MAX_HEADERS} headers, or more than {MAX_HEADER_BYTES} bytes of them"
            )
        if len(scope.get("raw_path") or b"") > MAX_PATH or len(scope["query_string"]) > MAX_QUERY:
            return _refuse(414, f"the path is longer than {MAX_PATH} bytes, or the query longer than {MAX_QUERY}")
        if scope["http_version"] not in {"1.0", "1.1"}:
            return _refuse(400, "this service supports HTTP/1.1 only")
        if b"transfer-encoding" in names and b"content-length" in names:
            return _refuse(400, "a body has either a content-length or a transfer-encoding, not both")
        return self._refused_host(scope)

    def _refused_host(self, scope: Scope) -> Response | None:
        """Error response to a request that names another host."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._hosts.allows(hosts[0].decode("latin-1")):
            return _refuse(
                400, "the Host header does not name this service; allow the name with public_hosts (--public-host)"
            )
        if not self._use_origin_form(scope):
            return _refuse(
                400, "the request target is a URL of another host; allow its name with public_hosts (--public-host)"
            )
        return None

    def _use_origin_form(self, scope: Scope) -> bool:
        """Replace a request target that is a URL (RFC 9112, 3.2.2) by its path; false if its host is not allowed."""
        target = _ABSOLUTE_FORM.fullmatch(scope.get("raw_path") or b"")
        if target is None:
            return True
        scope["raw_path"] = target["path"] or b"/"
        scope["path"] = unquote(scope["raw_path"].decode("ascii"))
        return self._hosts.allows(target["authority"].decode("latin-1"))


class _LoggedResponse:
    """Adds the headers that every response has, and keeps what the log needs."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._started = time.perf_counter()
        self._status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            state: dict[str, Any] = self._scope["state"]
            added = [(name.encode(), value.encode()) for name, value in state["response_headers"].items()]
            added.append((b"x-request-id", state["request_id"].encode()))
            headers = message.get("headers", [])
            present = {name.lower() for name, _ in headers}
            added += [header for header in SECURITY_HEADERS if header[0] not in present]
            message = {**message, "headers": [*headers, *added]}
        await self._send(message)

    def log(self) -> None:
        state = self._scope["state"]
        route = self._scope.get("route")
        instance = state.get("instance")
        _log.info(
            "%s %s %s %.1f ms, request %s, instance %s",
            _known_method(self._scope["method"]),
            getattr(route, "path", "-"),
            self._status or "no response",
            (time.perf_counter() - self._started) * 1000,
            state["request_id"],
            instance.id if instance else "-",
        )


def _refuse(status: int, message: str) -> Response:
    code = HTTPStatus(status).phrase.lower().replace(" ", "_").replace("-", "_")
    return json_response(Error.from_message(message, code), status, {"connection": "close"})


def _check_host_name(name: str) -> str:
    lowered = name.lower().removesuffix(".")
    if not (_HOST_NAME.fullmatch(lowered) or _is_address(lowered)):
        raise ConfigurationError(
            f"public host {name!r} must be a bare host name such as 'books.example.org', without scheme, port or path"
        )
    return lowered


def _known_method(method: str) -> str:
    return method if method in {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} else "other"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return _is_address(name) and ipaddress.ip_address(name).is_loopback
