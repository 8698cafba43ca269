"""One HTTP request and its complete response: limited in time and size, failures as named errors, secrets masked.

The error of an unsuccessful status has the reason that the service gives.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx
import msgspec

from accounting_analytics.client.secret import Secret, masked
from accounting_analytics.client.transport import (
    CONNECT_SECONDS,
    PerProcess,
    keep_requests_out_of_http_logs,
    proxy_host_to,
    sending,
    transport_to,
)
from accounting_analytics.errors import (
    AuthenticationError,
    CertificateRefusedError,
    ConflictError,
    DeadlineExceededError,
    GarbledAnswerError,
    InputError,
    InvalidRequestError,
    NoConnectionError,
    NotFoundError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitedError,
    ServerFaultError,
    ServiceError,
    StatusError,
    TransportError,
)
from accounting_analytics.messages import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from accounting_analytics.client.rate_limiter import RateLimiter
    from accounting_analytics.client.transport import Deadline

MIB = 1 << 20
_MAX_TARGET_LENGTH = 65_000
_JSON = re.compile(r"application/(?:json|[\w.+-]+\+json)\s*(?:;|$)", re.IGNORECASE)
_TOO_LONG = "an id or token is too long for a URL"
_HTTPS_OR_HTTP = "does it speak HTTPS there, or plain http?"
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
_MAX_BODY_BYTES = 65_536
_MAX_REASON_LENGTH = 300
_MAX_CODE_LENGTH = 100


@dataclass(frozen=True)
class HttpRequest:
    """An HTTP request without its Authorization header; `description` starts every message about it."""

    description: str
    method: str
    url: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes | None
    max_response_bytes: int


@dataclass(frozen=True, repr=False, slots=True)
class HttpResponse:
    """A complete HTTP response: headers by lower-case name with secrets masked, and the decompressed body."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(status={self.status}, {len(self.content)} bytes)"


class Authorization(httpx.Auth):
    """The Authorization header, added when the request is sent, so that no frame or log contains it."""

    def __init__(self, value: Secret) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Authorization('***')"

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        """Add the header."""
        request.headers["authorization"] = self._value.reveal()
        yield request


