"""Changes of categories: decisions on rows of a queue, and their tables."""

from __future__ import annotations

import datetime as dt  # noqa: TC003 (read with the annotations of Change)
from collections import Counter, defaultdict
from decimal import Decimal  # noqa: TC003
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

import pandas as pd

from accounting_analytics.core.column_conversion import split_list
from accounting_analytics.core.errors import InputError, PlanError
from accounting_analytics.core.load_metadata import attach_notes
from accounting_analytics.core.messages import did_you_mean, printable, quote, shorten
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.schemas import Ledgers, Proposals
from accounting_analytics.recategorization.queue import exact_queue
from accounting_analytics.reports.books.category_ledgers import Categories, find_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.core.column_conversion import ExactFrame


NEW_CATEGORY = ("updated_category_ledger_id", "updated_category_ledger_name")
"""The two columns of a new category."""
BY_HAND = "decided by hand"
"""Value of the column ``rule`` for a decision by hand. The id of a group follows if the group was decided."""
_DECIDED = dict.fromkeys((*NEW_CATEGORY, "rule", "reason"), "str") | {"confidence": "float64"}
"""The columns of a decision with their dtypes."""
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


class OpenQueue:
    """A queue whose rows are to be decided: each row is a change that has no new category yet.

    `rows` are numbered and have exact amounts. `places` maps transaction and category to the number of a row, and the
    methods find rows by the id of a group or transaction. `chart` has the possible categories of the rows.
    """

    def __init__(self, queue: pd.DataFrame, ledgers: pd.DataFrame) -> None:
        self.queue, self.exact = queue, exact_queue(queue)
        self.ledgers = Ledgers.checked(ledgers)
        self.rows = self.exact.frame.reset_index(drop=True)
        self.chart = Categories(self.ledgers)
        self.changes = changes_of_frame(self.rows.assign(**dict.fromkeys((*NEW_CATEGORY, "rule"), "")))
        self.places = {
            (change.transaction_id, change.category_ledger_id): row for row, change in enumerate(self.changes)
        }
        self.groups, self._transactions = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for row, change in enumerate(self.changes):
            self.groups[change.group_id].append(row)
            self._transactions[change.transaction_id].append(row)

    def __contains__(self, key: str) -> bool:
        return key in self.groups or key in self._transactions

    def find(self, key: str) -> list[int]:
        """Find the rows of a group or a transaction."""
        if key not in self:
            hint = did_you_mean(key, [*self.groups, *self._transactions], most=3)
            raise InputError(
                f"{quote(key)} is neither a group nor a transaction of the queue; "
                f"{hint or 'group_queue(queue) lists the groups'}"
            )
        return self._transactions.get(key) or self.groups[key]

    def find_free(self, key: str) -> list[int]:
        """Find the rows of a group or a transaction. Refuse split transactions."""
        found = self.find(key)
        if any(self.is_split(row) for row in found):
            raise InputError(
                f"{quote(key)} is split: it has several categories, and the interface cannot divide them anew; it can "
                "move the uncategorized part as a whole: client.recategorize_transaction(..., category_ledger_id=...)"
            )
        return found

    def is_split(self, row: int) -> bool:
        """Return whether the transaction of a row has several categories."""
        return bool(self.rows["kind"][row] == "split")

    def by_hand(self, key: str) -> str:
        """Return the text of the column ``rule`` for a decision by hand."""
        return BY_HAND if key in self._transactions else f"{BY_HAND}: {key}"

    def proposals(self, chosen: Mapping[int, Change], notes: Iterable[str], *sources: pd.DataFrame) -> pd.DataFrame:
        """Tabulate the decided rows as proposals, with notes.

        `sources` are the frames, besides the queue, that the proposals were made from.
        """
        decided = self.rows.loc[sorted(chosen)]
        new = {name: [getattr(chosen[row], name) for row in decided.index] for name in _DECIDED}
        decided = decided.assign(**{name: pd.Series(new[name], decided.index, dtype=_DECIDED[name]) for name in new})
        columns = [name for name in Proposals.dtypes() if name in decided]
        table = decided[columns].reset_index(drop=True)
        proposals = Proposals.from_exact(table, self.exact.scale)
        doubts = *self.chart.parent_notes(new[NEW_CATEGORY[0]]), *self.chart.direction_notes(decided)
        attach_notes(proposals, [*notes, *doubts], self.queue, *sources)
        return proposals

    def read_proposals(self, proposals: pd.DataFrame) -> tuple[dict[int, Change], list[str]]:
        """Read proposals as changes by row, and ids that the queue lacks."""
        chosen: dict[int, Change] = {}
        absent: list[str] = []
        for proposed in changes_of_proposals(proposals, self.chart)[0]:
            row = self.places.get((proposed.transaction_id, proposed.category_ledger_id))
            if row is None:
                absent.append(proposed.transaction_id)
            else:
                category = self.chart.find_category(proposed.updated_category_ledger_id)
                chosen[row] = self.changes[row].decided(
                    category, self.chart, proposed.rule, proposed.confidence, proposed.reason
                )
        return chosen, absent


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
