"""Answers: JSON, and what becomes of each kind of error. No answer says anything of the inside."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from accounting_analytics.errors import OperationRefusedError, TokenRefusedError
from accounting_analytics.service.wire.rendering import encode, error_fields

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from accounting_analytics.service.operations.retrieve_cash_flow_report import Report

JSON = "application/json"
REALM = 'realm="accounting-analytics"'
"""What a challenge says is protected (RFC 6750, 3; RFC 7617, 2)."""

RETRY_AFTER = 1
"""Seconds to wait before asking again where the database was busy."""

_log = logging.getLogger(__name__)


def is_of_type(content_type: str, media_type: str) -> bool:
    """Whether a Content-Type names a media type, with parameters or without."""
    return content_type.partition(";")[0].strip().lower() == media_type


def json_answer(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer of JSON that is already written."""
    return Response(body, status, headers, media_type=JSON)


class ReportAnswer(StreamingResponse):
    """Answer of a report: sent part by part, and let go of however the sending ends."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.parts, headers={"content-length": str(report.length)}, media_type=JSON)
        self._let_go = ExitStack()
        self._let_go.callback(report.close)

    def when_sent(self, done: Callable[[], object]) -> None:
        """Call something when the report was sent, or cannot be."""
        self._let_go.callback(done)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with self._let_go:
            await super().__call__(scope, receive, send)


def unauthorized(*, presented: bool) -> OperationRefusedError:
    """Return the 401; the same for a token that is unknown, wrong, expired or revoked.

    Parameters
    ----------
    presented : bool
        Whether a bearer token was sent at all (RFC 6750, 3.1).
    """
    msg = "a valid access token is needed: Authorization: Bearer <token>"
    challenge = f"Bearer {REALM}" + (', error="invalid_token"' if presented else "")
    return OperationRefusedError(msg, status=401, error_code="unauthorized", headers={"www-authenticate": challenge})


def busy(message: str = "the books are busy; nothing was changed, ask again") -> OperationRefusedError:
    """Return the 503 for work that did not get its turn."""
    return OperationRefusedError(message, status=503, error_code="busy", headers={"retry-after": str(RETRY_AFTER)})


def refusal(error: OperationRefusedError) -> Response:
    """Answer of a refused operation."""
    if isinstance(error, TokenRefusedError):
        fields = {"error": error.error_code, "error_description": str(error)}
        return json_answer(encode(fields), error.status, error.headers)
    if error.detail:
        return json_answer(encode({"detail": error.detail}), error.status, error.headers)
    return json_answer(encode(error_fields(str(error), error.error_code)), error.status, error.headers)


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, OperationRefusedError):
        raise error
    if isinstance(error.__cause__, SQLAlchemyError):
        _log.warning("request %s: %s", request.state.request_id, error)
    return refusal(error)


async def _http_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    code = str(error.detail).lower().replace(" ", "_")
    headers = dict(error.headers) if error.headers else None
    return json_answer(encode(error_fields(str(error.detail), code)), error.status_code, headers)


async def _gone(_: Request, __: Exception) -> Response:
    """Nobody is there to answer: a client that went away in mid-request is no fault of the service."""
    return Response(status_code=HTTPStatus.BAD_REQUEST)


async def _failed(request: Request, error: Exception) -> Response:
    """Answer an unforeseen failure without a word of its cause; the log has that."""
    _log.error("request %s failed: %s", request.state.request_id, type(error).__name__)
    msg = "the service failed, and cannot say whether it did what was asked"
    return json_answer(encode(error_fields(msg, "internal_error")), 500)


ERROR_ANSWERS: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
    OperationRefusedError: _refused,
    HTTPException: _http_error,
    ClientDisconnect: _gone,
    Exception: _failed,
}
