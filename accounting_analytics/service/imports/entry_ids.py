"""Ids of entries that have none of their own: digests of their content."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal


def content_ids(prefix: str, contents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Id of each entry by its key: a digest of the texts of its lines, with a number if entries are equal."""
    equal_count: Counter[str] = Counter()
    ids = {}
    for key, content in contents.items():
        digest = hashlib.sha256("\x1e".join(content).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        equal_count[digest] += 1
        ids[key] = f"{prefix}_{digest}" + (f"_{equal_count[digest]}" if equal_count[digest] > 1 else "")
    return ids


def posting_content(date: str, description: str, account: str, quantity: Decimal, commodity: str) -> str:
    """Text of a posting in the digest of its entry; 1.50 and 1.5 are the same."""
    return f"{date}\x1f{description}\x1f{account}\x1f{quantity.normalize():f}\x1f{commodity}"
