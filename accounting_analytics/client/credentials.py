"""What opens the service's door: a token that is given, kept in a file, or issued for client credentials."""

from __future__ import annotations

import base64
import os
import stat
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote_plus, urlencode

import msgspec

from accounting_analytics.client.http_request import MIB, Authorization, Sending, Transfer, checked_url
from accounting_analytics.client.request_validation import header_value
from accounting_analytics.client.secret import Secret
from accounting_analytics.client.strict_json import NotJSONError, NotTheInterfaceError, decode
from accounting_analytics.errors import (
    AuthenticationError,
    CertificateRefusedError,
    ConfigurationError,
    ProtocolError,
    ServerFaultError,
    ServiceError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    import httpx

    from accounting_analytics.client.deadline import Deadline
    from accounting_analytics.client.http_request import Answer

_EARLY = 60.0
_EARLY_SHARE = 10
_ATTEMPTS = 3
_PATIENCE = 0.5


class Credentials(Protocol):
    """Where the access token comes from; used by several threads at once."""

    def token(self, deadline: Deadline) -> Secret:
        """Token to use now."""

    def renew(self, refused: Secret, deadline: Deadline) -> bool:
        """After `refused` was refused: whether another token can be had."""

    def secrets(self) -> Iterable[Secret]:
        """Everything to be masked in what the service sends."""

    def close(self) -> None:
        """Close connections, if there are any."""


class GivenToken:
    """A token that was given; there is no other."""

    def __init__(self, token: str) -> None:
        self._token = Secret(header_value(token, "the token"))

    def token(self, deadline: Deadline) -> Secret:  # noqa: ARG002 (of the protocol)
        """Return the token."""
        return self._token

    def renew(self, refused: Secret, deadline: Deadline) -> bool:  # noqa: ARG002 (of the protocol)
        """Say that there is no other."""
        return False

    def secrets(self) -> Iterable[Secret]:
        """Return the token."""
        return (self._token,)

    def close(self) -> None:
        """Close nothing."""


class TokenFile:
    """A token in a file that only its owner may read; read again when the service refuses it.

    Parameters
    ----------
    path : path-like
        The file, mode 0600.

    Raises
    ------
    ConfigurationError
        The file cannot be read, is empty, or others may read it; the message says what to do.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._token = self._read()
        self._known = [self._token]

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"

    def token(self, deadline: Deadline) -> Secret:  # noqa: ARG002 (of the protocol)
        """Return the token last read."""
        return self._token

    def renew(self, refused: Secret, deadline: Deadline) -> bool:  # noqa: ARG002 (of the protocol)
        """Read the file again; whether it now holds another token."""
        with self._lock:
            if self._token.same(refused):
                self._token = self._read()
                self._known = [refused, self._token]
            return not self._token.same(refused)

    def secrets(self) -> Iterable[Secret]:
        """Return the token, and the one before."""
        return self._known

    def close(self) -> None:
        """Close nothing."""

    def _read(self) -> Secret:
        return Secret(header_value(read_secret_file(self._path, "token"), f"the token in {self._path}"))


class ClientCredentials:
    """A token from an OAuth 2.0 client-credentials endpoint; renewed before it expires, by one thread for all.

    Parameters
    ----------
    token_url : str
        Address of the endpoint.
    client_id, client_secret : str
        Who asks, and what proves it. Sent with HTTP Basic, and shown nowhere.
    transport : httpx.BaseTransport, optional
        The seam to the network; for tests and proxies.

    Raises
    ------
    ConfigurationError
        The address, id or secret cannot be used.
    """

    def __init__(
        self, token_url: str, client_id: str, client_secret: str, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        if not client_id or not client_secret:
            msg = "client_id and client_secret must not be empty"
            raise ConfigurationError(msg)
        self._url = checked_url(token_url, "token_url")
        self._client_id = client_id
        pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}".encode()
        self._pair = Secret(base64.b64encode(pair).decode())
        self._client_secret = Secret(client_secret)
        self._renewing = threading.Lock()
        self._token: Secret | None = None
        self._early_at = self._expires_at = 0.0
        self._known: tuple[Secret, ...] = (self._client_secret, self._pair)
        self._transfer = Transfer(self._url, transport=transport, secrets=self.secrets)

    def __repr__(self) -> str:
        return f"ClientCredentials({self._url!r}, client_id={self._client_id!r}, client_secret='***')"

    def token(self, deadline: Deadline) -> Secret:
        """Return a token that has not expired; one thread renews it early while the others go on with it."""
        token, now = self._token, time.monotonic()
        if token is not None and now < self._early_at:
            return token
        if not self._renewing.acquire(blocking=token is None or now >= self._expires_at):
            return token  # type: ignore[return-value]  # not blocking means that it is still good
        try:
            if self._token is None or time.monotonic() >= self._early_at:
                self._issue(deadline)
            return self._token  # type: ignore[return-value]  # just issued
        finally:
            self._renewing.release()

    def renew(self, refused: Secret, deadline: Deadline) -> bool:
        """Have another token issued, unless another thread did so already."""
        with self._renewing:
            if self._token is None or self._token.same(refused):
                self._issue(deadline)
        return True

    def secrets(self) -> Iterable[Secret]:
        """Return the client's secret, and the tokens now and before."""
        return self._known

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._transfer.close()

    def _issue(self, deadline: Deadline) -> None:
        """Ask for a token; asking again is safe, so what passes is tried again."""
        problem: ServiceError | None = None
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(min(_PATIENCE * attempt, max(0.0, deadline.remaining())))
            problem = self._asked(deadline)
            if problem is None:
                return
            if isinstance(problem, AuthenticationError | CertificateRefusedError):
                break
        if problem is not None:
            raise problem

    def _asked(self, deadline: Deadline) -> ServiceError | None:
        """Ask once; return what went wrong."""
        sending = Sending(
            what=f"get a token for client {self._client_id!r}",
            method="POST",
            url=self._url,
            parameters={},
            headers={"content-type": "application/x-www-form-urlencoded"},
            content=urlencode({"grant_type": "client_credentials"}).encode(),
            most_bytes=MIB,
        )
        asked_at = time.monotonic()
        try:
            answer = self._transfer.send(sending, Authorization(self._pair.prefixed("Basic")), deadline)
            self._take(answer, asked_at, sending.what)
        except ServiceError as error:
            return error.with_traceback(None)
        return None

    def _take(self, answer: Answer, asked_at: float, what: str) -> None:
        status = answer.status
        if 400 <= status < 500 and status not in {408, 429}:  # noqa: PLR2004 (the client's fault, as HTTP counts)
            msg = (
                f"{what}: {self._url} refused with {status}{self._said(answer)}; check token_url, client_id and the "
                "client secret"
            )
            raise AuthenticationError(msg, status=status)
        if status != 200:  # noqa: PLR2004 (RFC 6749, 5.1)
            msg = f"{what}: {self._url} answered {status}"
            raise ServerFaultError(msg, status=status)
        try:
            issued = decode(answer.content, _Issued)
        except (NotJSONError, NotTheInterfaceError):
            issued = None
        if issued is None or issued.token_type.lower() != "bearer" or not issued.usable():
            msg = f"{what}: {self._url} sent no bearer token"
            raise ProtocolError(msg)
        lifetime = float("inf") if issued.expires_in is None else float(issued.expires_in)
        token = Secret(issued.access_token)
        before = () if self._token is None else (self._token,)
        self._known = (self._client_secret, self._pair, token, *before)
        self._token = token
        self._expires_at = asked_at + lifetime
        self._early_at = self._expires_at - min(_EARLY, lifetime / _EARLY_SHARE if lifetime < float("inf") else _EARLY)

    def _said(self, answer: Answer) -> str:
        try:
            error = decode(answer.content, _Refused).error
        except (NotJSONError, NotTheInterfaceError):
            return ""
        return f" ({self._transfer.masked(error)[:80]})"


class _Issued(msgspec.Struct):
    access_token: str
    token_type: str
    expires_in: int | float | None = None

    def usable(self) -> bool:
        """Whether a header can carry the token."""
        return bool(self.access_token) and self.access_token.isascii() and self.access_token.isprintable()

    def __repr__(self) -> str:
        return "_Issued('***')"


class _Refused(msgspec.Struct):
    error: str


def read_secret_file(file: Path, name: str) -> str:
    """Secret in a file that only its owner may read.

    Raises
    ------
    ConfigurationError
        The file cannot be read, is empty, or others may read it; the message says what to do.
    """
    try:
        mode = file.stat().st_mode
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the {name} file {file} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}"
        raise ConfigurationError(msg) from None
    require_private(file, mode)
    if not secret:
        msg = f"the {name} file {file} is empty"
        raise ConfigurationError(msg)
    return secret


def require_private(file: Path, mode: int) -> None:
    """Refuse a file with a secret that others may read."""
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        msg = f"{file} holds a secret and can be read by others; protect it with: chmod 600 {file}"
        raise ConfigurationError(msg)
