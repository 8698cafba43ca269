"""Secrets that are masked wherever they could be printed."""

from __future__ import annotations

import hmac
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MASK = "***"
TOKEN_VARIABLE = "ACCOUNTING_ANALYTICS_TOKEN"  # noqa: S105 (the name of a variable)
_VARIABLES = (TOKEN_VARIABLE, "ACCOUNTING_ANALYTICS_CLIENT_SECRET")
_SECRET_NAME = re.compile(r"token|password|passwd|secret|authorization|credential|api_?key|bearer", re.IGNORECASE)
_MIN_UNAMBIGUOUS_LENGTH = 8


class Secret:
    """An access token or password: masked when printed, and never pickled."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled; connect again where it is needed")

    def reveal(self) -> str:
        """Return the secret itself; for the Authorization header only."""
        return self._value

    def prefixed(self, scheme: str) -> Secret:
        """Return the value of an Authorization header, also a secret."""
        return Secret(f"{scheme} {self._value}")

    def same(self, other: Secret) -> bool:
        """Whether both secrets are equal."""
        return hmac.compare_digest(self._value.encode(), other._value.encode())


def masked(text: str, secrets: Iterable[Secret]) -> str:
    """Text with every secret in it masked, also where it is percent-encoded."""
    encoded = {encode(secret.reveal()) for secret in secrets for encode in (str, quote, quote_plus)} - {""}
    for value in sorted(encoded, key=len, reverse=True):
        # a short secret may be part of an ordinary word: it is masked only as a whole word
        pattern = re.escape(value) if len(value) >= _MIN_UNAMBIGUOUS_LENGTH else rf"(?<!\w){re.escape(value)}(?!\w)"
        text = re.sub(pattern, MASK, text)
    return text


def known_secrets(environment: Mapping[str, str]) -> list[Secret]:
    """Return the secrets that the environment contains or whose files it names."""
    values = {environment.get(name, "") for name in _VARIABLES}
    for name in _VARIABLES:
        with suppress(OSError, UnicodeDecodeError):  # what needs the file fails with its own error
            values.add(Path(environment.get(f"{name}_FILE", "")).read_text(encoding="utf-8").strip())
    return [Secret(value) for value in sorted(values - {""})]


def is_secret_parameter(name: str, value: object, secrets: Iterable[Secret]) -> bool:
    """Whether a parameter is named like a secret, or its value is one."""
    text = str(value).strip()
    is_known = any(text == secret.reveal() for secret in secrets)
    return is_known or bool(_SECRET_NAME.search(name)) or text.lower().startswith("bearer ")
