"""Access tokens: given as text, read from a file, or issued by OAuth 2.0."""

from __future__ import annotations

import base64
import time
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote_plus, urlencode

import msgspec

from accounting_analytics.client.http import HttpSender, Request, check_url, header_text
from accounting_analytics.client.secret import Secret, read_secret_file
from accounting_analytics.core.errors import AuthenticationError, ConfigurationError, ProtocolError, StatusError
from accounting_analytics.core.messages import fit_terminal, quote

if TYPE_CHECKING:
    import os

    import httpx

    from accounting_analytics.client.rate_and_time_limits import Deadline

_RENEW_EARLY = 60.0
_RENEW_EARLY_SHARE = 10
_NEVER = float("inf")


class Credentials:
    """A token given as text, which cannot be renewed. Subclasses have other sources of tokens."""

    def __init__(self, token: Secret | None) -> None:
        self._token, self._renew_at = token, _NEVER

    def token(self, deadline: Deadline, refused: Secret | None = None) -> Secret:
        """Return a valid token. Renew it if it expires, or if the service refused it (`refused`)."""
        if self._token is None or time.monotonic() >= self._renew_at or self._token == refused:
            self._token = self._issue(deadline)
        return self._token

    def close(self) -> None:
        """Close the connections, if there are any."""
        return

    def _issue(self, deadline: Deadline) -> Secret:  # noqa: ARG002 (no request is sent)
        """Return a new token, if there is a source of new tokens."""
        return self._token  # type: ignore[return-value]  # given at first


class TokenFile(Credentials):
    """A token in a file that only its owner can read. The file is read again when the service refuses the token.

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
        super().__init__(self._read())

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"

    def _issue(self, deadline: Deadline) -> Secret:  # noqa: ARG002 (no request is sent)
        return self._read()

    def _read(self) -> Secret:
        return Secret(header_text(read_secret_file(self._path, "token"), f"the token in {self._path}"))


class ClientCredentials(Credentials):
    """A token from an OAuth 2.0 token endpoint. One thread renews it for all threads before it expires.

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
        url = check_url(token_url, "token_url")
        id_and_secret = f"{quote_plus(client_id)}:{quote_plus(client_secret)}".encode()
        self._basic = Secret(base64.b64encode(id_and_secret).decode(), scheme="Basic")
        self._client_id = client_id
        self._request = Request(
            f"get a token for client {client_id!r}",
            "POST",
            url,
            headers={"content-type": "application/x-www-form-urlencoded"},
            content=urlencode({"grant_type": "client_credentials"}).encode(),
        )
        super().__init__(None)
        self._sender = HttpSender(url, setting="token_url", transport=transport, hidden=[Secret(client_secret)])

    def __repr__(self) -> str:
        url = self._request.url
        return fit_terminal(f"ClientCredentials({url!r}, client_id={self._client_id!r}, client_secret='***')")

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._sender.close()

    def _issue(self, deadline: Deadline) -> Secret:
        """Request a token from the endpoint once."""
        requested_at = time.monotonic()
        try:
            content = self._sender.send(self._request, self._basic, deadline)
        except StatusError as error:
            if not 400 <= error.status < 500 or error.status in {408, 429}:  # noqa: PLR2004 (errors of the client)
                raise
            raise self._refusal(str(error), error.status) from None
        try:
            issued = msgspec.json.decode(content, type=_Issued, strict=False)  # some endpoints send numbers as text
        except msgspec.ValidationError as error:
            raise self._no_token(str(error)) from None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            is_form = b"access_token=" in content or b"error=" in content
            raise self._no_token("it is form-encoded, not JSON" if is_form else "it is not JSON") from None
        if issued.error:
            reason = quote(self._sender.masked(issued.error, self._basic))
            raise self._refusal(f"{self._request}: the endpoint responded with {reason}", HTTPStatus.OK)
        token = issued.access_token
        if not (token and token.isascii() and token.isprintable()):
            raise self._no_token("access_token is missing or not printable")
        if issued.token_type.lower() != "bearer":
            kind = quote(self._sender.masked(issued.token_type, self._basic))
            raise self._no_token(f"token_type is {kind}" if issued.token_type else "token_type is missing")
        # a negative lifetime states no end: the service refuses the token when it has expired
        lifetime = _NEVER if issued.expires_in is None or issued.expires_in < 0 else issued.expires_in
        self._renew_at = requested_at + lifetime - min(_RENEW_EARLY, lifetime / _RENEW_EARLY_SHARE)
        return Secret(token)

    def _no_token(self, reason: str) -> ProtocolError:
        return ProtocolError(f"{self._request}: {self._request.url} sent no bearer token: {reason}")

    def _refusal(self, problem: str, status: int) -> AuthenticationError:
        return AuthenticationError(f"{problem}; check token_url, client_id and the client secret", status=status)


class _Issued(msgspec.Struct):
    """A token, or the reason why there is none."""

    access_token: str = ""
    token_type: str = ""
    error: str | None = None
    expires_in: float | None = None

    def __repr__(self) -> str:
        return "_Issued('***')"
