"""Requests to one service: retries, limits, and errors without secrets.

Reads are retried when the service or the network fails temporarily. Changes are sent once. No request starts after the
deadline, before the rate limit allows it, or sooner than the service asked to wait.
"""

from __future__ import annotations

import ipaddress
import itertools
import logging
import os
import random
import re
import ssl
import threading
import time
import zlib
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass
from weakref import WeakSet

import httpx
import msgspec

from accounting_analytics.client.rate_and_time_limits import STATUSES_WITH_RETRY_AFTER, RateLimiter
from accounting_analytics.client.secret import masked
from accounting_analytics.client.strict_json import Decoded, NotJSONError, NotTheInterfaceError
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
    with_context,
)
from accounting_analytics.core.messages import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from accounting_analytics.client.rate_and_time_limits import CallLimits, Deadline
    from accounting_analytics.client.secret import Secret

_log = logging.getLogger("accounting_analytics.client")
# without this, Python prints warnings to stderr if no logging is configured
_log.addHandler(logging.NullHandler())

MIB = 1 << 20
CONNECT_SECONDS = 10.0
"""Longest time in seconds to connect, and then again to agree on encryption."""
_CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=100)
_JSON = re.compile(r"application/(?:json|[\w.+-]+\+json)\s*(?:;|$)", re.IGNORECASE)
_RETRYABLE_STATUSES = frozenset({408, 429, *range(500, 600)}) - {501, 505, 507}
_ATTEMPTS_TO_CONNECT = 2
"""Most attempts before the first connection, because the address is probably wrong if it fails."""
_MAX_WAIT = 120.0
_FIRST_BACKOFF = 0.1
_MAX_BACKOFF = 5.0
_CANNOT_CONNECT = "cannot connect to {server} ({reason}); nothing was sent: check the address ({setting}); {hint}"
_NOT_TRUSTED = (
    "the certificate of {server} is not trusted ({reason}); nothing was sent: check the address, or set SSL_CERT_FILE "
    "to the certificate file of your certificate authority"
)
_NETWORK_ERRORS: tuple[tuple[type[Exception], type[ServiceError | InputError], str], ...] = (
    (httpx.InvalidURL, InputError, "an id or token is too long for a URL"),
    (ssl.SSLCertVerificationError, CertificateRefusedError, _NOT_TRUSTED),
    (httpx.ConnectTimeout, NoConnectionError, _CANNOT_CONNECT),
    (httpx.ConnectError, NoConnectionError, _CANNOT_CONNECT),
    (httpx.TimeoutException, DeadlineExceededError, "{server} did not respond completely within {seconds:g} seconds"),
    (httpx.DecodingError, GarbledAnswerError, "{server} sent a body that cannot be decompressed"),
    (httpx.HTTPError, TransportError, "no complete response from {server} ({kind}: {reason}); {hint}"),
)
"""Error class and message for each error of httpx. The first match is used."""
_STATUS_ERRORS: Mapping[int, tuple[type[StatusError], str]] = {
    HTTPStatus.UNAUTHORIZED: (
        AuthenticationError,
        "the token is missing, wrong or expired; get a new one and connect again",
    ),
    HTTPStatus.FORBIDDEN: (PermissionDeniedError, "the token or the subscription tier does not allow this"),
    HTTPStatus.NOT_FOUND: (NotFoundError, ""),
    HTTPStatus.GONE: (NotFoundError, ""),
    HTTPStatus.CONFLICT: (ConflictError, ""),
    HTTPStatus.TOO_MANY_REQUESTS: (RateLimitedError, ""),
}
"""Error class for each status, and advice that is written before the reason of the service."""
_REASON_FIELDS = ("message", "display_message", "detail", "error_description", "error", "title")
_MAX_BODY_BYTES = 65_536
_MAX_HEADER_BYTES = 16_384
_MAX_PORT = 65_535
_MAX_REASON_LENGTH = 300
_MAX_CODE_LENGTH = 100


@dataclass(frozen=True)
class Request:
    """A request without its Authorization header. Every message about it begins with `description`.

    `if_lost` is added to the error if the request may have been carried out.
    """

    description: str
    method: str
    url: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    max_response_bytes: int = MIB
    if_lost: str = ""

    def __str__(self) -> str:
        return self.description


