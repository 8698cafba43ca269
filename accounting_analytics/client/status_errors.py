"""What a refusal of the service means: its status as an error, its reason in words, its secrets masked."""

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

    from accounting_analytics.client.http_request import Answer

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
_SHOWN_REASON = 300
_SHOWN_CODE = 100


def status_error(what: object, answer: Answer, mask: Callable[[str], str]) -> StatusError:
    """Error that an answer other than a success is; `mask` hides secrets in what the service says."""
    status = answer.status
    kind = _ERRORS.get(status) or (InvalidRequestError if 400 <= status < 500 else ServerFaultError)  # noqa: PLR2004
    reason, code = _reason(answer.content)
    # masked before it is cut: half a secret is a secret
    reason = " ".join(mask(reason).split())[:_SHOWN_REASON]
    said = _ADVICE.get(status) or reason or "the service gave no reason"
    if 300 <= status < 400:  # noqa: PLR2004 (a redirect would carry the token elsewhere, or a change twice)
        said = "the service redirects; redirects are not followed from here, give its final address as base_url"
    message = f"{what}: the service answered {status}: {said}"
    return kind(message, status=status, error_code=None if code is None else mask(code)[:_SHOWN_CODE])


class _ErrorBody(msgspec.Struct):
    message: str | None = None
    display_message: str | None = None
    error_code: str | None = None
    detail: list[dict[str, Any]] | str | None = None


def _reason(content: bytes) -> tuple[str, str | None]:
    """Reason and code of an error body; nothing where the body is not one."""
    try:
        body = msgspec.json.decode(content, type=_ErrorBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", None
    if isinstance(body.detail, list):
        problems = (f"{_place(one.get('loc'))}: {one.get('msg', '')}" for one in body.detail)
        return "; ".join(problems), body.error_code
    return (body.message or body.display_message or body.detail or ""), body.error_code


def _place(loc: object) -> str:
    return ".".join(map(str, loc)) if isinstance(loc, list) else str(loc or "")