class HttpSender:
    """Sends requests to the origin of `base_url`; a forked process gets connections of its own.

    `setting` is the name of the setting that has the address, and `secrets` returns what to mask in responses. The rate
    limiter is asked again when a request is written: in the time that making a connection takes, another response may
    ask to wait.
    """

    def __init__(
        self,
        base_url: str,
        *,
        setting: str = "base_url",
        transport: httpx.BaseTransport | None,
        secrets: Callable[[], Iterable[Secret]],
        rate_limiter: Callable[[], RateLimiter] | None = None,
    ) -> None:
        keep_requests_out_of_http_logs()
        self.origin = httpx.URL(base_url)
        self._setting = setting
        self._secrets = secrets
        self._rate_limiter = rate_limiter
        self._has_given_transport = transport is not None
        transport = transport or transport_to(self.origin)
        proxy = "" if self._has_given_transport else proxy_host_to(self.origin)
        self._server = f"{self.origin.scheme}://{self.origin.netloc.decode('ascii')}"
        self._server += f" through the proxy {proxy}" if proxy else ""
        self._http = PerProcess(lambda: _http_client(transport_to(self.origin)), first=_http_client(transport))
        self._is_closed = False
        self._has_connected = False

    def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        if self._http.is_made:
            self._http.get().close()

    def masked(self, text: str) -> str:
        """Text of the service with our secrets masked."""
        return masked(text, self._secrets())

    def send(self, request: HttpRequest, authorization: Authorization, deadline: Deadline) -> HttpResponse:
        """Send a request once and receive its complete response before the deadline.

        Raises SendingPausedError where the service asks to wait and nothing was sent.
        """
        # raised after the except clauses, so that no error keeps frames of httpx, whose variables hold the headers
        try:
            with sending():
                return self._receive(request, authorization, deadline)
        except httpx.ConnectTimeout as error:
            # the deadline of the request may be sooner than the time to connect
            too_late = deadline.remaining() <= 0
            problem: Exception = (
                self._timeout_error(request, deadline) if too_late else self._connection_error(request, error)
            )
        except httpx.TimeoutException:
            self._has_connected = True
            problem = self._timeout_error(request, deadline)
        except httpx.DecodingError:
            problem = GarbledAnswerError(
                f"{request.description}: {self._server} sent a body that cannot be decompressed"
            )
        except httpx.InvalidURL:
            problem = InputError(f"{request.description}: {_TOO_LONG}")
        except httpx.ConnectError as error:
            problem = self._connection_error(request, error)
        except httpx.HTTPError as error:
            self._has_connected = True
            problem = self._transport_error(request, error)
        except (ServiceError, InputError) as error:
            problem = error
        raise problem.with_traceback(None)

    def _open_client(self, request: HttpRequest) -> httpx.Client:
        """Client of httpx, which a forked process makes anew."""
        if self._is_closed:
            raise InputError(f"{request.description}: the client is closed; connect again")
        if self._has_given_transport and not self._http.is_made:
            raise InputError(
                f"{request.description}: the client was made with transport=..., and this is a forked process, "
                "which must not share its connections; nothing was sent: make a client in this process"
            )
        return self._http.get()

    def _connection_error(self, request: HttpRequest, error: httpx.HTTPError) -> TransportError:
        """Error of a connection that was not made; its text names the address if none was ever made."""
        tls_error = _tls_error(error)
        if self._has_connected or isinstance(tls_error, ssl.SSLCertVerificationError):
            return self._transport_error(request, error)
        reason = self.masked(str(error))
        if isinstance(error, httpx.ConnectTimeout):
            reason = f"nothing responded within {CONNECT_SECONDS:g} seconds"
        hint = "and whether the service is running and the network allows the connection"
        return NoConnectionError(
            f"{request.description}: cannot connect to {self._server} ({reason}); nothing was sent: check the address "
            f"({self._setting}), {hint if tls_error is None else _HTTPS_OR_HTTP}"
        )

    def _transport_error(self, request: HttpRequest, error: httpx.HTTPError) -> TransportError:
        """Error of a failed connection; its causes show whether encryption failed."""
        tls_error = _tls_error(error)
        if isinstance(tls_error, ssl.SSLCertVerificationError):
            return CertificateRefusedError(
                f"{request.description}: the certificate of {self._server} is not trusted "
                f"({tls_error.verify_message}); nothing was sent: check the address, or set SSL_CERT_FILE to the "
                "certificate file of your certificate authority"
            )
        hint = "is the service running?" if tls_error is None else _HTTPS_OR_HTTP
        reason = self.masked(f"{type(error).__name__}: {error}")
        return TransportError(f"{request.description}: no complete response from {self._server} ({reason}); {hint}")

    def _timeout_error(self, request: HttpRequest, deadline: Deadline) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"{request.description}: {self._server} did not respond completely within {deadline.seconds:g} seconds"
        )

    def _receive(self, request: HttpRequest, authorization: Authorization, deadline: Deadline) -> HttpResponse:
        """Send a request and receive its response."""
        left = deadline.remaining()
        if left <= 0:
            raise self._timeout_error(request, deadline)
        outgoing = self._open_client(request).build_request(
            request.method,
            request.url,
            params=dict(request.parameters) or None,
            headers=httpx.Headers(dict(request.headers), encoding="utf-8"),
            content=request.content,
            timeout=httpx.Timeout(left, connect=min(left, CONNECT_SECONDS)),
        )
        if len(outgoing.url.raw_path) > _MAX_TARGET_LENGTH:
            raise httpx.InvalidURL(_TOO_LONG)
        if self._rate_limiter is not None:
            self._rate_limiter().require_open()
            outgoing.extensions["trace"] = self._before_headers
        response = self._open_client(request).send(outgoing, auth=authorization, stream=True)
        self._has_connected = True
        if self._rate_limiter is not None:
            self._rate_limiter().note_wait(response.status_code, response.headers)
        try:
            content = self._read_body(response, request, deadline)
        finally:
            response.close()
        headers = {name: self.masked(value) for name, value in response.headers.items()}
        return HttpResponse(response.status_code, headers, content)

    def _before_headers(self, event: str, _: object) -> None:
        """Hold back a request whose headers are about to be written; httpcore calls this at each of its steps."""
        if event.endswith("send_request_headers.started") and self._rate_limiter is not None:
            self._rate_limiter().require_open()

    def _read_body(self, response: httpx.Response, request: HttpRequest, deadline: Deadline) -> bytes:
        """Decompressed body, read in chunks, so that both its time and its size are limited."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in {"identity", "gzip", "x-gzip", ""}:
            raise GarbledAnswerError(
                f"{request.description}: {self._server} sent a body in a compression that was not requested"
            )
        chunks: list[bytes] = []
        size = 0
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > request.max_response_bytes:
                raise ProtocolError(
                    f"{request.description}: the response is larger than {request.max_response_bytes / MIB:g} MiB; "
                    "allow more with with_options(most_bytes=...), or request less"
                )
            if deadline.remaining() <= 0:
                raise self._timeout_error(request, deadline)
        return b"".join(chunks)


def is_json(response: HttpResponse) -> bool:
    """Whether the content type is JSON or missing."""
    content_type = response.headers.get("content-type")
    return content_type is None or _JSON.match(content_type) is not None


def _http_client(transport: httpx.BaseTransport) -> httpx.Client:
    return httpx.Client(
        transport=transport,
        follow_redirects=False,
        headers={"accept": "application/json", "accept-encoding": "gzip"},
        trust_env=False,
    )


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """TLS error that caused a failed connection, if there is one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    return cause


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
        text = "the service redirects, which is not followed: give the final address as base_url"
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
    """Start of a body as text; empty where there is nothing but an empty JSON value."""
    text = content[:_MAX_BODY_BYTES].decode("utf-8", "replace")
    return "" if text.strip() in _EMPTY_VALUES else text


def _location(loc: object) -> str:
    return ".".join(map(str, loc)) if isinstance(loc, list) else str(loc or "")