def check_url(url: str, name: str) -> str:
    """Return an http(s) address without a trailing slash. Refuse anything else."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.userinfo:
        raise ConfigurationError(
            f"{name} must not contain a user name or password; give the address alone, like https://ledgers.example.com"
        )
    is_address = parsed.scheme in {"http", "https"} and parsed.host and not parsed.query and not parsed.fragment
    if not is_address or not 0 < (parsed.port or 1) <= _MAX_PORT:  # else the system would use another port
        raise ConfigurationError(f"{name} {url!r} is not an http(s) address like https://ledgers.example.com")
    return str(parsed).rstrip("/")


def header_text(text: str, name: str, *, encoding: str = "ascii") -> str:
    """Return a text that fits a header. The message of a refusal does not repeat the text, which may be a secret."""
    try:
        size = len(text.encode(encoding)) if text.isprintable() and text == text.strip() else 0
    except (AttributeError, UnicodeEncodeError):
        size = 0
    if not 0 < size <= _MAX_HEADER_BYTES:
        raise ConfigurationError(
            f"{name} must be plain text in {encoding.upper()}, without line breaks or outer spaces, at most "
            f"{_MAX_HEADER_BYTES} bytes long"
        )
    return text


class HttpSender:
    """Sender of requests to the origin of `base_url`.

    A forked process gets its own connections, rate limit and locks. On a connection of its parent, it could read the
    response to a request of the parent, and a lock that another thread held during the fork is never released.
    `setting` is the name of the setting that has the address, and `hidden` are further secrets to mask.
    """

    def __init__(
        self,
        base_url: str,
        *,
        setting: str = "base_url",
        transport: httpx.BaseTransport | None,
        requests_per_minute: float | None = None,
        hidden: Iterable[Secret] = (),
    ) -> None:
        _keep_requests_out_of_http_logs()
        self._origin, self._setting, self._hidden = httpx.URL(base_url), setting, tuple(hidden)
        self._transport, self._requests_per_minute = transport, requests_per_minute
        proxy = None if transport else _proxy_to(self._origin)
        self._server = f"{self._origin.scheme}://{self._origin.netloc.decode('ascii')}"
        self._is_closed = self._has_connected = False
        self._accepted: Secret | None = None  # the token of the newest request that the service did not refuse
        self.begin_process()
        self._http: httpx.Client | None = _http_client(transport or _transport_to(self._origin))
        _senders.add(self)
        if proxy is not None:
            self._server += f" through the proxy {httpx.URL(proxy).netloc.decode('ascii')}"

    def begin_process(self) -> None:
        """Prepare a new process: with its own rate limit and without connections."""
        self.rate_limiter = RateLimiter(self._requests_per_minute)
        self._lock, self._token_lock = threading.Lock(), threading.Lock()
        self._http = None

    def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        if self._http is not None:
            self._http.close()

    def call(
        self,
        request: Request,
        decode: Callable[[bytes], Decoded],
        get_token: Callable[..., Secret],
        limits: CallLimits,
    ) -> Decoded:
        """Send a request until it succeeds or finally fails, and decode the response.

        `get_token` returns a token before a deadline. If the service refused a token, it returns a new one if possible.
        """
        deadline = limits.start()

        def token_other_than(refused: Secret | None) -> Secret:
            # one thread renews the token for all; other threads wait until their own deadline at most
            if not self._token_lock.acquire(timeout=min(max(deadline.remaining(), 0.0), threading.TIMEOUT_MAX)):
                raise DeadlineExceededError(
                    f"{request}: no token within {deadline.seconds:g} seconds; nothing was sent"
                )
            try:
                return get_token(deadline, refused)
            finally:
                self._token_lock.release()

        def attempt() -> Decoded:
            token = token_other_than(None)
            try:
                content = self.send(request, token, deadline, limits.timeout)
            except AuthenticationError:
                refused, token = token, token_other_than(token)
                if token == refused:
                    if token != self._accepted or request.method != "GET":
                        raise
                    time.sleep(min(_FIRST_BACKOFF, max(deadline.remaining(), 0.0)))  # it was accepted before
                content = self.send(request, token, deadline, limits.timeout)
            self._accepted = token
            return self._decode(request, content, decode, token)

        self._repeat(lambda: token_other_than(None), limits.max_attempts, deadline)
        try:
            return self._repeat(attempt, limits.max_attempts if request.method == "GET" else 1, deadline)
        except ServiceError as error:
            problem = error
        was_sent = is_temporary(problem) and not isinstance(problem, RateLimitedError | NoConnectionError)
        if request.if_lost and was_sent:
            problem = with_context(problem, request.if_lost)
        raise problem.with_traceback(None)  # the steps of an attempt would not help the caller

    def _repeat(self, attempt: Callable[[], Decoded], most: int, deadline: Deadline) -> Decoded:
        """Repeat an attempt while it may succeed, and limits allow another attempt."""
        for number in itertools.count(1):
            try:
                return attempt()
            except ServiceError as error:
                failure = error
            wait = self.rate_limiter.wait()
            is_asked = isinstance(failure, StatusError) and failure.status in STATUSES_WITH_RETRY_AFTER and wait > 0
            if is_asked and wait > min(_MAX_WAIT, deadline.remaining()):
                failure = with_context(failure, f"the service asks to wait {wait:.0f} seconds: try again then")
                break
            # a random wait, so that threads whose requests failed together do not retry together
            backoff = random.uniform(0.0, min(_MAX_BACKOFF, _FIRST_BACKOFF * 2**number))  # noqa: S311 (no secret)
            allowed = min(most, _ATTEMPTS_TO_CONNECT) if isinstance(failure, NoConnectionError) else most
            if not is_temporary(failure) or number >= allowed or max(backoff, wait) >= deadline.remaining():
                break
            time.sleep(0.0 if is_asked else backoff)  # the rate limiter already waits as long as the service asked
        failure = with_context(failure, f"no success after {number} attempts") if number > 1 else failure
        raise failure.with_traceback(None)

    def send(self, request: Request, token: Secret, deadline: Deadline, timeout: float = float("inf")) -> bytes:
        """Send a request once, within the rate limit, and return the body of a successful response."""
        self.rate_limiter.acquire(deadline, request)
        own_deadline, is_foreign = deadline.sooner(timeout), _is_foreign.set(False)
        # raised after the except clause, so that no error keeps frames of httpx, whose variables hold the headers
        try:
            return self._receive(request, token, own_deadline)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            problem = self._translate_error(request, token, error, own_deadline)
        finally:
            _is_foreign.reset(is_foreign)
            self.rate_limiter.end()
        raise problem

    def _receive(self, request: Request, token: Secret, deadline: Deadline) -> bytes:
        """Send a request and receive its response."""
        http, left, started = self._open_client(request), deadline.remaining(), time.monotonic()
        if left <= 0:
            raise httpx.ReadTimeout("")
        outgoing = http.build_request(
            request.method,
            request.url,
            params=dict(request.parameters) or None,
            headers=httpx.Headers(dict(request.headers), encoding="utf-8"),
            content=request.content,
            timeout=httpx.Timeout(left, connect=min(left, CONNECT_SECONDS)),
        )
        outgoing.extensions["trace"] = lambda step, _: self._hold_back(step, request, deadline)
        response = http.send(outgoing, auth=token, stream=True)
        self._has_connected = True
        self.rate_limiter.update(response.status_code, response.headers)
        try:
            content = self._read_body(response, request, deadline)
        finally:
            response.close()
        seconds = time.monotonic() - started
        _log.debug("%s: %d, %d bytes in %.3f s", request, response.status_code, len(content), seconds)
        content_type = response.headers.get("content-type", "application/json")
        self._require_success(request, token, response.status_code, content, content_type)
        return content

    def _hold_back(self, step: str, request: Request, deadline: Deadline) -> None:
        """Wait if the service asked for a wait after the request started.

        httpcore calls this at each of its steps, because connecting takes time.
        """
        if step.endswith("send_request_headers.started"):
            self.rate_limiter.acquire(deadline, request, has_started=True)

    def _open_client(self, request: Request) -> httpx.Client:
        """Return the httpx client. A forked process creates its own client."""
        if self._is_closed:
            raise InputError(f"{request}: the client is closed; connect again")
        with self._lock:
            if self._http is None and self._transport is not None:
                raise InputError(
                    f"{request}: the client was made with transport=..., and this is a forked process, "
                    "which must not share its connections; nothing was sent: make a client in this process"
                )
            self._http = self._http or _http_client(_transport_to(self._origin))
            return self._http

    def _read_body(self, response: httpx.Response, request: Request, deadline: Deadline) -> bytes:
        """Read a decompressed body in chunks, limited in time and size."""
        content = bytearray()
        for chunk in _decompressed(response):
            content += chunk
            if len(content) > request.max_response_bytes:
                raise ProtocolError(
                    f"{request}: the response is larger than {request.max_response_bytes / MIB:g} MiB; "
                    "allow more with with_options(most_bytes=...), or request less"
                )
            if deadline.remaining() <= 0:
                raise httpx.ReadTimeout("")
        return bytes(content)

    def _require_success(self, request: Request, token: Secret, status: int, content: bytes, content_type: str) -> None:
        is_success = status == HTTPStatus.OK or (request.method == "POST" and status == HTTPStatus.CREATED)
        if is_success and _JSON.match(content_type):
            return
        if 200 <= status < 300:  # noqa: PLR2004 (what HTTP calls success)
            raise GarbledAnswerError(
                f"{request}: the response has status {status} and is {self.masked(content_type, token)[:60]}, not 200 "
                f"and JSON; is {self._setting} the right address?"
            )
        reason, code = _reason(content)
        # masked before it is shortened, because a part of a secret would not be recognized
        reason = shorten(printable(" ".join(self.masked(reason, token).split())), limit=_MAX_REASON_LENGTH)
        raise self._status_error(request, status, reason, code and self.masked(code, token)[:_MAX_CODE_LENGTH])

    def _status_error(self, request: Request, status: int, reason: str, code: str | None) -> StatusError:
        """Make the error for an unsuccessful status, with the stated reason."""
        of_any = InvalidRequestError if 400 <= status < 500 else ServerFaultError  # noqa: PLR2004 (errors of the client)
        error_type, advice = _STATUS_ERRORS.get(status, (of_any, ""))
        text = reason or "the service gave no reason"
        if advice and self._setting == "base_url":
            text = f"{advice} (the service: {reason})" if reason else advice
        if status == HTTPStatus.NOT_FOUND and code is None:  # the server may not have this interface
            text = f"{text}; check the address ({self._setting}) and the ids"
        if 300 <= status < 400:  # noqa: PLR2004 (following it would send the token elsewhere, or a change twice)
            text = f"the service redirects, which is not followed: give the final address as {self._setting}"
        message = f"{request}: the service responded with status {status}: {text}"
        return error_type(message, status=status, error_code=code)

    def _translate_error(
        self, request: Request, token: Secret, error: Exception, deadline: Deadline
    ) -> ServiceError | InputError:
        """Translate an error of httpx into one of this package."""
        kind, reason, tls_error = type(error), str(error), _tls_error(error)
        is_connecting = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        self._has_connected |= isinstance(error, httpx.HTTPError) and not is_connecting
        if isinstance(tls_error, ssl.SSLCertVerificationError):
            kind, reason = type(tls_error), tls_error.verify_message
        elif isinstance(error, httpx.ConnectTimeout) and deadline.remaining() <= 0:
            kind = httpx.TimeoutException  # the deadline of the request is sooner than the time to connect
        elif is_connecting and self._has_connected:
            kind = httpx.HTTPError
        elif isinstance(error, httpx.ConnectTimeout):
            reason = f"nothing responded within {CONNECT_SECONDS:g} seconds"
        error_type, sentence = next((made, text) for cause, made, text in _NETWORK_ERRORS if issubclass(kind, cause))
        text = sentence.format(
            server=self._server,
            setting=self._setting,
            kind=type(error).__name__,
            reason=self.masked(reason, token),
            seconds=deadline.seconds,
            hint="does it speak HTTPS there, or plain http?" if tls_error else "is the service running?",
        )
        return error_type(f"{request}: {text}")

    def _decode(self, request: Request, content: bytes, decode: Callable[[bytes], Decoded], token: Secret) -> Decoded:
        """Decode a response. Refuse a response that breaks the interface."""
        error_type: type[ProtocolError] = ProtocolError
        try:
            return decode(content)
        except NotTheInterfaceError as error:
            problem = f"the response breaks the interface: {error}"
        except NotJSONError as error:
            problem, error_type = f"the response is not valid JSON: {error}", GarbledAnswerError
        raise error_type(f"{request}: {self.masked(problem, token)}")

    def masked(self, text: str, token: Secret) -> str:
        """Mask all secrets that were sent in a text that the service returned."""
        return masked(text, (token, *self._hidden))


def _decompressed(response: httpx.Response) -> Iterator[bytes]:
    """Yield the decompressed body. httpx would read only the first gzip member."""
    if response.headers.get("content-encoding", "").strip().casefold() != "gzip" or response.is_stream_consumed:
        yield from response.iter_bytes()
        return
    unpacker, is_begun = zlib.decompressobj(wbits=31), False
    try:
        for received in response.iter_raw():
            part = received
            while part:
                if unpacker.eof:
                    unpacker = zlib.decompressobj(wbits=31)
                is_begun = True
                yield unpacker.decompress(part)
                part = unpacker.unused_data
    except zlib.error as error:
        raise httpx.DecodingError(str(error)) from error
    if is_begun and not unpacker.eof:
        raise httpx.DecodingError("the last member is cut")


_senders: WeakSet[HttpSender] = WeakSet()


def _begin_child() -> None:
    for sender in _senders:
        sender.begin_process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def is_temporary(error: ServiceError) -> bool:
    """Return whether another attempt may succeed."""
    if isinstance(error, StatusError):
        return error.status in _RETRYABLE_STATUSES
    is_of_network = isinstance(error, TransportError | DeadlineExceededError | GarbledAnswerError)
    return is_of_network and not isinstance(error, CertificateRefusedError)


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """Find the TLS error that caused a failed connection, or return None."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _reason(content: bytes) -> tuple[str, str | None]:
    """Read the reason and the error code from an error's body."""
    text = content[:_MAX_BODY_BYTES].decode("utf-8", "replace")
    try:
        body = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return text, None
    if not isinstance(body, dict):
        return text, None
    stated = next((body[name] for name in _REASON_FIELDS if isinstance(body.get(name), str) and body[name]), "")
    with suppress(KeyError, TypeError):  # the list of invalid values in a response with status 422
        stated = stated or "; ".join(
            f"{'.'.join(map(str, invalid['loc']))}: {invalid['msg']}" for invalid in body["detail"]
        )
    code = body.get("error_code")
    return stated or (text if body else ""), code if isinstance(code, str) else None


