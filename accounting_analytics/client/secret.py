"""Secrets: read from private files, sent in the Authorization header, and masked wherever they could be printed."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib import parse

import httpx

from accounting_analytics.core.errors import ConfigurationError
from accounting_analytics.core.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MASK = "***"
TOKEN_VARIABLE = "ACCOUNTING_ANALYTICS_TOKEN"  # noqa: S105 (the name of a variable)
_VARIABLES = (TOKEN_VARIABLE, "ACCOUNTING_ANALYTICS_CLIENT_SECRET")
_SECRET_NAME = re.compile(r"token|password|passwd|secret|authorization|credential|api_?key|bearer", re.IGNORECASE)
_MIN_UNAMBIGUOUS_LENGTH = 8


class Secret(httpx.Auth):
    """An access token or password: masked when printed, and never pickled.

    If it is the ``auth`` of a request, it becomes the Authorization header when the request is sent, so that no stack
    frame or log contains the secret.
    """

    __slots__ = ("_scheme", "_value")

    def __init__(self, value: str, *, scheme: str = "Bearer") -> None:
        self._value, self._scheme = value, scheme

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled; connect again where it is needed")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    __hash__ = None  # type: ignore[assignment]  # nothing looks for secrets

    def reveal(self) -> str:
        """Return the secret as plain text."""
        return self._value

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        """Add the Authorization header."""
        request.headers["authorization"] = f"{self._scheme} {self._value}"
        yield request


def masked(text: str, secrets: Iterable[Secret]) -> str:
    """Mask every secret in a text, even if percent-encoded."""
    encoded = {encode(secret.reveal()) for secret in secrets for encode in (str, parse.quote, parse.quote_plus)} - {""}
    for value in sorted(encoded, key=len, reverse=True):
        # a short secret may be part of an ordinary word, so it is masked only as a whole word
        pattern = re.escape(value) if len(value) >= _MIN_UNAMBIGUOUS_LENGTH else rf"(?<!\w){re.escape(value)}(?!\w)"
        text = re.sub(pattern, MASK, text)
    return text


def known_secrets(environment: Mapping[str, str]) -> list[Secret]:
    """Return the secrets in the environment, and in the files that the environment names."""
    values = {environment.get(name, "") for name in _VARIABLES}
    for name in _VARIABLES:
        with suppress(OSError, UnicodeDecodeError):  # code that needs this file raises its own error
            values.add(Path(environment.get(f"{name}_FILE", "")).read_text(encoding="utf-8").strip())
    return [Secret(value) for value in sorted(values - {""})]


def is_secret_parameter(name: str, value: object, secrets: Iterable[Secret]) -> bool:
    """Return whether a parameter has the name or value of a secret."""
    text = str(value).strip()
    is_known = any(text == secret.reveal() for secret in secrets)
    return is_known or bool(_SECRET_NAME.search(name)) or text.lower().startswith("bearer ")


def read_secret_file(file: Path, name: str) -> str:
    """Read a secret from a file that only its owner can read."""
    try:
        mode = file.stat().st_mode
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:  # ValueError: the content is not text, or the path has a NUL character
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"the {name} file {quote(str(file))} cannot be read: {reason}") from None
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
