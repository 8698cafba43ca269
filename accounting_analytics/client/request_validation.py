"""Validation of ids, texts and headers before a request is sent."""

from __future__ import annotations

import urllib.parse

from accounting_analytics.errors import ConfigurationError, InputError
from accounting_analytics.messages import quote

_MAX_HEADER_LENGTH = 16_384
_MAX_TEXT_LENGTH = 100


def path_segment(identifier: str, name: str) -> str:
    """Percent-encode an id for a path; "", "." and ".." would address another path and are refused."""
    try:
        encoded = "" if identifier in {".", ".."} else urllib.parse.quote(identifier, safe="")
    except (TypeError, UnicodeEncodeError):  # not text, or an unpaired surrogate
        encoded = ""
    if not encoded:
        msg = f"{name} {plain(identifier)} is not an id"
        raise InputError(msg)
    return encoded


def query_text(text: str, name: str) -> str:
    """Return text that can be sent as UTF-8; anything else is refused."""
    try:
        text.encode()
    except (AttributeError, UnicodeEncodeError):
        msg = f"{name} {plain(text)} is not text that can be sent"
        raise InputError(msg) from None
    return text


def header_value(text: str, name: str) -> str:
    """Return ASCII text that fits a header; anything else is refused without being repeated, as it may be a secret."""
    if not _fits_header(text) or not text.isascii():
        msg = f"{name} must be plain ASCII text without line breaks or outer spaces, at most {_MAX_HEADER_LENGTH} long"
        raise ConfigurationError(msg)
    return text


def user_name(text: str, name: str) -> str:
    """Return the name of a user for the audit log, which is sent as UTF-8; text that fits no header is refused."""
    if not _fits_header(text):
        msg = f"{name} must be text without line breaks or outer spaces, at most {_MAX_HEADER_LENGTH} bytes of UTF-8"
        raise ConfigurationError(msg)
    return text


def _fits_header(text: object) -> bool:
    """Whether text is printable, without outer spaces, and not too long; lone surrogates are not printable."""
    if not isinstance(text, str) or not text or not text.isprintable() or text != text.strip():
        return False
    return len(text.encode()) <= _MAX_HEADER_LENGTH


def header_name(name: str) -> str:
    """Return a valid header name; anything else is refused."""
    if not isinstance(name, str) or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
        msg = f"instance_header {name!r} is not a header name"
        raise ConfigurationError(msg)
    return name


def plain(text: object) -> str:
    """Id or name for a one-line message: as it is if it is short and printable, else quoted and shortened."""
    is_plain = isinstance(text, str) and 0 < len(text) <= _MAX_TEXT_LENGTH and text.isprintable()
    return str(text) if is_plain else quote(text, limit=_MAX_TEXT_LENGTH)
