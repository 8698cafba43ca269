"""Secrets that are masked wherever they could be printed."""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "***"
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
