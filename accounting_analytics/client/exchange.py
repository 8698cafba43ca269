"""One request and its answer: the only place that speaks HTTP.

Requests carry the token and the instance; answers become decoded wire records or one of the errors of
:mod:`accounting_analytics.errors`. Reads are tried again a bounded number of times; writes never are.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec
import stamina

from accounting_analytics.client.pacing import Pace, retry_after
from accounting_analytics.client.secret import masked
from accounting_analytics.client.strict_json import NotJSONError, NotTheInterfaceError, decode
from accounting_analytics.errors import (
    AuthenticationError,
    ConfigurationError,
    ConflictError,
    DeadlineExceededError,
    InputError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitedError,
    ServerFaultError,
    ServiceError,
    StatusError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.client.secret import Secret

Answer = TypeVar("Answer")

# retries are told to whoever configures logging, and not to a terminal where nobody did
logging.getLogger("stamina").addHandler(logging.NullHandler())

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
_TRIED_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_OBEYS_RETRY_AFTER = frozenset({429, 503})
_LONGEST_WAIT = 120.0
_SHOWN_REASON = 300


class _RefusedForNowError(Exception):
    """A status worth another try; carries the error it becomes when there is none."""

    def __init__(self, error: StatusError, wait: float | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


@dataclass(frozen=True)
class Request:
    """What is asked: in the interface's words, and in words for a message."""

    operation: str
    method: str
    path: str
    parameters: Mapping[str, str]
    subject: str = ""
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None

    def __str__(self) -> str:
        return f"{self.operation}{f' ({self.subject})' if self.subject else ''}"


