"""Error handlers of the application: one response for each kind of exception, none of them shows internals."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service.storage.store import FILE_REMOVED
from accounting_analytics.service.wire.response_models import Error
from accounting_analytics.service.wire.responses import error_response, json_response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

_log = logging.getLogger(__name__)


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, OperationRefusedError):
        raise error
    if isinstance(error.__cause__, SQLAlchemyError | OSError) or error.error_code == FILE_REMOVED:
        _log.warning("request %s: %s", request.state.request_id, error)
    return error_response(error)


async def _http_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    code = str(error.detail).lower().replace(" ", "_")
    headers = dict(error.headers) if error.headers else None
    return json_response(Error.from_message(str(error.detail), code), error.status_code, headers)


async def _client_disconnected(_: Request, __: Exception) -> Response:
    """Return a response that nothing reads: a client that disconnects during its request is not a failure."""
    return Response(status_code=HTTPStatus.BAD_REQUEST)


async def _failed(request: Request, error: Exception) -> Response:
    """Hide the cause of an unexpected failure from the client; the log has it."""
    _log.error("request %s failed: %s", request.state.request_id, type(error).__name__)
    msg = "the service failed; a change may or may not have been made"
    return json_response(Error.from_message(msg, "internal_error"), HTTPStatus.INTERNAL_SERVER_ERROR)


ERROR_HANDLERS: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
    OperationRefusedError: _refused,
    HTTPException: _http_error,
    ClientDisconnect: _client_disconnected,
    Exception: _failed,
}
