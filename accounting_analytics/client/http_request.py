"""One HTTP request and its complete response: limited in time and size, failures as named errors, secrets masked."""

from __future__ import annotations

import os
import re
import ssl
import zlib
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

import httpx

from accounting_analytics.client.per_process import PerProcess
from accounting_analytics.client.secret import Secret, masked
from accounting_analytics.client.transport import (
    CONNECT_SECONDS,
    DeadlineTransport,
    keep_requests_out_of_http_logs,
    request_deadline,
    transport_to,
)
from accounting_analytics.errors import (
    CertificateRefusedError,
    ConfigurationError,
    DeadlineExceededError,
    GarbledAnswerError,
    InputError,
    NoConnectionError,
    ProtocolError,
    ServerFaultError,
    ServiceError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from accounting_analytics.client.transport import Deadline

MIB = 1 << 20
_MAX_REDIRECTS = 5
_MAX_TARGET_LENGTH = 65_000
_JSON = re.compile(r"application/(?:json|[\w.+-]+\+json)\s*(?:;|$)", re.IGNORECASE)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535
_HTTPS_OR_HTTP = "does it speak HTTPS there, or plain http?"


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
    """A complete HTTP response.

    Attributes
    ----------
    status : int
        HTTP status.
    headers : mapping
        Headers by lower-case name, secrets masked.
    content : bytes
        The body, decompressed.
    """

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


class SendingPausedError(Exception):
    """Nothing was sent: the service has asked to wait since it was the turn of the request."""


class Throttle(Protocol):
    """What may hold back a request until it is written to a connection."""

    def require_open(self) -> None:
        """Raise SendingPausedError while the service asks to wait."""
        ...

    def note_wait(self, status: int, headers: Mapping[str, str]) -> None:
        """Note the wait that a response asks for; called when its headers have arrived."""
        ...


class HttpSender:
    """Sends requests to one origin; a forked process gets connections of its own.

    Parameters
    ----------
    base_url : str
        Any address of the origin.
    setting : str
        Name of the setting that has the address, for messages.
    transport : httpx.BaseTransport, optional
        Replaces the network connection.
    secrets : callable
        Returns the secrets to mask wherever a response repeats them.
    throttle : callable, optional
        Returns the throttle of this process. It is asked again when a request is written: making a connection takes
        time, in which another response may ask to wait.
    """

    def __init__(
        self,
        base_url: str,
        *,
        setting: str = "base_url",
        transport: httpx.BaseTransport | None,
        secrets: Callable[[], Iterable[Secret]],
        throttle: Callable[[], Throttle] | None = None,
    ) -> None:
        keep_requests_out_of_http_logs()
        self.origin = httpx.URL(base_url)
        self._setting = setting
        self._secrets = secrets
        self._throttle = throttle
        self._has_given_transport = transport is not None
        transport = transport or _transport_to(self.origin)
        proxy = transport.proxy if isinstance(transport, DeadlineTransport) else None
        self._server = f"{self.origin.scheme}://{self.origin.netloc.decode('ascii')}"
        self._server += f" through the proxy {proxy}" if proxy else ""
        self._http = PerProcess(lambda: _http_client(_transport_to(self.origin)), first=_http_client(transport))
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

        Raises
        ------
        TransportError, DeadlineExceededError
            No response arrived, or not in time.
        GarbledAnswerError
            The response is truncated or cannot be decompressed.
        ProtocolError
            The response is larger than allowed.
        ServerFaultError
            The service redirects to another origin, or too often.
        InputError
            The address is too long, or the client is closed.
        SendingPausedError
            Nothing was sent, because the throttle was closed.
        """
        # raised after the except clauses, so that no error keeps frames of httpx, whose variables hold the headers
        try:
            with request_deadline(deadline):
                return self._follow_redirects(request, authorization, deadline)
        except httpx.ConnectTimeout as error:
            # the deadline of the request may be sooner than the time to connect
            too_late = deadline.remaining() <= 0
            problem: Exception = (
                self._timeout_error(request, deadline) if too_late else self._connection_error(request, error)
            )
        except httpx.TimeoutException:
            self._has_connected = True
            problem = self._timeout_error(request, deadline)
        except (httpx.DecodingError, zlib.error):
            problem = GarbledAnswerError(
                f"{request.description}: {self._server} sent a body that cannot be decompressed"
            )
        except httpx.InvalidURL:
            problem = InputError(f"{request.description}: an id or token is too long for a URL")
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
            msg = f"{request.description}: the client is closed; connect again"
            raise InputError(msg)
        if self._has_given_transport and not self._http.is_made:
            msg = (
                f"{request.description}: the client was made with transport=..., and this is a forked process, "
                "which must not share its connections; nothing was sent: make a client in this process"
            )
            raise InputError(msg)
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

    def _follow_redirects(self, request: HttpRequest, authorization: Authorization, deadline: Deadline) -> HttpResponse:
        """Response of the address, or of the one on the same origin that a read is redirected to."""
        http = self._open_client(request)
        outgoing = http.build_request(
            request.method,
            request.url,
            params=dict(request.parameters) or None,
            headers=httpx.Headers(dict(request.headers), encoding="utf-8"),
            content=request.content,
        )
        for _ in range(_MAX_REDIRECTS + 1):
            if len(outgoing.url.raw_path) > _MAX_TARGET_LENGTH:
                msg = f"{request.description}: an id or token is too long for a URL"
                raise InputError(msg)
            response = self._receive(outgoing, request, authorization, deadline)
            location = response.headers.get("location", "")
            if response.status not in _REDIRECTS or not location or request.method != "GET":
                return response
            target = self._redirect_target(outgoing.url, location, request)
            outgoing = http.build_request("GET", target, headers=httpx.Headers(dict(request.headers), encoding="utf-8"))
        msg = f"{request.description}: the service redirects more than {_MAX_REDIRECTS} times; check base_url"
        raise ServerFaultError(msg, status=response.status)

    def _redirect_target(self, url: httpx.URL, location: str, request: HttpRequest) -> httpx.URL:
        target = url.join(location)
        if _origin(target) != _origin(self.origin) or target.userinfo:
            msg = (
                f"{request.description}: the service redirects to another origin, which would receive the token; "
                "such redirects are not followed: give the final address as base_url"
            )
            raise ServerFaultError(msg, status=HTTPStatus.TEMPORARY_REDIRECT)
        return target

    def _receive(
        self, outgoing: httpx.Request, request: HttpRequest, authorization: Authorization, deadline: Deadline
    ) -> HttpResponse:
        left = deadline.remaining()
        if left <= 0:
            raise self._timeout_error(request, deadline)
        outgoing.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), left)
        if self._throttle is not None:
            self._throttle().require_open()
            outgoing.extensions["trace"] = self._before_headers
        response = self._open_client(request).send(outgoing, auth=authorization, stream=True)
        self._has_connected = True
        if self._throttle is not None:
            self._throttle().note_wait(response.status_code, response.headers)
        try:
            content = self._read_body(response, request, deadline)
        finally:
            response.close()
        headers = {name: self.masked(value) for name, value in response.headers.items()}
        return HttpResponse(response.status_code, headers, content)

    def _before_headers(self, event: str, _: object) -> None:
        """Hold back a request whose headers are about to be written; httpcore calls this at each of its steps."""
        if event.endswith("send_request_headers.started") and self._throttle is not None:
            self._throttle().require_open()

    def _read_body(self, response: httpx.Response, request: HttpRequest, deadline: Deadline) -> bytes:
        """Decompressed body, read in chunks, so that both its time and its size are limited."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in {"identity", "gzip", "x-gzip", ""}:
            msg = f"{request.description}: {self._server} sent a body in a compression that was not requested"
            raise GarbledAnswerError(msg)
        is_read = response.is_stream_consumed  # a test transport may return a response that is already read
        decompressor = zlib.decompressobj(wbits=31) if "gzip" in encoding and not is_read else None
        chunks: list[bytes] = []
        size = 0
        for raw in [response.content] if is_read else response.iter_raw():
            chunk = raw if decompressor is None else decompressor.decompress(raw, request.max_response_bytes - size + 1)
            chunks.append(chunk)
            size += len(chunk)
            if size > request.max_response_bytes:
                msg = (
                    f"{request.description}: the response is larger than {request.max_response_bytes / MIB:g} MiB; "
                    "allow more with with_options(most_bytes=...), or request less"
                )
                raise ProtocolError(msg)
            if deadline.remaining() <= 0:
                raise self._timeout_error(request, deadline)
        if decompressor is not None and chunks and not decompressor.eof:
            msg = f"{request.description}: {self._server} sent a truncated compressed body"
            raise GarbledAnswerError(msg)
        return b"".join(chunks)


def is_json(response: HttpResponse) -> bool:
    """Whether the content type is JSON or missing."""
    content_type = response.headers.get("content-type")
    return content_type is None or _JSON.match(content_type) is not None


def check_url(url: str, name: str) -> str:
    """Return an http(s) address of a service without a trailing slash; anything else is refused."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.userinfo:
        msg = (
            f"{name} must not contain a user name or password; give the address alone, like https://ledgers.example.com"
        )
        raise ConfigurationError(msg)
    if parsed.scheme not in _PORTS or not parsed.host or parsed.query or parsed.fragment:
        msg = f"{name} {url!r} is not an http(s) address like https://ledgers.example.com"
        raise ConfigurationError(msg)
    if parsed.port is not None and not 0 < parsed.port <= _MAX_PORT:  # the system would take another port
        msg = f"{name} {url!r} has port {parsed.port}, which does not exist: ports are 1 to {_MAX_PORT}"
        raise ConfigurationError(msg)
    return str(parsed).rstrip("/")


def _http_client(transport: httpx.BaseTransport) -> httpx.Client:
    return httpx.Client(
        transport=transport,
        follow_redirects=False,
        headers={"accept": "application/json", "accept-encoding": "gzip"},
        trust_env=False,
    )


def _transport_to(origin: httpx.URL) -> httpx.BaseTransport:
    """Transport to an origin, with the certificates and the proxy that the environment names."""
    try:
        return transport_to(origin)
    except (OSError, ssl.SSLError) as error:
        variables = " or ".join(name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name))
        reason = error.strerror or error
        msg = f"the certificates that {variables or 'this machine'} names cannot be read: {reason}"
        raise ConfigurationError(msg) from error
    except ImportError as error:
        msg = (
            f"the proxy that the environment names for {origin.scheme} is a SOCKS proxy (HTTP_PROXY, HTTPS_PROXY, "
            'ALL_PROXY), which needs another package: pip install "httpx[socks]"'
        )
        raise ConfigurationError(msg) from error
    except (ValueError, httpx.InvalidURL) as error:
        msg = (
            f"the proxy that the environment names for {origin.scheme} cannot be used (HTTP_PROXY, HTTPS_PROXY, "
            "ALL_PROXY); write it like http://proxy.example.org:3128"
        )
        raise ConfigurationError(msg) from error


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """TLS error that caused a failed connection, if there is one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme)
