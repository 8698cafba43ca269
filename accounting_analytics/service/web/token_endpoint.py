"""The token endpoint: OAuth 2.0 client credentials (RFC 6749, sections 2.3.1, 4.4 and 5)."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, unquote_plus

from accounting_analytics.errors import TokenRefusedError
from accounting_analytics.service.wire.responses import REALM, is_of_type

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKEN_PATH = "/oauth/token"  # noqa: S105 (a path)
FORM = "application/x-www-form-urlencoded"
DEFAULT_LIFETIME = 3600
"""Seconds that an issued token lives."""

_GRANT = "client_credentials"
_MAX_FIELDS = 20
_MUST_NOT_REPEAT = ("grant_type", "client_id", "client_secret", "scope")


class SignIn(NamedTuple):
    """Credentials a client presented, and whether it did so with HTTP Basic."""

    client_id: str
    client_secret: str
    by_header: bool


def sign_in(body: bytes, authorization: Sequence[str]) -> SignIn:
    """Credentials of a request for a token by client credentials.

    Parameters
    ----------
    body : bytes
        The form.
    authorization : sequence of str
        Every Authorization header of the request.

    Raises
    ------
    TokenRefusedError
        The form is not one, asks for something else, or carries no credentials, or two.
    """
    form = _form(body)
    basic = _basic(authorization)
    in_body = "client_id" in form or "client_secret" in form
    if basic is not None and "client_secret" in form:
        msg = "client credentials were sent twice: in the Authorization header and in the body"
        raise _bad(msg)
    if basic is None and not in_body:
        msg = "no client credentials were sent"
        raise refused_client(msg, by_header=False)
    if basic is not None and form.get("client_id", basic.client_id) != basic.client_id:
        msg = "client_id in the body is not the one in the Authorization header"
        raise _bad(msg)
    if "grant_type" not in form:
        msg = "grant_type is missing"
        raise _bad(msg)
    if form["grant_type"] != _GRANT:
        msg = f"grant_type must be {_GRANT}"
        raise TokenRefusedError(msg, status=400, error_code="unsupported_grant_type")
    if form.get("scope"):
        msg = "there are no scopes: a token opens the instance of its client; leave scope out"
        raise TokenRefusedError(msg, status=400, error_code="invalid_scope")
    return basic or SignIn(form.get("client_id", ""), form.get("client_secret", ""), by_header=False)


def refused_client(message: str, *, by_header: bool) -> TokenRefusedError:
    """Return the error for credentials that open nothing; it asks for HTTP Basic where that was tried."""
    headers = {"www-authenticate": f'Basic {REALM}, charset="UTF-8"'} if by_header else None
    return TokenRefusedError(message, status=401, error_code="invalid_client", headers=headers)


def check_form(content_type: str) -> None:
    """Refuse a body that is not sent as a form, in the words of RFC 6749.

    Raises
    ------
    TokenRefusedError
        Its media type is another one.
    """
    if not is_of_type(content_type, FORM):
        msg = f"the body must be sent as {FORM}"
        raise _bad(msg)


def token_fields(token: str, lifetime: float) -> dict[str, str | int]:
    """Answer that hands out a token; a lifetime below a second is said to be 0."""
    return {"access_token": token, "token_type": "Bearer", "expires_in": int(lifetime)}


def _form(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), errors="strict",
            max_num_fields=_MAX_FIELDS,
        )  # fmt: skip
    except ValueError as error:
        msg = f"the body must be a form ({FORM}) of at most {_MAX_FIELDS} fields"
        raise _bad(msg) from error
    names = [name for name, _ in pairs]
    for name in _MUST_NOT_REPEAT:
        if names.count(name) > 1:
            msg = f"{name} was sent more than once"
            raise _bad(msg)
    # RFC 6749, 3.2: what was sent without a value is as if it had been left out
    return {name: value for name, value in pairs if value}


def _basic(authorization: Sequence[str]) -> SignIn | None:
    """Credentials of HTTP Basic, each form-encoded before (RFC 6749, 2.3.1); None without the header."""
    if not authorization:
        return None
    if len(authorization) > 1:
        msg = "the Authorization header was sent more than once"
        raise _bad(msg)
    scheme, _, encoded = authorization[0].partition(" ")
    problem = "the Authorization header must be Basic, with client_id:client_secret in base64"
    if scheme.lower() != "basic":
        raise refused_client(problem, by_header=True)
    try:
        name, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError) as error:
        raise refused_client(problem, by_header=True) from error
    if not colon:
        raise refused_client(problem, by_header=True)
    return SignIn(unquote_plus(name), unquote_plus(secret), by_header=True)


def _bad(message: str) -> TokenRefusedError:
    return TokenRefusedError(message, status=400, error_code="invalid_request")