class Exchange:
    """Requests to one instance of one service."""

    def __init__(
        self,
        base_url: str,
        *,
        token: Secret,
        instance_id: str,
        instance_header: str,
        transport: httpx.BaseTransport | None,
        requests_per_minute: float | None,
        timeout: float,
        max_attempts: int,
    ) -> None:
        self.base_url = _checked_url(base_url)
        self._headers = {
            _header_name(instance_header): header_value(instance_id, "the instance id"),
            "accept": "application/json",
        }
        self._token = token
        header_value(token.reveal(), "the token")
        self._timeout = timeout
        self._max_attempts = max_attempts
        self._pace = Pace(requests_per_minute)
        self._http = httpx.Client(transport=transport, timeout=timeout, follow_redirects=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def read(self, request: Request, kind: type[Answer]) -> Answer:
        """Ask for something that changes nothing; tried again when the service or the road fails for a moment."""

        def wait_before_next(error: Exception) -> bool | float:
            if isinstance(error, _RefusedForNowError):
                return True if error.wait is None else error.wait
            return isinstance(error, TransportError | DeadlineExceededError)

        try:
            for attempt in stamina.retry_context(
                on=wait_before_next, attempts=self._max_attempts, timeout=None, wait_initial=0.2, wait_max=5.0
            ):
                with attempt:
                    return self._once(request, kind, last=attempt.num == self._max_attempts)
        except _RefusedForNowError as refused:
            raise refused.error from None
        msg = f"{request}: no attempt was made"  # pragma: no cover (max_attempts is at least 1)
        raise ServiceError(msg)

    def write(self, request: Request, kind: type[Answer]) -> Answer:
        """Ask for a change, exactly once; a lost answer does not say whether it was made."""
        return self._once(request, kind, last=True)

    def _once(self, request: Request, kind: type[Answer], *, last: bool) -> Answer:
        self._pace.wait()
        response = self._send(request)
        if response.status_code == HTTPStatus.OK or (
            request.method == "POST" and response.status_code == HTTPStatus.CREATED
        ):
            return self._decode(request, response, kind)
        error = _status_error(request, response, self._token)
        if last or response.status_code not in _TRIED_AGAIN:
            raise error
        wait = retry_after(response.headers, time.time()) if response.status_code in _OBEYS_RETRY_AFTER else None
        if wait is not None and wait > _LONGEST_WAIT:
            msg = f"{error}; the service asks to wait {wait:.0f} seconds: try again then"
            raise type(error)(msg, status=error.status, error_code=error.error_code)
        raise _RefusedForNowError(error, wait)

    def _send(self, request: Request) -> httpx.Response:
        try:
            return self._http.request(
                request.method,
                f"{self.base_url}{request.path}",
                params=dict(request.parameters),
                content=None if request.body is None else msgspec.json.encode(request.body),
                headers=self._headers
                | {"authorization": f"Bearer {self._token.reveal()}"}
                | dict(request.headers or {})
                | ({"content-type": "application/json"} if request.body is not None else {}),
            )
        except httpx.TimeoutException:
            msg = f"{request}: {self.base_url} did not answer within {self._timeout:g} seconds"
            raise DeadlineExceededError(msg) from None
        except httpx.DecodingError:
            msg = f"{request}: {self.base_url} sent a body that cannot be decompressed"
            raise ProtocolError(msg) from None
        except httpx.InvalidURL:
            msg = f"{request}: an id or token is too long to be asked for"
            raise InputError(msg) from None
        except httpx.HTTPError as error:
            msg = (
                f"{request}: no answer from {self.base_url} ({type(error).__name__}: {error}); is the service running?"
            )
            raise TransportError(msg) from None

    def _decode(self, request: Request, response: httpx.Response, kind: type[Answer]) -> Answer:
        try:
            return decode(response.content, kind)
        except NotTheInterfaceError as error:
            said = f"the answer breaks the interface: {error}"
        except NotJSONError as error:
            said = f"the answer is not the JSON the interface promises: {error}"
        msg = f"{request}: {masked(said, [self._token])}"
        raise ProtocolError(msg)


def path_segment(identifier: str, name: str) -> str:
    """Percent-encode an id for a path; "", "." and ".." would name another path and are refused."""
    try:
        encoded = "" if identifier in {".", ".."} else quote(identifier, safe="")
    except (TypeError, UnicodeEncodeError):  # half of a surrogate pair is no text
        encoded = ""
    if not encoded:
        msg = f"{name} {identifier!r} is not an id"
        raise InputError(msg)
    return encoded


def header_value(text: str, name: str) -> str:
    """Refuse text that no header can carry; the text itself is not repeated, it may be a secret."""
    if not isinstance(text, str) or not text or not text.isascii() or not text.isprintable() or text != text.strip():
        msg = f"{name} must be plain ASCII text without line breaks or outer spaces"
        raise ConfigurationError(msg)
    return text


def _header_name(name: str) -> str:
    if not name or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
        msg = f"instance_header {name!r} is not a header name"
        raise ConfigurationError(msg)
    return name


def _checked_url(base_url: str) -> str:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in {"http", "https"} or not url.host or url.query or url.fragment or url.userinfo:
        msg = f"base_url {base_url!r} is not an http(s) address like https://ledgers.example.com"
        raise ConfigurationError(msg)
    return str(url).rstrip("/")


def _status_error(request: Request, response: httpx.Response, token: Secret) -> StatusError:
    status = response.status_code
    kind = _ERRORS.get(status) or (InvalidRequestError if 400 <= status < 500 else ServerFaultError)  # noqa: PLR2004
    reason, error_code = _reason(response)
    error_code = None if error_code is None else masked(error_code, [token])
    reason = masked(reason, [token])[:_SHOWN_REASON]
    said = _ADVICE.get(status) or reason or "the service gave no reason"
    if 300 <= status < 400:  # noqa: PLR2004 (a redirect would carry the token elsewhere)
        said = "the service redirects; redirects are not followed, give its final address as base_url"
    return kind(f"{request}: the service answered {status}: {said}", status=status, error_code=error_code)


class _ErrorBody(msgspec.Struct):
    message: str | None = None
    display_message: str | None = None
    error_code: str | None = None
    detail: list[dict[str, Any]] | str | None = None


def _reason(response: httpx.Response) -> tuple[str, str | None]:
    """Reason and code of an error body; nothing where the body is not one."""
    try:
        body = msgspec.json.decode(response.content, type=_ErrorBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", None
    if isinstance(body.detail, list):
        problems = [f"{'.'.join(map(str, one.get('loc', [])))}: {one.get('msg', '')}" for one in body.detail]
        return "; ".join(problems), body.error_code
    return (body.message or body.display_message or body.detail or ""), body.error_code
