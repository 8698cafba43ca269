"""Validation of addresses, ids, texts and headers before a request is sent."""

from __future__ import annotations

import urllib.parse

import httpx

from accounting_analytics.core.errors import ConfigurationError, InputError
from accounting_analytics.core.messages import quote

_MAX_HEADER_LENGTH = 16_384
_MAX_TEXT_LENGTH = 100
_MAX_PORT = 65_535


def check_url(url: str, name: str) -> str:
    """Return an http(s) address of a service without a trailing slash; anything else is refused."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.userinfo:
        raise ConfigurationError(
            f"{name} must not contain a user name or password; give the address alone, like https://ledgers.example.com"
        )
    if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.query or parsed.fragment:
        raise ConfigurationError(f"{name} {url!r} is not an http(s) address like https://ledgers.example.com")
    if parsed.port is not None and not 0 < parsed.port <= _MAX_PORT:  # the system would take another port
        raise ConfigurationError(
            f"{name} {url!r} has port {parsed.port}, which does not exist: ports are 1 to {_MAX_PORT}"
        )
    return str(parsed).rstrip("/")


def is_id(text: str) -> bool:
    """Whether text can be an id in a path."""
    try:
        return bool(path_segment(text, "id"))
    except InputError:
        return False


def path_segment(identifier: str, name: str) -> str:
    """Percent-encode an id for a path; "", "." and ".." would address another path and are refused."""
    try:
        encoded = "" if identifier in {".", ".."} else urllib.parse.quote(identifier, safe="")
    except (TypeError, UnicodeEncodeError):  # not text, or an unpaired surrogate
        encoded = ""
    if not encoded:
        raise InputError(f"{name} {plain(identifier)} is not an id")
    return encoded


def query_text(text: str, name: str) -> str:
    """Return text that can be sent as UTF-8; anything else is refused."""
    try:
        text.encode()
    except (AttributeError, UnicodeEncodeError):
        raise InputError(f"{name} {plain(text)} is not text that can be sent") from None
    return text


def header_value(text: str, name: str) -> str:
    """Return ASCII text that fits a header; anything else is refused without being repeated, as it may be a secret."""
    if not _fits_header(text) or not text.isascii():
        raise ConfigurationError(
            f"{name} must be plain ASCII text without line breaks or outer spaces, at most {_MAX_HEADER_LENGTH} long"
        )
    return text


def user_name(text: str, name: str) -> str:
    """Return the name of a user for the audit log, which is sent as UTF-8; text that fits no header is refused."""
    if not _fits_header(text):
        raise ConfigurationError(
            f"{name} must be text without line breaks or outer spaces, at most {_MAX_HEADER_LENGTH} bytes of UTF-8"
        )
    return text


def _fits_header(text: object) -> bool:
    """Whether text is printable, without outer spaces, and not too long; lone surrogates are not printable."""
    if not isinstance(text, str) or not text or not text.isprintable() or text != text.strip():
        return False
    return len(text.encode()) <= _MAX_HEADER_LENGTH


def header_name(name: str) -> str:
    """Return a valid header name; anything else is refused."""
    if not isinstance(name, str) or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
        raise ConfigurationError(f"instance_header {name!r} is not a header name")
    return name


def plain(text: object) -> str:
    """Id or name for a one-line message: as it is if it is short and printable, else quoted and shortened."""
    is_plain = isinstance(text, str) and 0 < len(text) <= _MAX_TEXT_LENGTH and text.isprintable()
    return str(text) if is_plain else quote(text, limit=_MAX_TEXT_LENGTH)