_is_foreign: ContextVar[bool] = ContextVar("the current request, if any, is not of this package", default=True)


def _keep_requests_out_of_http_logs() -> None:
    """Drop log records of httpx and httpcore about requests of this package.

    Those records contain URLs and headers, at DEBUG also headers in which a service repeats the token. Other users of
    httpx keep their logs.
    """
    for name in ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks"))):
        logging.getLogger(name).addFilter(_is_of_others)  # adding it again has no effect


def _is_of_others(_: logging.LogRecord) -> bool:
    return _is_foreign.get()


def _http_client(transport: httpx.BaseTransport) -> httpx.Client:
    headers = {"accept": "application/json", "accept-encoding": "gzip"}
    return httpx.Client(transport=transport, follow_redirects=False, headers=headers, trust_env=False)


def _transport_to(origin: httpx.URL) -> httpx.HTTPTransport:
    """Create a transport with the certificates and proxy of the environment."""
    proxy = _proxy_to(origin)
    try:
        # loading certificates takes time, and is skipped if no connection is encrypted
        return httpx.HTTPTransport(
            verify=origin.scheme == "https" or proxy is not None, limits=_CONNECTIONS, proxy=proxy
        )
    except (OSError, ImportError, ValueError, httpx.InvalidURL) as error:
        is_shown = isinstance(error, OSError | ImportError)  # the message of httpx may contain the password of a proxy
        raise ConfigurationError(
            "the certificates (SSL_CERT_FILE, SSL_CERT_DIR) or the proxy (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) that "
            f"the environment names cannot be used: {error if is_shown else 'http://proxy:3128 is an example'}"
        ) from error


def _proxy_to(origin: httpx.URL) -> str | None:
    """Return the proxy that the environment names.

    An address on this machine has no proxy.
    """
    proxies = getproxies()
    proxy = proxies.get(origin.scheme) or proxies.get("all")
    return None if proxy is None or is_loopback(origin.host) or proxy_bypass(origin.host) else proxy


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: ``localhost``, ``127.0.0.0/8``, ``::1``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        name = host.casefold().rstrip(".")
        return name == "localhost" or name.endswith(".localhost")
