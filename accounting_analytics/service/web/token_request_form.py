"""Requests for access tokens: OAuth 2.0 client credentials and their errors (RFC 6749, sections 2.3.1, 4.4 and 5)."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, NamedTuple, NoReturn
from urllib.parse import parse_qsl, unquote_plus

from accounting_analytics.errors import TokenRefusedError
from accounting_analytics.service.wire.response_models import REALM, has_media_type

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
    """Client credentials of a form and of every Authorization header; refuse another grant, none, or both."""
    form = _form(body)
    basic = _basic(authorization)
    in_body = "client_id" in form or "client_secret" in form
    if basic is not None and "client_secret" in form:
        _refuse("client credentials were sent twice: in the Authorization header and in the body")
    if basic is None and not in_body:
        raise invalid_client("no client credentials were sent", by_header=False)
    if basic is not None and form.get("client_id", basic.client_id) != basic.client_id:
        _refuse("client_id in the body differs from the one in the Authorization header")
    if "grant_type" not in form:
        _refuse("grant_type is missing")
    if form["grant_type"] != _GRANT:
        _refuse(f"grant_type must be {_GRANT}", "unsupported_grant_type")
    if form.get("scope"):
        _refuse(
            "scopes are not supported: a token is valid for the instance of its client; omit scope", "invalid_scope"
        )
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
    """Refuse a body that is not sent as a form, with the error of RFC 6749."""
    if not has_media_type(content_type, FORM):
        _refuse(f"the body must be sent as {FORM}")


def _form(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), errors="strict",
            max_num_fields=_MAX_FIELDS,
        )  # fmt: skip
    except ValueError:
        _refuse(f"the body must be a form ({FORM}) of at most {_MAX_FIELDS} fields")
    names = [name for name, _ in pairs]
    for name in _MUST_NOT_REPEAT:
        if names.count(name) > 1:
            _refuse(f"{name} was sent more than once")
    # RFC 6749, 3.2: a parameter without a value is treated as omitted
    return {name: value for name, value in pairs if value}


def _basic(authorization: Sequence[str]) -> ClientLogin | None:
    """Credentials of HTTP Basic, which are form-encoded (RFC 6749, 2.3.1); None without the header."""
    if not authorization:
        return None
    if len(authorization) > 1:
        _refuse("the Authorization header was sent more than once")
    scheme, _, encoded = authorization[0].partition(" ")
    try:
        credentials = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        credentials = ""
    name, colon, secret = credentials.partition(":")
    if scheme.lower() != "basic" or not colon:
        raise invalid_client(
            "the Authorization header must be Basic, with client_id:client_secret in base64", by_header=True
        )
    return ClientLogin(unquote_plus(name), unquote_plus(secret), by_header=True)


def _refuse(message: str, error_code: str = "invalid_request") -> NoReturn:
    raise TokenRefusedError(message, status=400, error_code=error_code)
