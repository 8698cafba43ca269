"""Access tokens: given as text, read from a file, or issued for OAuth 2.0 client credentials."""

from __future__ import annotations

import base64
import os
import stat
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote_plus, urlencode

import msgspec

from accounting_analytics.client.http_request import MIB, Authorization, HttpRequest, HttpSender
from accounting_analytics.client.secret import Secret
from accounting_analytics.client.strict_json import NotJSONError, NotTheInterfaceError, decode
from accounting_analytics.client.transport import PerProcess
from accounting_analytics.client.url_and_header_text import check_url, header_value
from accounting_analytics.errors import (
    AuthenticationError,
    CertificateRefusedError,
    ConfigurationError,
    NoConnectionError,
    ProtocolError,
    ServerFaultError,
    ServiceError,
)
from accounting_analytics.messages import fit_terminal, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    import httpx

    from accounting_analytics.client.http_request import HttpResponse
    from accounting_analytics.client.transport import Deadline

_RENEW_EARLY = 60.0
_RENEW_EARLY_SHARE = 10
_MAX_ATTEMPTS = 3
_BACKOFF = 0.5


class Credentials(Protocol):
    """Source of the access token; shared by several threads."""

    def token(self, deadline: Deadline) -> Secret:
        """Return the current token."""

    def renew(self, refused: Secret, deadline: Deadline) -> bool:  # noqa: ARG002 (for those that can)
        """Whether another token is available after the service refused one."""
        return False

    def secrets(self) -> Iterable[Secret]:
        """Everything to mask in responses of the service."""

    def close(self) -> None:
        """Close the connections, if there are any."""
        return


class FixedToken(Credentials):
    """A token given as text; it cannot be renewed."""

    def __init__(self, token: str) -> None:
        self._token = Secret(header_value(token, "the token"))

    def token(self, deadline: Deadline) -> Secret:  # noqa: ARG002 (of the protocol)
        """Return the token."""
        return self._token

    def secrets(self) -> Iterable[Secret]:
        """Return the token."""
        return (self._token,)


