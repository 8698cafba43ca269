"""JSON responses, and the refusal of a request without a valid access token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from accounting_analytics.errors import OperationRefusedError, TokenRefusedError
from accounting_analytics.service.wire.json_values import encode
from accounting_analytics.service.wire.response_models import Error, TokenError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON = "application/json"
REALM = 'realm="accounting-analytics"'
"""Protection space of a challenge (RFC 6750, 3; RFC 7617, 2)."""


def has_media_type(content_type: str, media_type: str) -> bool:
    """Whether a Content-Type names a media type, with parameters or without."""
    return content_type.partition(";")[0].strip().lower() == media_type


def json_response(body: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Response with a struct as its JSON body."""
    return Response(encode(body), status, headers, media_type=JSON)


def error_response(error: OperationRefusedError) -> Response:
    """Response to an operation that was refused."""
    return json_response(_error_body(error), error.status, error.headers)


def _error_body(error: OperationRefusedError) -> msgspec.Struct:
    if isinstance(error, TokenRefusedError):
        return msgspec.convert({"error": error.error_code, "error_description": str(error)}, TokenError)
    if error.detail:
        return msgspec.convert({"detail": error.detail}, ValidationError)
    return Error.from_message(str(error), error.error_code)


def unauthorized(*, with_token: bool) -> OperationRefusedError:
    """Return the 401; it is the same for an unknown, wrong, expired or revoked token.

    Parameters
    ----------
    with_token : bool
        Whether the request has a bearer token at all (RFC 6750, 3.1).
    """
    msg = "a valid access token is required: Authorization: Bearer <token>"
    challenge = f"Bearer {REALM}" + (', error="invalid_token"' if with_token else "")
    return OperationRefusedError(msg, status=401, error_code="unauthorized", headers={"www-authenticate": challenge})
