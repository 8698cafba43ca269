"""Identifiers of what is stored: new ones, and which given ones are usable in a URL path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from accounting_analytics.errors import PostingRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LENGTH = 200
_BATCH = 1024
_BYTES = 12


def new_ids(prefix: str) -> Iterator[str]:
    """Endless random identifiers with a prefix, such as ``led_5f0c...``."""
    width = 2 * _BYTES
    while True:
        digits = os.urandom(_BYTES * _BATCH).hex()
        for start in range(0, len(digits), width):
            yield f"{prefix}_{digits[start : start + width]}"


def new_id(prefix: str) -> str:
    """Return one random identifier with a prefix."""
    return f"{prefix}_{os.urandom(_BYTES).hex()}"


def is_usable(identifier: str) -> bool:
    """Whether text can be an identifier: anything else is none of ours, and need not be looked for."""
    if not isinstance(identifier, str) or not 0 < len(identifier) <= MAX_LENGTH:
        return False
    return identifier not in {".", ".."} and "/" not in identifier and identifier.isprintable()


def usable(identifier: str, what: str) -> str:
    """Return a given identifier; refuses one that cannot stand in a URL path or header."""
    if not is_usable(identifier):
        msg = (
            f"{what} id {str(identifier)[:60]!r} cannot be used: "
            f"an id has 1 to {MAX_LENGTH} printable characters, no '/', and is not '.' or '..'"
        )
        raise PostingRefusedError(msg)
    return identifier
