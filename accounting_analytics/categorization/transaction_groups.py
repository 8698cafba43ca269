"""Which group each transaction of the queue is in: its kind, merchant, direction and accounts, and the id of these."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.categorization.merchants import merchants
from accounting_analytics.column_conversion import LIST_SEPARATOR, TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal

TRANSFER_DAYS = 7
NO_DESCRIPTION = "(no description)"

_KEY = ["kind", "merchant", "direction", "ledger_id", "counterpart_ledger_id"]
_MAX_SLUG = 20
_DIGEST = 6


def with_groups(queue: pd.DataFrame) -> pd.DataFrame:
    """Queue with the columns ``kind``, ``merchant``, ``counterpart_ledger_id`` and ``group_id``.

    Its amounts are Arrow decimals. Likely transfers are those that the queue states, so that a part of it has the same
    groups; they are searched where it does not state them.
    """
    is_split = queue["opposing_ledger_ids"].str.contains(LIST_SEPARATOR, regex=False)
    counterparts = queue.get("counterpart_ledger_id")
    if counterparts is None:
        counterparts = pd.Series(_counterparts(queue[~is_split]), dtype=TEXT).reindex(queue.index)
    kinds = pd.Series("merchant", queue.index, dtype="str").mask(counterparts.notna(), "transfer")
    names = [name or NO_DESCRIPTION for name in merchants(queue["description"])]
    grouped = queue.assign(
        kind=kinds.mask(is_split, "split"),
        merchant=pd.Series(names, queue.index, dtype="str"),
        counterpart_ledger_id=counterparts,
    )
    return grouped.assign(group_id=_group_ids(grouped))


def _counterparts(queue: pd.DataFrame) -> dict[Any, str]:
    """Account on the other side of each likely transfer, by the label of its row; earlier rows are paired first."""
    by_size: dict[Decimal, list[tuple[pd.Timestamp, Any, str, bool]]] = defaultdict(list)
    ordered = queue.sort_values(["datetime", "transaction_id"], kind="stable")
    columns = (ordered[name] for name in ("datetime", "ledger_id", "amount"))
    for label, instant, ledger_id, amount in zip(ordered.index, *columns, strict=True):
        if amount:
            by_size[amount.copy_abs()].append((instant, label, ledger_id, amount > 0))
    found: dict[Any, str] = {}
    for rows in by_size.values():
        paid = [row for row in rows if not row[3]]
        received = [row for row in rows if row[3]]
        for (_, label, ledger_id, _), (_, other, other_ledger_id, _) in _pairs(paid, received):
            found |= {label: other_ledger_id, other: ledger_id}
    return found


def _pairs(paid: list[Any], received: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Pair rows of two accounts at most 7 days apart, each row once; both lists are in order of time."""
    window = pd.Timedelta(days=TRANSFER_DAYS)
    for one in paid:
        start = bisect_left(received, one[0] - window, key=lambda row: row[0])
        for position in range(start, len(received)):
            other = received[position]
            if other[0] - one[0] > window:
                break
            if other[2] != one[2]:
                yield one, received.pop(position)
                break


def _group_ids(grouped: pd.DataFrame) -> pd.Series[Any]:
    """Ids such as ``blue-bottle-coffee-3f2a91``: the merchant, and a digest of what makes the group."""
    keys = grouped[_KEY].astype(object).where(grouped[_KEY].notna(), "")
    digests = {key: _digest(key) for key in dict.fromkeys(keys.itertuples(index=False, name=None))}
    short = {key: f"{_slug(*key[:2])}-{digest[:_DIGEST]}".lstrip("-") for key, digest in digests.items()}
    counts = pd.Series(list(short.values()), dtype="str").value_counts()
    ids = {key: one if counts[one] == 1 else f"{one}{digests[key][_DIGEST:]}" for key, one in short.items()}
    return pd.Series([ids[key] for key in keys.itertuples(index=False, name=None)], grouped.index, dtype="str")


def _slug(kind: str, merchant: str) -> str:
    text = merchant if kind == "merchant" else f"{kind} {merchant}"
    return re.sub(r"[\W_]+", "-", text.casefold()).strip("-")[:_MAX_SLUG].rstrip("-")


def _digest(key: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(key).encode()).hexdigest()[:32]
