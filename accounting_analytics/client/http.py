"""One HTTP request and its complete response: limited in time and size, failures as named errors, secrets masked.

A forked process has connections, locks and waits of its own: a child that writes to a connection of its parent may read
the response to a request of the parent, and a lock that another thread held during the fork stays held for ever.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import ssl
import threading
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol
from urllib.request import getproxies, proxy_bypass
from weakref import WeakSet

import httpx
import msgspec

from accounting_analytics.client.secret import Secret, masked
from accounting_analytics.core.errors import (
    AuthenticationError,
    CertificateRefusedError,
    ConfigurationError,
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
from accounting_analytics.core.messages import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MIB = 1 << 20
CONNECT_SECONDS = 10.0
"""Longest time to connect, and to agree on encryption after it."""
_CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=100)
_HTTP_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))
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


class Deadline:
    """A time limit that starts when the object is created.

    One deadline may be given to many calls, and so limits a whole job:
    ``client.with_options(deadline=Deadline(600))``.

    Parameters
    ----------
    seconds : float
        Seconds from now; infinity sets no limit.
    """

    __slots__ = ("_expires_at", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = float(seconds)
        self._expires_at = time.monotonic() + self.seconds

    def __repr__(self) -> str:
        return f"Deadline({self.seconds:g}, {self.remaining():.1f} seconds left)"

    def remaining(self) -> float:
        """Seconds left; zero or negative when the deadline has passed."""
        return self._expires_at - time.monotonic()

    def sooner(self, seconds: float) -> Deadline:
        """Return this deadline, or one `seconds` from now if that is sooner."""
        return self if self.remaining() <= seconds else Deadline(seconds)


class PerProcess(ABC):
    """What each process makes for itself: at first, and again in a forked child."""

    def __init__(self) -> None:
        _made_for_this_process.add(self)
        self.begin_process()

    @abstractmethod
    def begin_process(self) -> None:
        """Make what a process has of its own."""


_made_for_this_process: WeakSet[PerProcess] = WeakSet()


def _begin_child() -> None:
    for one in _made_for_this_process:
        one.begin_process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


class Gate(Protocol):
    """Decides whether a request may be written now, from the headers of the responses before it."""

    def require_open(self) -> None:
        """Raise where nothing may be sent now."""

    def note_wait(self, status: int, headers: Mapping[str, str]) -> None:
        """Close it for as long as a response asks."""


class HttpSender(PerProcess):
    """Sends requests to the origin of `base_url`.

    `setting` is the name of the setting that has the address, and `secrets` returns what to mask in responses. The gate
    is asked again when a request is written: in the time that making a connection takes, another response may ask to
    wait.
    """

    def __init__(
        self,
        base_url: str,
        *,
        setting: str = "base_url",
        transport: httpx.BaseTransport | None,
        secrets: Callable[[], Iterable[Secret]],
        gate: Gate | None = None,
    ) -> None:
        _keep_requests_out_of_http_logs()
        self.origin = httpx.URL(base_url)
        self._setting, self._secrets, self._gate = setting, secrets, gate
        self._given_transport = transport
        made = transport or _transport_to(self.origin)
        proxy = "" if transport else _proxy_host_to(self.origin)
        self._server = f"{self.origin.scheme}://{self.origin.netloc.decode('ascii')}"
        self._server += f" through the proxy {proxy}" if proxy else ""
        self._is_closed = self._has_connected = False
        self._http: httpx.Client | None = None
        super().__init__()
        self._http = _http_client(made)

    def begin_process(self) -> None:
        """Begin without connections, which a child makes when it needs them."""
        self._lock = threading.Lock()
        self._http = None

    def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        if self._http is not None:
            self._http.close()

    def masked(self, text: str) -> str:
        """Text of the service with our secrets masked."""
        return masked(text, self._secrets())

    def send(self, request: HttpRequest, authorization: Authorization, deadline: Deadline) -> HttpResponse:
        """Send a request once and receive its complete response before the deadline.

        Raises what the gate raises where nothing may be sent.
        """
        # raised after the except clauses, so that no error keeps frames of httpx, whose variables hold the headers
        try:
            with _sending():
                return self._receive(request, authorization, deadline)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            problem = self._named(request, error, deadline)
        except (ServiceError, InputError) as error:
            problem = error
        raise problem.with_traceback(None)

    def _named(self, request: HttpRequest, error: Exception, deadline: Deadline) -> ServiceError | InputError:
        """Return the error of this package that stands for one of httpx."""
        what, tls_error = request.description, _tls_error(error)
        is_connecting = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        self._has_connected |= isinstance(error, httpx.HTTPError) and not is_connecting
        if isinstance(error, httpx.InvalidURL):
            return InputError(f"{what}: {_TOO_LONG}")
        if isinstance(error, httpx.DecodingError):
            return GarbledAnswerError(f"{what}: {self._server} sent a body that cannot be decompressed")
        if isinstance(tls_error, ssl.SSLCertVerificationError):
            return CertificateRefusedError(
                f"{what}: the certificate of {self._server} is not trusted ({tls_error.verify_message}); nothing was "
                "sent: check the address, or set SSL_CERT_FILE to the certificate file of your certificate authority"
            )
        # the deadline of the request may be sooner than the time to connect
        if isinstance(error, httpx.TimeoutException) and (not is_connecting or deadline.remaining() <= 0):
            return self._timeout_error(request, deadline)
        if is_connecting and not self._has_connected:
            reason = self.masked(str(error))
            if isinstance(error, httpx.ConnectTimeout):
                reason = f"nothing responded within {CONNECT_SECONDS:g} seconds"
            hint = "and whether the service is running and the network allows the connection"
            return NoConnectionError(
                f"{what}: cannot connect to {self._server} ({reason}); nothing was sent: check the address "
                f"({self._setting}), {hint if tls_error is None else _HTTPS_OR_HTTP}"
            )
        reason = self.masked(f"{type(error).__name__}: {error}")
        hint = "is the service running?" if tls_error is None else _HTTPS_OR_HTTP
        return TransportError(f"{what}: no complete response from {self._server} ({reason}); {hint}")

    def _timeout_error(self, request: HttpRequest, deadline: Deadline) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"{request.description}: {self._server} did not respond completely within {deadline.seconds:g} seconds"
        )

    def _open_client(self, request: HttpRequest) -> httpx.Client:
        """Client of httpx, which a forked process makes anew."""
        if self._is_closed:
            raise InputError(f"{request.description}: the client is closed; connect again")
        with self._lock:
            if self._http is None and self._given_transport is not None:
                raise InputError(
                    f"{request.description}: the client was made with transport=..., and this is a forked process, "
                    "which must not share its connections; nothing was sent: make a client in this process"
                )
            self._http = self._http or _http_client(_transport_to(self.origin))
            return self._http

    def _receive(self, request: HttpRequest, authorization: Authorization, deadline: Deadline) -> HttpResponse:
        """Send a request and receive its response."""
        left, http = deadline.remaining(), self._open_client(request)
        if left <= 0:
            raise self._timeout_error(request, deadline)
        outgoing = http.build_request(
            request.method,
            request.url,
            params=dict(request.parameters) or None,
            headers=httpx.Headers(dict(request.headers), encoding="utf-8"),
            content=request.content,
            timeout=httpx.Timeout(left, connect=min(left, CONNECT_SECONDS)),
        )
        if len(outgoing.url.raw_path) > _MAX_TARGET_LENGTH:
            raise httpx.InvalidURL(_TOO_LONG)
        if self._gate is not None:
            self._gate.require_open()
            outgoing.extensions["trace"] = self._before_headers
        response = http.send(outgoing, auth=authorization, stream=True)
        self._has_connected = True
        if self._gate is not None:
            self._gate.note_wait(response.status_code, response.headers)
        try:
            content = self._read_body(response, request, deadline)
        finally:
            response.close()
        headers = {name: self.masked(value) for name, value in response.headers.items()}
        return HttpResponse(response.status_code, headers, content)

    def _before_headers(self, event: str, _: object) -> None:
        """Hold back a request whose headers are about to be written; httpcore calls this at each of its steps."""
        if event.endswith("send_request_headers.started") and self._gate is not None:
            self._gate.require_open()

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


_is_sending: ContextVar[bool] = ContextVar("this package is sending a request", default=False)


@contextmanager
def _sending() -> Iterator[None]:
    """Mark that this thread sends a request of this package in the block."""
    token = _is_sending.set(True)
    try:
        yield
    finally:
        _is_sending.reset(token)


def _keep_requests_out_of_http_logs() -> None:
    """Drop what httpx and httpcore log about requests of this package; other users of httpx keep their logs.

    Those records contain URLs and headers, at DEBUG also headers in which a service repeats the token.
    """
    for name in _HTTP_LOGGERS:
        logging.getLogger(name).addFilter(_is_foreign_request)  # adding it again has no effect


def _is_foreign_request(_: logging.LogRecord) -> bool:
    """Whether the current request, if any, was not sent by this package."""
    return not _is_sending.get()


def _transport_to(origin: httpx.URL) -> httpx.HTTPTransport:
    """Transport to an origin, with the certificates and the proxy that the environment names."""
    proxy = _proxy_to(origin)
    try:
        # loading certificates takes time, so it is skipped where no connection is encrypted
        return httpx.HTTPTransport(
            verify=origin.scheme == "https" or proxy is not None, limits=_CONNECTIONS, proxy=proxy
        )
    except (OSError, ssl.SSLError) as error:
        variables = " or ".join(name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name))
        reason = error.strerror or error
        raise ConfigurationError(
            f"the certificates that {variables or 'this machine'} names cannot be read: {reason}"
        ) from error
    except ImportError as error:
        raise ConfigurationError(
            f"the proxy that the environment names for {origin.scheme} is a SOCKS proxy (HTTP_PROXY, HTTPS_PROXY, "
            'ALL_PROXY), which needs another package: pip install "httpx[socks]"'
        ) from error
    except (ValueError, httpx.InvalidURL) as error:
        raise ConfigurationError(
            f"the proxy that the environment names for {origin.scheme} cannot be used (HTTP_PROXY, HTTPS_PROXY, "
            "ALL_PROXY); write it like http://proxy.example.org:3128"
        ) from error


def _proxy_to(origin: httpx.URL) -> str | None:
    """Proxy that the environment names for an origin; this machine itself is never reached through one."""
    proxies = getproxies()
    proxy = proxies.get(origin.scheme) or proxies.get("all")
    return None if proxy is None or _is_loopback(origin.host) or proxy_bypass(origin.host) else proxy


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine: ``localhost``, ``127.0.0.0/8`` or ``::1``."""
    name = host.casefold().rstrip(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _proxy_host_to(origin: httpx.URL) -> str:
    """Host and port of the proxy to an origin, for messages; empty without one."""
    proxy = _proxy_to(origin)
    if proxy is None:
        return ""
    address = httpx.URL(proxy)  # what looks like a path may belong to a password with a slash
    return address.netloc.decode("ascii") if address.path in {"", "/"} else "that the environment names"
