"""One HTTP request and its whole answer: bounded in time and size, its faults named, its secrets kept."""

from __future__ import annotations

import os
import re
import ssl
import zlib
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx

from accounting_analytics.client.secret import Secret, masked
from accounting_analytics.client.transport import DeadlineTransport, transfer_until, transport_to
from accounting_analytics.errors import (
    CertificateRefusedError,
    ConfigurationError,
    DeadlineExceededError,
    GarbledAnswerError,
    InputError,
    ProtocolError,
    ServerFaultError,
    ServiceError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from accounting_analytics.client.deadline import Deadline

MIB = 1 << 20
_MOST_REDIRECTS = 5
_LONGEST_TARGET = 65_000
_JSON = re.compile(r"application/(?:json|[\w.+-]+\+json)\s*(?:;|$)", re.IGNORECASE)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, repr=False, slots=True)
class Answer:
    """A whole answer of the service.

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


@dataclass(frozen=True)
class Sending:
    """What goes over the wire, but for the secret that opens the door."""

    what: str
    method: str
    url: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes | None
    most_bytes: int


class Authorization(httpx.Auth):
    """The Authorization header, put on when the request leaves; no frame or log holds it."""

    def __init__(self, value: Secret) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Authorization('***')"

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        """Put the header on."""
        request.headers["authorization"] = self._value.reveal()
        yield request


class Transfer:
    """Requests to one origin and their answers.

    Parameters
    ----------
    base_url : str
        Any address of the origin.
    transport : httpx.BaseTransport, optional
        The one seam to the network.
    secrets : callable
        The secrets that may come back in an answer, to be masked.
    """

    def __init__(
        self, base_url: str, *, transport: httpx.BaseTransport | None, secrets: Callable[[], Iterable[Secret]]
    ) -> None:
        self.origin = httpx.URL(base_url)
        self._secrets = secrets
        road = transport or _transport_to(self.origin)
        proxy = road.proxy if isinstance(road, DeadlineTransport) else None
        self._where = f"{self.origin.scheme}://{self.origin.netloc.decode('ascii')}"
        self._where += f" through the proxy {proxy}" if proxy else ""
        self._http = httpx.Client(
            transport=road,
            follow_redirects=False,
            headers={"accept": "application/json", "accept-encoding": "gzip"},
            trust_env=False,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def masked(self, text: str) -> str:
        """Text of the service, without our secrets."""
        return masked(text, self._secrets())

    def send(self, sending: Sending, authorization: Authorization, deadline: Deadline) -> Answer:
        """Send a request once, and receive its whole answer before the deadline.

        Raises
        ------
        TransportError, DeadlineExceededError
            No answer came, or not in time.
        GarbledAnswerError
            The answer was cut, or cannot be decompressed.
        ProtocolError
            The answer is larger than allowed.
        ServerFaultError
            It redirects to where the token must not go.
        InputError
            The address is too long to be asked for, or the client is closed.
        """
        if self._http.is_closed:
            msg = f"{sending.what}: the client is closed; connect again"
            raise InputError(msg)
        # raised after the handlers end, so that no error carries the libraries' frames, which hold the headers
        try:
            with transfer_until(deadline):
                return self._followed(sending, authorization, deadline)
        except httpx.TimeoutException:
            problem: Exception = self._late(sending, deadline)
        except (httpx.DecodingError, zlib.error):
            problem = GarbledAnswerError(f"{sending.what}: {self._where} sent a body that cannot be decompressed")
        except httpx.InvalidURL:
            problem = InputError(f"{sending.what}: an id or token is too long to be asked for")
        except httpx.HTTPError as error:
            problem = self._no_answer(sending, error)
        except (ServiceError, InputError) as error:
            problem = error
        raise problem.with_traceback(None)

    def _no_answer(self, sending: Sending, error: httpx.HTTPError) -> TransportError:
        """Tell what a failure of the road is; its causes tell one of encryption from the others."""
        broken = _encryption_failure(error)
        if isinstance(broken, ssl.SSLCertVerificationError):
            return CertificateRefusedError(
                f"{sending.what}: the certificate of {self._where} is refused ({broken.verify_message}); nothing was "
                "sent: check the address, or name the file of your authority's certificate in SSL_CERT_FILE"
            )
        hint = "is the service running?" if broken is None else "does it speak HTTPS there, or plain http?"
        said = self.masked(f"{type(error).__name__}: {error}")
        return TransportError(f"{sending.what}: no whole answer from {self._where} ({said}); {hint}")

    def _late(self, sending: Sending, deadline: Deadline) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"{sending.what}: {self._where} did not answer wholly within {deadline.seconds:g} seconds"
        )

    def _followed(self, sending: Sending, authorization: Authorization, deadline: Deadline) -> Answer:
        """Answer of the address, or of the one of the same origin that a read is sent on to."""
        request = self._http.build_request(
            sending.method,
            sending.url,
            params=dict(sending.parameters) or None,
            headers=dict(sending.headers),
            content=sending.content,
        )
        for _ in range(_MOST_REDIRECTS + 1):
            if len(request.url.raw_path) > _LONGEST_TARGET:
                msg = f"{sending.what}: an id or token is too long to be asked for"
                raise InputError(msg)
            answer = self._answer(request, sending, authorization, deadline)
            target = answer.headers.get("location", "")
            if answer.status not in _REDIRECTS or not target or sending.method != "GET":
                return answer
            request = self._http.build_request(
                "GET", self._same_origin(request.url, target, sending), headers=dict(sending.headers)
            )
        msg = f"{sending.what}: the service redirects more than {_MOST_REDIRECTS} times; check base_url"
        raise ServerFaultError(msg, status=answer.status)

    def _same_origin(self, url: httpx.URL, target: str, sending: Sending) -> httpx.URL:
        following = url.join(target)
        if _origin(following) != _origin(self.origin) or following.userinfo:
            msg = (
                f"{sending.what}: the service redirects to another origin; redirects are not followed there, because "
                "the token would be sent along: give the final address as base_url"
            )
            raise ServerFaultError(msg, status=HTTPStatus.TEMPORARY_REDIRECT)
        return following

    def _answer(
        self, request: httpx.Request, sending: Sending, authorization: Authorization, deadline: Deadline
    ) -> Answer:
        left = deadline.remaining()
        if left <= 0:
            raise self._late(sending, deadline)
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), left)
        response = self._http.send(request, auth=authorization, stream=True)
        try:
            content = self._body(response, sending, deadline)
        finally:
            response.close()
        headers = {name: self.masked(value) for name, value in response.headers.items()}
        return Answer(response.status_code, headers, content)

    def _body(self, response: httpx.Response, sending: Sending, deadline: Deadline) -> bytes:
        """Whole decompressed body, read in pieces: none that comes too slowly or grows too large."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in {"identity", "gzip", "x-gzip", ""}:
            msg = f"{sending.what}: {self._where} sent a body compressed in a way that was not asked for"
            raise GarbledAnswerError(msg)
        read = response.is_stream_consumed  # a transport of tests may hand over a whole answer
        unpacked = zlib.decompressobj(wbits=31) if "gzip" in encoding and not read else None
        pieces: list[bytes] = []
        size = 0
        for piece in [response.content] if read else response.iter_raw():
            whole = piece if unpacked is None else unpacked.decompress(piece, sending.most_bytes - size + 1)
            pieces.append(whole)
            size += len(whole)
            if size > sending.most_bytes:
                msg = (
                    f"{sending.what}: the answer is larger than {sending.most_bytes / MIB:g} MiB; allow more with "
                    "with_options(most_bytes=...), or ask for less"
                )
                raise ProtocolError(msg)
            if deadline.remaining() <= 0:
                raise self._late(sending, deadline)
        if unpacked is not None and pieces and not unpacked.eof:
            msg = f"{sending.what}: {self._where} sent a compressed body that was cut"
            raise GarbledAnswerError(msg)
        return b"".join(pieces)


