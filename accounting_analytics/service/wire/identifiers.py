"""Identifiers and texts of the books: new ids, and checks of ids and texts from outside."""

from __future__ import annotations

import os
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING

from accounting_analytics.errors import PostingRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LENGTH = 200
_BYTES = 12
_SUFFIX_DIGITS = 12


def new_ids(prefix: str) -> Iterator[str]:
    """Unlimited ids with a prefix, ascending from a random one: an index grows at one place."""
    first = int.from_bytes(os.urandom(_BYTES)) >> 1
    return (f"{prefix}_{number:0{2 * _BYTES}x}" for number in count(first))


def new_id(prefix: str) -> str:
    """Return a random id with a prefix."""
    return f"{prefix}_{os.urandom(_BYTES).hex()}"


def derived_id(prefix: str, *texts: str) -> str:
    """Return the id with a prefix that follows from some texts."""
    return f"{prefix}_{sha256(chr(0).join(texts).encode('utf-8', 'surrogatepass')).hexdigest()[: 2 * _BYTES]}"


def instance_suffix(instance_id: str) -> str:
    """Suffix of the ids that an import derives from a file: the same file has other ids in another instance."""
    return f"-{sha256(instance_id.encode()).hexdigest()[:_SUFFIX_DIGITS]}"


def is_valid_id(identifier: str) -> bool:
    """Whether text can be an id: anything else is not in the database and needs no query."""
    if not isinstance(identifier, str) or not 0 < len(identifier) <= MAX_LENGTH:
        return False
    return identifier not in {".", ".."} and "/" not in identifier and identifier.isprintable()


def check_id(identifier: str, what: str) -> str:
    """Return an id; refuse one that cannot be used in a URL path."""
    if not is_valid_id(identifier):
        raise PostingRefusedError(
            f"{what} id {str(identifier)[:60]!r} cannot be used: "
            f"an id has 1 to {MAX_LENGTH} printable characters, no '/', and is not '.' or '..'"
        )
    return identifier


def check_header_id(identifier: str, what: str) -> str:
    """Return an id; refuse one that cannot be used in a header: ASCII without spaces at its ends."""
    if not check_id(identifier, what).isascii() or identifier != identifier.strip():
        raise PostingRefusedError(
            f"{what} id {identifier[:60]!r} cannot be sent in a header: it must be ASCII, without spaces at its ends"
        )
    return identifier


def check_text(value: str, what: str, *, most: int | None = None) -> str:
    """Return a text; refuse NUL and lone surrogates, which no database keeps, and a text that is too long."""
    if not isinstance(value, str) or "\0" in value or not _is_unicode(value):
        raise PostingRefusedError(f"{what} must be Unicode text without NUL characters")
    if most is not None and len(value) > most:
        raise PostingRefusedError(f"{what} has {len(value)} characters, more than {most}")
    return value


def _is_unicode(value: str) -> bool:
    """Whether text can be written as UTF-8: a lone surrogate cannot."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
