"""The access log, and the headers that every response has."""

from __future__ import annotations

import logging
import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"})
_log = logging.getLogger("accounting_analytics.service.access")


def show_access_log() -> None:
    """Write a line on stderr for every response."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)


class AccessLog:
    """ASGI application that gives each request an id, adds headers to its response, and logs it.

    The log line has the method, the route as a template, the status, milliseconds, the request id and the instance;
    never an id of the books, a query or a token.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        started, status = time.perf_counter(), 0
        state = scope.setdefault("state", {})
        state |= {"request_id": secrets.token_hex(8), "response_headers": {}}

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                added = {"x-request-id": state["request_id"], **state["response_headers"]}
                encoded = [(name.encode(), value.encode()) for name, value in added.items()]
                message = {**message, "headers": [*message.get("headers", []), *_HEADERS, *encoded]}
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            _log.info(
                "%s %s %s %.1f ms, request %s, instance %s",
                scope["method"] if scope["method"] in _METHODS else "other",
                getattr(scope.get("route"), "path", "-"),
                status or "no response",
                (time.perf_counter() - started) * 1000,
                state["request_id"],
                state["instance"].id if "instance" in state else "-",
            )