def is_json(answer: Answer) -> bool:
    """Whether an answer says that it is JSON, or says nothing."""
    kind = answer.headers.get("content-type")
    return kind is None or _JSON.match(kind) is not None


def checked_url(url: str, name: str) -> str:
    """Refuse what is no http(s) address of a service."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.userinfo:
        msg = f"{name} must not hold a name or password; give the address alone, like https://ledgers.example.com"
        raise ConfigurationError(msg)
    if parsed.scheme not in _PORTS or not parsed.host or parsed.query or parsed.fragment:
        msg = f"{name} {url!r} is not an http(s) address like https://ledgers.example.com"
        raise ConfigurationError(msg)
    return str(parsed).rstrip("/")


def _transport_to(origin: httpx.URL) -> httpx.BaseTransport:
    """Transport to an origin, with the certificates and through the proxy that the environment names."""
    try:
        return transport_to(origin)
    except (OSError, ssl.SSLError) as error:
        named = " or ".join(name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name))
        msg = f"the certificates that {named or 'this machine'} names cannot be read: {error.strerror or error}"
        raise ConfigurationError(msg) from error
    except (ValueError, httpx.InvalidURL) as error:
        msg = (
            f"the proxy that the environment names for {origin.scheme} cannot be used (HTTP_PROXY, HTTPS_PROXY, "
            "ALL_PROXY); write it like http://proxy.example.org:3128"
        )
        raise ConfigurationError(msg) from error


def _encryption_failure(error: BaseException) -> ssl.SSLError | None:
    """Failure of encryption that is under a failure of the road, if there is one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme)
