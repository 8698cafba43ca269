"""What may go into a header or a path, checked before anything is sent."""

from __future__ import annotations

from urllib.parse import quote

from accounting_analytics.errors import ConfigurationError, InputError

_LONGEST_HEADER = 16_384
_SHOWN = 100


def path_segment(identifier: str, name: str) -> str:
    """Percent-encode an id for a path; "", "." and ".." would name another path and are refused."""
    try:
        encoded = "" if identifier in {".", ".."} else quote(identifier, safe="")
    except (TypeError, UnicodeEncodeError):  # half of a surrogate pair is no text
        encoded = ""
    if not encoded:
        msg = f"{name} {shown(identifier)} is not an id"
        raise InputError(msg)
    return encoded


def query_text(text: str, name: str) -> str:
    """Refuse what no query and no body can carry."""
    try:
        text.encode()
    except (AttributeError, UnicodeEncodeError):
        msg = f"{name} {shown(text)} is not text that can be sent"
        raise InputError(msg) from None
    return text


def header_value(text: str, name: str) -> str:
    """Refuse text that no header can carry; the text itself is not repeated, it may be a secret."""
    if (
        not isinstance(text, str)
        or not text
        or len(text) > _LONGEST_HEADER
        or not text.isascii()
        or not text.isprintable()
        or text != text.strip()
    ):
        msg = f"{name} must be plain ASCII text without line breaks or outer spaces, at most {_LONGEST_HEADER} long"
        raise ConfigurationError(msg)
    return text


def header_name(name: str) -> str:
    """Refuse what is no name of a header, or the name of one that is ours."""
    if not isinstance(name, str) or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
        msg = f"instance_header {name!r} is not a header name"
        raise ConfigurationError(msg)
    return name


def shown(text: object) -> str:
    """Text for a one-line message: quoted where it holds more than plain characters, and not endless."""
    if not isinstance(text, str):
        return repr(text)
    short = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return short if short and short.isprintable() else repr(short)
