"""Changes of categories: decisions on rows of a queue, and their tables."""

from __future__ import annotations

import datetime as dt  # noqa: TC003 (read with the annotations of Change)
from collections import Counter, defaultdict
from decimal import Decimal  # noqa: TC003
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

from accounting_analytics.core.column_conversion import split_list
from accounting_analytics.core.errors import PlanError
from accounting_analytics.core.messages import printable, shorten
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.schemas import Proposals
from accounting_analytics.reports.books.category_ledgers import Categories, find_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from accounting_analytics.core.column_conversion import ExactFrame


NEW_CATEGORY = ("updated_category_ledger_id", "updated_category_ledger_name")
"""The two columns of a new category."""
BY_HAND = "decided by hand"
"""Value of the column ``rule`` for a decision by hand. The id of a group follows if the group was decided."""
IDENTITY = ("transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id")
"""Fields that identify a change."""
_MAX_NAMED = 3
_PAYEE_WIDTH = 30


class Change(NamedTuple):
    """A change of one category of a transaction, as a rule, a person or the history decides it.

    A plan is a list of changes. Most fields are columns of :class:`~accounting_analytics.schemas.PlanItems`, of a plan
    file and of a journal. `updated_category_ledger_id` is empty where nothing is decided. `rule` says why: the rule, or
    who decided. `opposing_ledger_ids` are all categories of the transaction before the change. `category_ledger_name`
    is the name of the category that is replaced, or empty if it is not known. `confidence` is the share of such
    suggestions that were right in the past, and `reason` is the reason of the suggestion.
    """

    transaction_id: str
    ledger_id: str
    journal_entry_id: str
    datetime: dt.datetime
    description: str
    transaction_amount: Decimal
    uncategorized_amount: Decimal
    category_ledger_id: str
    updated_category_ledger_id: str
    updated_category_ledger_name: str
    rule: str
    group_id: str
    opposing_ledger_ids: str
    category_ledger_name: str = ""
    confidence: float | None = None
    reason: str | None = None

    def decided(
        self, category: str, chart: Categories, rule: str, confidence: float | None = None, reason: str | None = None
    ) -> Self:
        """Return the change with a new category of a chart of accounts."""
        return self._replace(
            updated_category_ledger_id=category,
            updated_category_ledger_name=chart.names.name(category),
            rule=rule,
            confidence=confidence,
            reason=reason,
        )

    @property
    def is_right(self) -> bool:
        """True if the transaction already has the new category."""
        return self.updated_category_ledger_id == self.category_ledger_id

    @property
    def identity(self) -> tuple[str, ...]:
        """Values of the fields that identify the change."""
        return tuple(getattr(self, name) for name in IDENTITY)

    @property
    def category_line(self) -> tuple[str, str]:
        """Journal entry, and the category that the change replaces in this entry."""
        return self.journal_entry_id, self.category_ledger_id

    @property
    def previous_categories(self) -> set[str]:
        """All categories of the transaction before the change."""
        return {self.category_ledger_id} | (split_list(self.opposing_ledger_ids) or set())


def changes_of_proposals(proposals: pd.DataFrame, chart: Categories) -> tuple[list[Change], ExactFrame]:
    """Read proposals, whose categories may have been edited, as changes and exact rows."""
    Proposals.require_frame(proposals)
    texts = {name: proposals[name].fillna("").astype("str") for name in NEW_CATEGORY if name in proposals}
    exact = Proposals.exact(proposals.assign(**texts))
    changes = []
    for label, change in zip(proposals.index.tolist(), changes_of_frame(exact.frame), strict=True):
        category = find_named(
            partial(chart.find_edited, change.updated_category_ledger_id),
            change.updated_category_ledger_name,
            f"row {label} of the proposals (transaction {change.transaction_id})",
            PlanError,
        )
        changes.append(change.decided(category, chart, change.rule, change.confidence, change.reason))
    return changes, exact


def changes_of_frame(frame: pd.DataFrame) -> tuple[Change, ...]:
    """Convert exact rows with the columns of ``PlanItems`` to changes."""
    names = [name for name in Change._fields if name in frame]
    columns = [frame[name].astype(object).where(frame[name].notna(), None) for name in names]
    return tuple(Change(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))


def find_conflicts(changes: Sequence[Change]) -> Iterator[str]:
    """Yield the reasons why changes contradict each other, or change nothing."""
    items = Counter((change.transaction_id, change.category_ledger_id) for change in changes)
    for (transaction_id, _), count in items.items():
        if count > 1:
            yield f"transaction {transaction_id} appears twice in the plan; keep one of its items"
    new_of_line: dict[tuple[str, str], set[str]] = defaultdict(set)
    for change in changes:
        new_of_line[change.category_line].add(change.updated_category_ledger_id)
    for change in changes:
        entry, updated = change.journal_entry_id, change.updated_category_ledger_id
        if change.category_ledger_id == updated:
            yield f"transaction {change.transaction_id} already has its new category; remove the item"
        elif (entry, updated) in new_of_line:
            yield (
                f"journal entry {entry}: one item moves a category to {updated} and another moves it from there, so "
                "the result would depend on their order; plan them one after the other"
            )
    for (entry, _), found in new_of_line.items():
        if len(found) > 1:
            yield (
                f"journal entry {entry} has several transactions with the same category, and the plan gives them "
                "different new ones; give them the same new category"
            )


def changes_by_entry(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """Group changes by journal entry."""
    of_entry: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        of_entry[change.journal_entry_id].append(change)
    return of_entry


def net_moves(moves: Iterable[tuple[str, str, int]]) -> Counter[str]:
    """Sum moves from one ledger to another by ledger, in whole minor units."""
    moved = Counter[str]()
    for before, after, units in moves:
        moved[before] -= units
        moved[after] += units
    return moved


def updated_lines(changes: Iterable[Change]) -> dict[tuple[str, str], str]:
    """Map each changed category line to its new category."""
    return {change.category_line: change.updated_category_ledger_id for change in changes}


def joining_changes(changes: Iterable[Change]) -> list[Change]:
    """Find changes that join a part of a split with another part.

    Such a change cannot be undone, because the books no longer distinguish the joined parts.
    """
    changes = list(changes)
    replaced = Counter((entry, updated) for (entry, _), updated in updated_lines(changes).items())
    return [
        change
        for change in changes
        if change.updated_category_ledger_id in change.previous_categories
        or replaced[change.journal_entry_id, change.updated_category_ledger_id] > 1
    ]


def name_changes(changes: Sequence[Change]) -> str:
    """Name the first few changes by counterparty, day, amount and transaction."""
    texts = [
        f"{shorten(printable(change.description or 'no description', ' '), limit=_PAYEE_WIDTH)} on "
        f"{change.datetime.date()}, {format_amount(change.transaction_amount)} ({change.transaction_id})"
        for change in changes[:_MAX_NAMED]
    ]
    more = len(changes) - _MAX_NAMED
    return "; ".join(texts) + (f"; and {more:,} more" if more > 0 else "")
