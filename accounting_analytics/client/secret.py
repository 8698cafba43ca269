"""A secret that shows itself to the service only."""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "***"
_GUESSABLE = 8


class Secret:
    """An access token: masked wherever it could be printed, and never pickled."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        msg = "a secret is not pickled; connect again where it is needed"
        raise TypeError(msg)

    def reveal(self) -> str:
        """Return the secret itself; for the Authorization header only."""
        return self._value

    def prefixed(self, scheme: str) -> Secret:
        """Return value of an Authorization header, as secret as this."""
        return Secret(f"{scheme} {self._value}")

    def same(self, other: Secret) -> bool:
        """Whether both are one secret."""
        return hmac.compare_digest(self._value.encode(), other._value.encode())


def masked(text: str, secrets: Iterable[Secret]) -> str:
    """Text of others without the secrets that it repeats, also percent-encoded."""
    spellings = {spelling(one.reveal()) for one in secrets for spelling in (str, quote, quote_plus)} - {""}
    for spelling in sorted(spellings, key=len, reverse=True):
        # a short one is part of innocent words; whole it is still masked
        whole = re.escape(spelling) if len(spelling) >= _GUESSABLE else rf"(?<!\w){re.escape(spelling)}(?!\w)"
        text = re.sub(whole, MASK, text)
    return text
