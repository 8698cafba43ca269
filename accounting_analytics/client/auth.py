"""Access tokens: given as text, read from a file, or issued for OAuth 2.0 client credentials."""

from __future__ import annotations

import base64
import os
import stat
import threading
import time
from abc import abstractmethod
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode

import msgspec

from accounting_analytics.client.http import MIB, Authorization, HttpRequest, HttpSender, PerProcess
from accounting_analytics.client.secret import Secret
from accounting_analytics.client.strict_json import NotJSONError, NotTheInterfaceError, decode
from accounting_analytics.client.url_and_header_text import check_url, header_value
from accounting_analytics.core.errors import AuthenticationError, ConfigurationError, ProtocolError, ServerFaultError
from accounting_analytics.core.messages import fit_terminal, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    import httpx

    from accounting_analytics.client.http import Deadline, HttpResponse

_RENEW_EARLY = 60.0
_RENEW_EARLY_SHARE = 10
_NEVER = float("inf")


class Credentials(PerProcess):
    """Source of the access token, shared by several threads: one of them renews it for all."""

    _hidden: tuple[Secret, ...] = ()
    """What to mask besides tokens."""

    def __init__(self) -> None:
        self._token: Secret | None = None
        self._previous: Secret | None = None
        self._renew_at = self._expires_at = 0.0
        super().__init__()

    def begin_process(self) -> None:
        """Begin with a lock of its own."""
        self._renewing = threading.Lock()

    def token(self, deadline: Deadline) -> Secret:
        """Return a token that has not expired; one thread renews it early while the others keep using it."""
        token, now = self._token, time.monotonic()
        if token is not None and now < self._renew_at:
            return token
        is_needed = token is None or now >= self._expires_at
        if not self._renewing.acquire(blocking=is_needed):
            return token  # type: ignore[return-value]  # not needed: it is still valid
        try:
            if self._token is None or time.monotonic() >= self._renew_at:
                self._store(*self._issue(deadline))
            return self._token  # type: ignore[return-value]  # just issued
        finally:
            self._renewing.release()

    def renew(self, refused: Secret, deadline: Deadline) -> bool:
        """Whether there is another token than one that the service refused, which another thread may have renewed."""
        with self._renewing:
            if self._token is None or self._token.same(refused):
                self._store(*self._issue(deadline))
            return not (self._token is None or self._token.same(refused))

    def secrets(self) -> Iterable[Secret]:
        """Everything to mask in responses of the service: also the token before, which a slow response may repeat."""
        return (*self._hidden, *(one for one in (self._token, self._previous) if one is not None))

    def close(self) -> None:
        """Close the connections, if there are any."""
        return

    @abstractmethod
    def _issue(self, deadline: Deadline) -> tuple[Secret, float]:
        """Return a token, and the time when it expires."""

    def _store(self, token: Secret, expires_at: float) -> None:
        lifetime = expires_at - time.monotonic()
        self._previous, self._token = self._token, token
        self._renew_at = expires_at - min(_RENEW_EARLY, lifetime / _RENEW_EARLY_SHARE)
        self._expires_at = expires_at


class FixedToken(Credentials):
    """A token given as text; it cannot be renewed."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._store(Secret(header_value(token, "the token")), _NEVER)

    def _issue(self, deadline: Deadline) -> tuple[Secret, float]:  # noqa: ARG002 (no request is sent)
        return self._token, _NEVER  # type: ignore[return-value]  # given at first


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
        super().__init__()
        self._path = Path(path)
        self._store(self._read(), _NEVER)

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"

    def _issue(self, deadline: Deadline) -> tuple[Secret, float]:  # noqa: ARG002 (no request is sent)
        return self._read(), _NEVER

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
        self._hidden = (Secret(client_secret), self._basic_credentials)
        super().__init__()
        self._sender = HttpSender(self._url, setting="token_url", transport=transport, secrets=self.secrets)

    def __repr__(self) -> str:
        return fit_terminal(f"ClientCredentials({self._url!r}, client_id={self._client_id!r}, client_secret='***')")

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._sender.close()

    def _issue(self, deadline: Deadline) -> tuple[Secret, float]:
        """Request a token once."""
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
        response = self._sender.send(request, Authorization(self._basic_credentials.prefixed("Basic")), deadline)
        issued = self._issued(response, request.description)
        return Secret(issued.access_token), requested_at + issued.lifetime()

    def _issued(self, response: HttpResponse, description: str) -> _TokenResponse:
        """Token of a response; a refusal is named, in the fields of RFC 6749, whatever its status."""
        try:
            issued = decode(response.content, _TokenResponse)
        except (NotJSONError, NotTheInterfaceError):
            issued = _TokenResponse()
        status = response.status
        is_success = status == HTTPStatus.OK
        is_refused = 400 <= status < 500 and status not in {408, 429}  # noqa: PLR2004 (errors of the client in HTTP)
        if is_refused or (is_success and isinstance(issued.error, str)):
            reason = f" ({self._sender.masked(issued.error)[:80]})" if isinstance(issued.error, str) else ""
            raise AuthenticationError(
                f"{description}: {self._url} refused with status {status}{reason}; check token_url, "
                "client_id and the client secret",
                status=status,
            )
        if not is_success:
            raise ServerFaultError(f"{description}: {self._url} responded with status {status}", status=status)
        if not issued.is_usable():
            raise ProtocolError(f"{description}: {self._url} sent no bearer token")
        return issued


class _TokenResponse(msgspec.Struct):
    """A token, or the reason why there is none."""

    access_token: Any = ""
    token_type: Any = ""
    error: Any = None
    expires_in: Any = None

    def is_usable(self) -> bool:
        """Whether it is a bearer token that fits a header, with a lifetime in seconds or none."""
        token, kind = self.access_token, self.token_type
        if not (isinstance(token, str) and isinstance(kind, str) and kind.lower() == "bearer"):
            return False
        return self.lifetime() >= 0 and bool(token) and token.isascii() and token.isprintable()

    def lifetime(self) -> float:
        """Seconds until it expires; some endpoints send them as text. Negative where they are not a number."""
        if self.expires_in is None:
            return _NEVER
        try:
            return -1.0 if isinstance(self.expires_in, bool) else float(self.expires_in)
        except (TypeError, ValueError):
            return -1.0

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