class TokenFile(Credentials):
    """A token in a file that only its owner can read; read again when the service refuses the token.

    Parameters
    ----------
    path : path-like
        The file, mode 0600.

    Raises
    ------
    ConfigurationError
        The file cannot be read, is empty, or others can read it; the message says what to do.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._token = self._read()
        self._secrets: tuple[Secret, ...] = (self._token,)

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"

    def token(self, deadline: Deadline) -> Secret:  # noqa: ARG002 (of the protocol)
        """Return the token that was read last."""
        return self._token

    def renew(self, refused: Secret, deadline: Deadline) -> bool:  # noqa: ARG002 (of the protocol)
        """Read the file again, and return whether it contains another token."""
        if self._token.same(refused):
            token = self._read()
            self._secrets = (refused, token)
            self._token = token
        return not self._token.same(refused)

    def secrets(self) -> Iterable[Secret]:
        """Return the current and the previous token."""
        return self._secrets

    def _read(self) -> Secret:
        return Secret(header_value(read_secret_file(self._path, "token"), f"the token in {self._path}"))


class ClientCredentials(Credentials):
    """A token from an OAuth 2.0 token endpoint; renewed before it expires, by one thread for all.

    Parameters
    ----------
    token_url : str
        Address of the endpoint.
    client_id, client_secret : str
        Credentials of the client, sent with HTTP Basic, and never printed or logged.
    transport : httpx.BaseTransport, optional
        Replaces the network connection, for tests and proxies.

    Raises
    ------
    ConfigurationError
        The address, id or secret is not valid.
    """

    def __init__(
        self, token_url: str, client_id: str, client_secret: str, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        if not client_id or not client_secret:
            raise ConfigurationError("client_id and client_secret must not be empty")
        self._url = check_url(token_url, "token_url")
        self._client_id = client_id
        id_and_secret = f"{quote_plus(client_id)}:{quote_plus(client_secret)}".encode()
        self._basic_credentials = Secret(base64.b64encode(id_and_secret).decode())
        self._client_secret = Secret(client_secret)
        self._renewing = PerProcess(threading.Lock)
        self._token: Secret | None = None
        self._renew_at = self._expires_at = 0.0
        self._secrets: tuple[Secret, ...] = (self._client_secret, self._basic_credentials)
        self._sender = HttpSender(self._url, setting="token_url", transport=transport, secrets=self.secrets)

    def __repr__(self) -> str:
        return fit_terminal(f"ClientCredentials({self._url!r}, client_id={self._client_id!r}, client_secret='***')")

    def token(self, deadline: Deadline) -> Secret:
        """Return a token that has not expired; one thread renews it early while the others keep using it."""
        token, now = self._token, time.monotonic()
        if token is not None and now < self._renew_at:
            return token
        renewing = self._renewing.get()
        if not renewing.acquire(blocking=token is None or now >= self._expires_at):
            return token  # type: ignore[return-value]  # without blocking it is still valid
        try:
            if self._token is None or time.monotonic() >= self._renew_at:
                self._issue(deadline)
            return self._token  # type: ignore[return-value]  # just issued
        finally:
            renewing.release()

    def renew(self, refused: Secret, deadline: Deadline) -> bool:
        """Request another token, unless another thread has already done so."""
        with self._renewing.get():
            if self._token is None or self._token.same(refused):
                self._issue(deadline)
        return True

    def secrets(self) -> Iterable[Secret]:
        """Return the client secret, and the current and the previous token."""
        return self._secrets

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._sender.close()

    def _issue(self, deadline: Deadline) -> None:
        """Request a token; repeating the request is safe, so temporary failures are retried."""
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            problem = self._request_token(deadline)
            if problem is None:
                return
            is_final = isinstance(problem, AuthenticationError | CertificateRefusedError | NoConnectionError)
            if is_final or attempt == _MAX_ATTEMPTS:
                raise problem
            time.sleep(min(_BACKOFF * attempt, max(0.0, deadline.remaining())))

    def _request_token(self, deadline: Deadline) -> ServiceError | None:
        """Send one request for a token; return the error if it failed."""
        request = HttpRequest(
            description=f"get a token for client {self._client_id!r}",
            method="POST",
            url=self._url,
            parameters={},
            headers={"content-type": "application/x-www-form-urlencoded"},
            content=urlencode({"grant_type": "client_credentials"}).encode(),
            max_response_bytes=MIB,
        )
        requested_at = time.monotonic()
        authorization = Authorization(self._basic_credentials.prefixed("Basic"))
        try:
            response = self._sender.send(request, authorization, deadline)
            self._store(self._issued_token(response, request.description), requested_at)
        except ServiceError as error:
            return error.with_traceback(None)
        return None

    def _issued_token(self, response: HttpResponse, description: str) -> _TokenResponse:
        try:
            issued = decode(response.content, _TokenResponse)
        except (NotJSONError, NotTheInterfaceError):
            issued = _TokenResponse()
        status = response.status
        if 400 <= status < 500 and status not in {408, 429}:  # noqa: PLR2004 (errors of the client in HTTP)
            reason = f" ({self._sender.masked(issued.error)[:80]})" if isinstance(issued.error, str) else ""
            raise AuthenticationError(
                f"{description}: {self._url} refused with status {status}{reason}; check token_url, "
                "client_id and the client secret",
                status=status,
            )
        if status != 200:  # noqa: PLR2004 (RFC 6749, 5.1)
            raise ServerFaultError(f"{description}: {self._url} responded with status {status}", status=status)
        if not issued.is_usable():
            raise ProtocolError(f"{description}: {self._url} sent no bearer token")
        return issued

    def _store(self, issued: _TokenResponse, requested_at: float) -> None:
        previous = () if self._token is None else (self._token,)
        token = Secret(issued.access_token)
        self._secrets = (self._client_secret, self._basic_credentials, token, *previous)
        self._token = token
        lifetime = float("inf") if issued.expires_in is None else float(issued.expires_in)
        self._expires_at = requested_at + lifetime
        self._renew_at = self._expires_at - min(_RENEW_EARLY, lifetime / _RENEW_EARLY_SHARE)


class _TokenResponse(msgspec.Struct):
    """A token, or the reason why there is none."""

    access_token: Any = ""
    token_type: Any = ""
    error: Any = None
    expires_in: Any = None

    def is_usable(self) -> bool:
        """Whether it is a bearer token that fits a header, with a lifetime in seconds or none."""
        token, lifetime = self.access_token, self.expires_in
        if not (isinstance(token, str) and isinstance(self.token_type, str) and self.token_type.lower() == "bearer"):
            return False
        is_lifetime = lifetime is None or (isinstance(lifetime, int | float) and not isinstance(lifetime, bool))
        return is_lifetime and bool(token) and token.isascii() and token.isprintable()

    def __repr__(self) -> str:
        return "_TokenResponse('***')"


def read_secret_file(file: Path, name: str) -> str:
    """Secret in a file that only its owner can read."""
    try:
        mode = file.stat().st_mode
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the {name} file {file} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}"
        ) from None
    except ValueError:
        raise ConfigurationError(
            f"the {name} file {quote(str(file))} cannot be read: a path cannot contain a NUL character"
        ) from None
    require_private(file, mode)
    if not secret:
        raise ConfigurationError(f"the {name} file {file} is empty")
    return secret


def require_private(file: Path, mode: int) -> None:
    """Refuse a file with a secret that other users can read."""
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigurationError(
            f"{file} contains a secret and can be read by others; protect it with: chmod 600 {file}"
        )
