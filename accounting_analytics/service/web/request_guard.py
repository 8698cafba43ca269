"""The front door: what every request must look like before anything reads it, and what every answer carries."""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.service.wire.rendering import encode, error_fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
_log = logging.getLogger("accounting_analytics.service.access")


def show_access_log() -> None:
    """Write a line on stderr for every answer."""
    shown = logging.StreamHandler()
    shown.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    _log.addHandler(shown)
    _log.setLevel(logging.INFO)


class Hosts:
    """Names a request may call this service by: a page that rebinds its own name to this address is not one.

    Parameters
    ----------
    public : iterable of str
        Host names that a proxy or a name server sends here, besides the names of loopback.
    any_address : bool
        Whether a bare IP address is fine too: an address cannot be rebound.
    """

    def __init__(self, public: Iterable[str] = (), *, any_address: bool = False) -> None:
        self._names = _LOOPBACK_NAMES | {_checked(name) for name in public}
        self._any_address = any_address

    def allow(self, host: str) -> bool:
        """Whether a Host header names this service."""
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = (match["literal"] or match["name"]).lower().removesuffix(".")
        return name in self._names or _is_loopback(name) or (self._any_address and _is_address(name))


class FrontDoor:
    """ASGI application that checks the form of a request, marks it with an id, and logs its answer.

    The log line has the method, the route as a template, the status, milliseconds, the request id and the instance;
    never an id of the books, a query or a token.

    Parameters
    ----------
    app : ASGIApp
        The application behind the door.
    hosts : Hosts
        Names the service answers to.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["request_id"] = secrets.token_hex(8)
        visit = _Visit(scope, send)
        try:
            refusal = self._refusal(scope)
            await (refusal or self._app)(scope, receive, visit.send)
        finally:
            visit.log()

    def _refusal(self, scope: Scope) -> Response | None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        names = [name for name, _ in headers]
        if len(headers) > MAX_HEADERS or sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
            return _refuse(431, f"the headers are more than {MAX_HEADERS}, or larger than {MAX_HEADER_BYTES} bytes")
        if len(scope.get("raw_path") or b"") > MAX_PATH or len(scope["query_string"]) > MAX_QUERY:
            return _refuse(414, f"the path is longer than {MAX_PATH} bytes, or the query longer than {MAX_QUERY}")
        if scope["http_version"] not in {"1.0", "1.1"}:
            return _refuse(400, "this service speaks HTTP/1.1")
        if b"transfer-encoding" in names and b"content-length" in names:
            return _refuse(400, "a body has either a length or chunks, not both")
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not self._hosts.allow(hosts[0].decode("latin-1")):
            return _refuse(400, "this service is not known by the name in the Host header")
        return None


class _Visit:
    """One request on its way out: adds what every answer carries, and remembers what the log says."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._started = time.perf_counter()
        self._status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            state: dict[str, Any] = self._scope["state"]
            more = [(name.encode(), value.encode()) for name, value in state.get("answer_headers", {}).items()]
            more.append((b"x-request-id", state["request_id"].encode()))
            given = message.get("headers", [])
            there = {name.lower() for name, _ in given}
            more += [header for header in SECURITY_HEADERS if header[0] not in there]
            message = {**message, "headers": [*given, *more]}
        await self._send(message)

    def log(self) -> None:
        state = self._scope["state"]
        route = self._scope.get("route")
        instance = state.get("instance")
        _log.info(
            "%s %s %s %.1f ms, request %s, instance %s",
            _known_method(self._scope["method"]),
            getattr(route, "path", "-"),
            self._status or "no answer",
            (time.perf_counter() - self._started) * 1000,
            state["request_id"],
            instance.id if instance else "-",
        )


def _refuse(status: int, message: str) -> Response:
    code = HTTPStatus(status).phrase.lower().replace(" ", "_").replace("-", "_")
    return Response(encode(error_fields(message, code)), status, {"connection": "close"}, media_type="application/json")


def _checked(name: str) -> str:
    lowered = name.lower().removesuffix(".")
    if not (_HOST_NAME.fullmatch(lowered) or _is_address(lowered)):
        msg = f"public host {name!r} must be a bare host name such as 'books.example.org', without scheme, port or path"
        raise ConfigurationError(msg)
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
