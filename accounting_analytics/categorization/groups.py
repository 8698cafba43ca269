"""Groups: transactions of the queue that one decision can categorize, by merchant, direction and account.

A group is of one kind:

- ``merchant``: transactions of one merchant, direction and account.
- ``transfer``: likely transfers between own accounts. Each has an equal and opposite transaction in the queue, on
  another account, within 7 days.
- ``split``: transactions with several categories, of which one is an uncategorized ledger.

The id of a group depends only on these, so it is the same for another period, and after others were categorized. A
new transaction joins the group that its merchant, direction and account have already. A transaction leaves its group
for one of transfers once its other side is loaded too: because that was booked later, is in the longer period, or is on
an account that was left out.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections import defaultdict
from decimal import Decimal, localcontext
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.categorization.merchants import merchants
from accounting_analytics.categorization.uncategorized_queue import exact_queue
from accounting_analytics.column_conversion import LIST_SEPARATOR, TEXT
from accounting_analytics.load_metadata import attach_notes
from accounting_analytics.money import EXACT
from accounting_analytics.periods import parse_date
from accounting_analytics.schemas import QueueGroups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accounting_analytics.periods import DateLike

KINDS = ("merchant", "transfer", "split")
TRANSFER_DAYS = 7
CLEARED_SHARE = 0.8
"""The note counts the groups that reach this share of the uncategorized amount."""
NO_DESCRIPTION = "(no description)"

_KEY = ["kind", "merchant", "direction", "ledger_id", "counterpart_ledger_id"]
_MAX_SLUG = 20
_DIGEST = 6


def group_queue(queue: pd.DataFrame, *, as_of: DateLike | None = None) -> pd.DataFrame:
    """Group the queue by merchant, direction and account, most money first.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    as_of : date-like, optional
        Day at which ages are calculated; by default that of the newest transaction of the queue. Days are in UTC.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.QueueGroups`: the groups of merchants, then likely transfers between own
        accounts, then split transactions. ``amount`` is the exact sum of the uncategorized parts, and of the whole
        amounts where a part is not known. It is not what the merchant was paid where part of an entry was withheld:
        that is the ``amount`` of the queue, with which rules compare too. ``share`` is the part of a group in the
        uncategorized amount, without signs, and ``cumulative_share`` that of all groups up to this row.
        ``attrs["notes"]`` states how many
        decisions clear how much.

    Raises
    ------
    InputError
        `queue` is not a DataFrame, or `as_of` is not a day.
    FrameError
        `queue` is not a valid queue, or has a transaction more than once.
    """
    require_type(queue, pd.DataFrame, "queue", "uncategorized_queue(line_entries, ledgers) returns it")
    exact = exact_queue(queue)
    groups = _sums(with_groups(exact.frame))
    newest = exact.frame["datetime"].dt.normalize().max()
    day = newest if as_of is None else pd.Timestamp(parse_date(as_of, "as_of"), tz="UTC")
    for age, instant in (("age_days", "first_datetime"), ("newest_age_days", "last_datetime")):
        groups[age] = (day - groups[instant].dt.normalize()).dt.days.astype("int64")
    columns = list(QueueGroups.to_schema().columns)
    table = QueueGroups.from_exact(_with_shares(groups)[columns], exact.scale, as_decimals=exact.as_decimals)
    attach_notes(table, (*exact.notes, *_notes(table)), queue)
    return table


def with_groups(queue: pd.DataFrame) -> pd.DataFrame:
    """Queue with the columns ``kind``, ``merchant``, ``counterpart_ledger_id`` and ``group_id``.

    Its amounts are Arrow decimals.
    """
    is_split = queue["opposing_ledger_ids"].str.contains(LIST_SEPARATOR, regex=False)
    counterparts = _counterparts(queue[~is_split])
    kinds = pd.Series("merchant", queue.index, dtype="str").mask(is_split, "split")
    names = [name or NO_DESCRIPTION for name in merchants(queue["description"])]
    grouped = queue.assign(
        kind=kinds.mask(queue.index.isin(counterparts), "transfer"),
        merchant=pd.Series(names, queue.index, dtype="str"),
        counterpart_ledger_id=pd.Series(counterparts, dtype=TEXT).reindex(queue.index),
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


def _sums(grouped: pd.DataFrame) -> pd.DataFrame:
    """One row per group, with the exact sum and the example of its largest transaction."""
    names = dict(zip(grouped["ledger_id"], grouped["ledger_name"], strict=True))
    parts = grouped.assign(
        amount=grouped["category_amount"].fillna(grouped["amount"]),
        counterpart_ledger_name=grouped["counterpart_ledger_id"].map(names, na_action="ignore").astype(TEXT),
    )
    groups = parts.groupby("group_id", sort=False).agg(
        kind=("kind", "first"),
        merchant=("merchant", "first"),
        direction=("direction", "first"),
        ledger_id=("ledger_id", "first"),
        ledger_name=("ledger_name", "first"),
        counterpart_ledger_name=("counterpart_ledger_name", "first"),
        transaction_count=("transaction_id", "nunique"),
        amount=("amount", "sum"),
        first_datetime=("datetime", "min"),
        last_datetime=("datetime", "max"),
        description=("description", "first"),
    )
    return groups.reset_index()


def _with_shares(groups: pd.DataFrame) -> pd.DataFrame:
    """Sort the groups, and add their shares of the whole amount."""
    sizes = pd.Series([amount.copy_abs() for amount in groups["amount"]], groups.index, dtype=object)
    order = groups.assign(
        rank=groups["kind"].map(KINDS.index), size=[size.copy_negate() for size in sizes]
    ).sort_values(["rank", "size", "group_id"], kind="stable")
    ordered = [sizes[label] for label in order.index]
    with localcontext(EXACT):
        running = list(accumulate(ordered))
        whole = running[-1] if running and running[-1] else Decimal(1)
        shares = [float(size / whole) for size in ordered]
        cumulative = [float(size / whole) for size in running]
    return order.drop(columns=["rank", "size"]).reset_index(drop=True).assign(share=shares, cumulative_share=cumulative)


def _notes(groups: pd.DataFrame) -> Iterator[str]:
    decidable = groups[groups["kind"] == "merchant"]
    if len(decidable):
        reached = decidable["cumulative_share"]
        count = min(int((reached < CLEARED_SHARE).sum()) + 1, len(decidable))
        share = reached.iloc[count - 1]
        rest = "; the rest is likely transfers and split transactions" if share < CLEARED_SHARE else ""
        yield f"{count:,} decision(s) clear {int(100 * share)} % of the uncategorized amount{rest}."
    counts = groups.groupby("kind")["transaction_count"].sum()
    if "transfer" in counts:
        yield (
            f"{counts['transfer']:,} transaction(s) are likely transfers between own accounts: equal and opposite "
            f"amounts on two accounts within {TRANSFER_DAYS} days."
        )
    if "split" in counts:
        yield f"{counts['split']:,} transaction(s) are split and listed apart; they are not decided by group."
