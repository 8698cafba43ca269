"""A secret that shows itself to the service only."""

from __future__ import annotations

from typing import NoReturn


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
