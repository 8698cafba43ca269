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

from collections import defaultdict
from decimal import Decimal, localcontext
from itertools import accumulate
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.column_conversion import TEXT
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.load_metadata import attach_notes
from accounting_analytics.core.messages import count_of, did_you_mean, quote
from accounting_analytics.core.money import EXACT
from accounting_analytics.core.periods import parse_date
from accounting_analytics.core.schemas import QueueGroups
from accounting_analytics.recategorization.queue import TRANSFER_DAYS, exact_queue, with_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accounting_analytics.core.periods import DateLike

KINDS = ("merchant", "transfer", "split")
CLEARED_SHARE = 0.8
"""The note counts the groups that reach this share of the uncategorized amount."""


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
        accounts, then split transactions. ``amount`` is the exact sum of their ``uncategorized_amount``. It is not
        what the merchant was paid where part of an entry was withheld: that is the ``transaction_amount`` of the
        queue, with which rules compare too. ``share`` is the part of a group in the uncategorized amount, without
        signs, and ``cumulative_share`` that of all groups up to this row. ``attrs["notes"]`` states how many decisions
        clear how much.

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


def _sums(grouped: pd.DataFrame) -> pd.DataFrame:
    """One row per group, with the exact sum and the example of its largest transaction."""
    names = dict(zip(grouped["ledger_id"], grouped["ledger_name"], strict=True))
    parts = grouped.assign(
        amount=grouped["uncategorized_amount"],
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
        clearing = count_of(count, "decision clears", "decisions clear")
        yield f"{clearing} {int(100 * share)} % of the uncategorized amount{rest}."
    counts = groups.groupby("kind")["transaction_count"].sum()
    if "transfer" in counts:
        yield (
            f"{count_of(counts['transfer'], 'likely transfer')} between own accounts: equal and opposite "
            f"amounts on two accounts within {TRANSFER_DAYS} days."
        )
    if "split" in counts:
        yield f"{count_of(counts['split'], 'split transaction')}, listed apart and not decided by group."


class Decidable:
    """Row numbers of each group and each transaction of a queue, which :func:`with_groups` returned."""

    def __init__(self, grouped: pd.DataFrame) -> None:
        self.groups, self.transactions = _rows_by_id(grouped["group_id"]), _rows_by_id(grouped["transaction_id"])
        self._split = {row for row, kind in enumerate(grouped["kind"]) if kind == "split"}

    def __contains__(self, key: str) -> bool:
        return key in self.groups or key in self.transactions

    def find(self, key: str) -> list[int]:
        """Rows of a group or a transaction."""
        if key not in self:
            known = [*self.groups, *self.transactions]
            hint = did_you_mean(key, known, most=3) or "group_queue(queue) lists the groups"
            raise InputError(f"{quote(key)} is neither a group nor a transaction of the queue; {hint}")
        return self.transactions.get(key) or self.groups[key]

    def find_free(self, key: str) -> list[int]:
        """Rows of a group or a transaction that any category can be chosen for; splits are refused."""
        found = self.find(key)
        if self._split.intersection(found):
            raise InputError(
                f"{quote(key)} is split: it has several categories, and the interface cannot divide them anew; it can "
                "move the uncategorized part as a whole: client.recategorize_transaction(..., category_ledger_id=...)"
            )
        return found


def _rows_by_id(ids: Iterable[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = defaultdict(list)
    for row, one in enumerate(ids):
        rows[one].append(row)
    return dict(rows)
