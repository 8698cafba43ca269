"""Errors of unsuccessful HTTP statuses, with the reason that the service gives and secrets masked."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec

from accounting_analytics.errors import (
    AuthenticationError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitedError,
    ServerFaultError,
    StatusError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accounting_analytics.client.http_request import HttpResponse

_ERRORS: Mapping[int, type[StatusError]] = {
    HTTPStatus.UNAUTHORIZED: AuthenticationError,
    HTTPStatus.FORBIDDEN: PermissionDeniedError,
    HTTPStatus.NOT_FOUND: NotFoundError,
    HTTPStatus.GONE: NotFoundError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.TOO_MANY_REQUESTS: RateLimitedError,
}
_ADVICE: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "the token is missing, wrong or expired; get a new one and connect again",
    HTTPStatus.FORBIDDEN: "the token or the subscription tier does not allow this",
}
_MAX_REASON_LENGTH = 300
_MAX_CODE_LENGTH = 100


def status_error(request: object, response: HttpResponse, mask: Callable[[str], str]) -> StatusError:
    """Error of an unsuccessful response; `mask` hides secrets in the reason that the service gives."""
    status = response.status
    error_type = _ERRORS.get(status) or (InvalidRequestError if 400 <= status < 500 else ServerFaultError)  # noqa: PLR2004
    reason, code = _reason(response.content)
    # masked before it is shortened, because a part of a secret would not be recognized
    reason = " ".join(mask(reason).split())[:_MAX_REASON_LENGTH]
    text = _ADVICE.get(status) or reason or "the service gave no reason"
    if 300 <= status < 400:  # noqa: PLR2004 (following it would send the token elsewhere, or a change twice)
        text = "the service redirects; such redirects are not followed: give the final address as base_url"
    message = f"{request}: the service responded with status {status}: {text}"
    return error_type(message, status=status, error_code=None if code is None else mask(code)[:_MAX_CODE_LENGTH])


class _ErrorBody(msgspec.Struct):
    message: str | None = None
    display_message: str | None = None
    error_code: str | None = None
    detail: list[dict[str, Any]] | str | None = None


def _reason(content: bytes) -> tuple[str, str | None]:
    """Reason and error code of an error body; empty where the body has another form."""
    try:
        body = msgspec.json.decode(content, type=_ErrorBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", None
    if isinstance(body.detail, list):
        problems = (f"{_location(problem.get('loc'))}: {problem.get('msg', '')}" for problem in body.detail)
        return "; ".join(problems), body.error_code
    return (body.message or body.display_message or body.detail or ""), body.error_code


def _location(loc: object) -> str:
    return ".".join(map(str, loc)) if isinstance(loc, list) else str(loc or "")
