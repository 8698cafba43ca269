"""Errors of unsuccessful HTTP statuses, with the reason that the service gives and secrets masked."""

from __future__ import annotations

import re
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
from accounting_analytics.messages import printable, shorten

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
_REASON_FIELDS = ("message", "display_message", "detail", "error_description", "error", "title")
_EMPTY_VALUES = frozenset({"", "{}", "[]", "null", '""'})
_HTML_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_MAX_BODY_BYTES = 65_536
_MAX_REASON_LENGTH = 300
_MAX_CODE_LENGTH = 100


def status_error(request: object, response: HttpResponse, mask: Callable[[str], str]) -> StatusError:
    """Error of an unsuccessful response; `mask` hides secrets in the reason that the service gives."""
    status = response.status
    error_type = _ERRORS.get(status) or (InvalidRequestError if 400 <= status < 500 else ServerFaultError)  # noqa: PLR2004
    reason, code = _reason(response.content)
    # masked before it is shortened, because a part of a secret would not be recognized
    reason = shorten(printable(" ".join(mask(reason).split())), limit=_MAX_REASON_LENGTH)
    text = reason or "the service gave no reason"
    if status in _ADVICE:
        text = f"{_ADVICE[status]}{f' (the service: {reason})' if reason else ''}"
    if status == HTTPStatus.NOT_FOUND and code is None:  # maybe of a server that does not know the interface
        text = f"{text}; check the address (base_url) and the ids"
    if 300 <= status < 400:  # noqa: PLR2004 (following it would send the token elsewhere, or a change twice)
        text = "the service redirects; such redirects are not followed: give the final address as base_url"
    message = f"{request}: the service responded with status {status}: {text}"
    return error_type(message, status=status, error_code=None if code is None else mask(code)[:_MAX_CODE_LENGTH])


def _reason(content: bytes) -> tuple[str, str | None]:
    """Reason and error code of an error body of any form."""
    try:
        body = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _plain_text(content), None
    if not isinstance(body, dict):
        return body if isinstance(body, str) else _plain_text(content), None
    code = body.get("error_code")
    return _stated_reason(body) or _plain_text(content), code if isinstance(code, str) else None


def _stated_reason(body: Mapping[str, Any]) -> str:
    """Reason in the fields that the interface, or RFC 6749 and RFC 9457, have for it; empty where there is none."""
    detail = body.get("detail")
    if isinstance(detail, list) and detail and all(isinstance(problem, dict) for problem in detail):
        return "; ".join(f"{_location(problem.get('loc'))}: {problem.get('msg', '')}" for problem in detail)
    return next((body[name] for name in _REASON_FIELDS if isinstance(body.get(name), str) and body[name]), "")


def _plain_text(content: bytes) -> str:
    """Start of a body as text, without the tags of HTML; empty where there is nothing but an empty JSON value."""
    text = content[:_MAX_BODY_BYTES].decode("utf-8", "replace")
    text = _HTML_TAG.sub(" ", text) if "<" in text else text
    return "" if text.strip() in _EMPTY_VALUES else text


def _location(loc: object) -> str:
    return ".".join(map(str, loc)) if isinstance(loc, list) else str(loc or "")
