"""Requests for access tokens: OAuth 2.0 client credentials and their errors (RFC 6749, sections 2.3.1, 4.4 and 5)."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, unquote_plus

from accounting_analytics.errors import TokenRefusedError
from accounting_analytics.service.wire.responses import REALM, has_media_type

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKEN_PATH = "/oauth/token"  # noqa: S105 (a path)
FORM = "application/x-www-form-urlencoded"
DEFAULT_LIFETIME = 3600
"""Seconds until an issued token expires."""

_GRANT = "client_credentials"
_MAX_FIELDS = 20
_MUST_NOT_REPEAT = ("grant_type", "client_id", "client_secret", "scope")


class ClientLogin(NamedTuple):
    """Credentials that a client sent, and whether by HTTP Basic."""

    client_id: str
    client_secret: str
    by_header: bool


def parse_token_request(body: bytes, authorization: Sequence[str]) -> ClientLogin:
    """Client credentials of a token request.

    Parameters
    ----------
    body : bytes
        The form.
    authorization : sequence of str
        Every Authorization header of the request.

    Raises
    ------
    TokenRefusedError
        The body is not a form, requests something else, or has no credentials, or has them twice.
    """
    form = _form(body)
    basic = _basic(authorization)
    in_body = "client_id" in form or "client_secret" in form
    if basic is not None and "client_secret" in form:
        msg = "client credentials were sent twice: in the Authorization header and in the body"
        raise _invalid_request(msg)
    if basic is None and not in_body:
        msg = "no client credentials were sent"
        raise invalid_client(msg, by_header=False)
    if basic is not None and form.get("client_id", basic.client_id) != basic.client_id:
        msg = "client_id in the body differs from the one in the Authorization header"
        raise _invalid_request(msg)
    if "grant_type" not in form:
        msg = "grant_type is missing"
        raise _invalid_request(msg)
    if form["grant_type"] != _GRANT:
        msg = f"grant_type must be {_GRANT}"
        raise TokenRefusedError(msg, status=400, error_code="unsupported_grant_type")
    if form.get("scope"):
        msg = "scopes are not supported: a token is valid for the instance of its client; omit scope"
        raise TokenRefusedError(msg, status=400, error_code="invalid_scope")
    return basic or ClientLogin(form.get("client_id", ""), form.get("client_secret", ""), by_header=False)


def unknown_client(login: ClientLogin) -> TokenRefusedError:
    """Return the error for credentials that are not valid."""
    msg = "the client is unknown, or its secret is wrong"
    return invalid_client(msg, by_header=login.by_header)


def invalid_client(message: str, *, by_header: bool) -> TokenRefusedError:
    """Return the error for missing or wrong credentials; it has a challenge if HTTP Basic was used."""
    headers = {"www-authenticate": f'Basic {REALM}, charset="UTF-8"'} if by_header else None
    return TokenRefusedError(message, status=401, error_code="invalid_client", headers=headers)


def check_form(content_type: str) -> None:
    """Refuse a body that is not sent as a form, with the error of RFC 6749.

    Raises
    ------
    TokenRefusedError
        It has another media type.
    """
    if not has_media_type(content_type, FORM):
        msg = f"the body must be sent as {FORM}"
        raise _invalid_request(msg)


def _form(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), errors="strict",
            max_num_fields=_MAX_FIELDS,
        )  # fmt: skip
    except ValueError as error:
        msg = f"the body must be a form ({FORM}) of at most {_MAX_FIELDS} fields"
        raise _invalid_request(msg) from error
    names = [name for name, _ in pairs]
    for name in _MUST_NOT_REPEAT:
        if names.count(name) > 1:
            msg = f"{name} was sent more than once"
            raise _invalid_request(msg)
    # RFC 6749, 3.2: a parameter without a value is treated as omitted
    return {name: value for name, value in pairs if value}


def _basic(authorization: Sequence[str]) -> ClientLogin | None:
    """Credentials of HTTP Basic, which are form-encoded (RFC 6749, 2.3.1); None without the header."""
    if not authorization:
        return None
    if len(authorization) > 1:
        msg = "the Authorization header was sent more than once"
        raise _invalid_request(msg)
    scheme, _, encoded = authorization[0].partition(" ")
    problem = "the Authorization header must be Basic, with client_id:client_secret in base64"
    if scheme.lower() != "basic":
        raise invalid_client(problem, by_header=True)
    try:
        name, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError) as error:
        raise invalid_client(problem, by_header=True) from error
    if not colon:
        raise invalid_client(problem, by_header=True)
    return ClientLogin(unquote_plus(name), unquote_plus(secret), by_header=True)


def _invalid_request(message: str) -> TokenRefusedError:
    return TokenRefusedError(message, status=400, error_code="invalid_request")
