"""Changes of a plan: what contradicts each other, what the books show of each, and the outcome that follows."""

from __future__ import annotations

import datetime as dt  # noqa: TC003 (msgspec reads the annotations)
from collections import Counter, defaultdict
from decimal import Decimal  # noqa: TC003
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec
import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.column_conversion import split_list
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import printable, shorten
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.schemas import Outcomes, PlanItems

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence


IDENTITY = ("transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id")
"""Fields that identify a change."""
_MAX_NAMED = 3
_PAYEE_WIDTH = 30


class Change(NamedTuple):
    """A change of one category of a transaction: a row of a plan and of its file, and a line of a journal.

    The fields are the columns of :class:`~accounting_analytics.schemas.PlanItems`. `opposing_ledger_ids` are all
    categories of the transaction before; the name of the category that is replaced is empty where it is not known.
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

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Change of a line of a journal, where instants and amounts are text."""
        return msgspec.convert([fields[name] for name in cls._fields], cls)

    @property
    def identity(self) -> tuple[str, ...]:
        """What identifies it."""
        return tuple(getattr(self, name) for name in IDENTITY)

    @property
    def transaction(self) -> tuple[str, str]:
        """Account and transaction."""
        return self.ledger_id, self.transaction_id

    @property
    def category_line(self) -> tuple[str, str]:
        """Journal entry and category that it replaces there."""
        return self.journal_entry_id, self.category_ledger_id

    @property
    def previous_categories(self) -> set[str]:
        """All categories of the transaction before."""
        return {self.category_ledger_id} | (split_list(self.opposing_ledger_ids) or set())


def changes_of_frame(frame: pd.DataFrame) -> tuple[Change, ...]:
    """Return the changes of the exact rows of :class:`~accounting_analytics.schemas.PlanItems`."""
    columns: list[list[Any]] = [frame[name].tolist() for name in PlanItems.dtypes()]
    return tuple(Change(*row) for row in zip(*columns, strict=True))


def to_frame(changes: Sequence[Change], scale: int, *, as_decimals: bool) -> pd.DataFrame:
    """Return changes as :class:`~accounting_analytics.schemas.PlanItems`."""
    columns = {name: [getattr(change, name) for change in changes] for name in PlanItems.dtypes()}
    return PlanItems.from_columns(columns, scale, as_decimals=as_decimals)


class Outcome(StrEnum):
    """What became of a change."""

    WOULD_CHANGE = "would_change"
    DONE = "done"
    ALREADY_DONE = "already_done"
    CHANGED_ELSEWHERE = "changed_elsewhere"
    REFUSED = "refused"
    NOT_DONE = "not_done"
    UNKNOWN = "unknown"


IN_BOOKS = frozenset({Outcome.DONE, Outcome.ALREADY_DONE})
"""Outcomes of a change that the books have."""
EXPECTED_OUTCOMES = IN_BOOKS | {Outcome.WOULD_CHANGE}
"""Outcomes of a change that needs nothing more from a person."""


class Response(StrEnum):
    """The response to a change: to its last request, or what a journal states about earlier runs."""

    NOT_SENT = "not sent"
    CONFIRMED = "confirmed"
    LOST = "lost"
    REFUSED = "refused"
    REFUSED_NOW = "refused for now"
    CONFIRMED_EARLIER = "confirmed in an earlier run"
    LOST_EARLIER = "lost in an earlier run"


class Shown(StrEnum):
    """What the books show of a change when they are read."""

    NEW = "new category"
    PREVIOUS = "previous category"
    ANOTHER = "another category"
    UNCLEAR = "unclear parts"
    ABSENT = "no transaction"
    UNREAD = "not read"


_TABLE = {
    Response.NOT_SENT: "already_done would_change changed_elsewhere unknown refused not_done",
    Response.CONFIRMED: "done not_done changed_elsewhere unknown unknown done",
    Response.LOST: "done not_done changed_elsewhere unknown unknown unknown",
    Response.REFUSED: "already_done refused changed_elsewhere unknown refused refused",
    Response.REFUSED_NOW: "already_done not_done changed_elsewhere unknown refused not_done",
    Response.CONFIRMED_EARLIER: "already_done changed_elsewhere changed_elsewhere unknown unknown unknown",
    Response.LOST_EARLIER: "already_done unknown changed_elsewhere unknown unknown unknown",
}
OUTCOMES = {
    response: dict(zip(Shown, map(Outcome, outcomes.split()), strict=True)) for response, outcomes in _TABLE.items()
}
"""Outcome by the response and by what the books show; ``.github/ARCHITECTURE.md`` has the same table."""


class FoundOutcome(NamedTuple):
    """Outcome of a change, and the reason."""

    outcome: Outcome
    reason: str = ""


def find_conflicts(changes: Sequence[Change]) -> Iterator[str]:
    """Yield why changes contradict each other, or change nothing."""
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
    """Return the changes of each journal entry."""
    of_entry: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        of_entry[change.journal_entry_id].append(change)
    return of_entry


def net_moves(moves: Iterable[tuple[str, str, int]]) -> Counter[str]:
    """Sum by ledger what moves from one ledger to another, in whole minor units."""
    moved = Counter[str]()
    for before, after, units in moves:
        moved[before] -= units
        moved[after] += units
    return moved


def updated_lines(changes: Iterable[Change]) -> dict[tuple[str, str], str]:
    """Find the new category of each category line that is changed."""
    return {change.category_line: change.updated_category_ledger_id for change in changes}


def joining_changes(changes: Iterable[Change]) -> list[Change]:
    """Find changes whose new category is that of another part of the split, already or by another change of the plan.

    The parts cannot be distinguished afterwards, so such a change cannot be undone.
    """
    changes = list(changes)
    replaced = Counter((entry, updated) for (entry, _), updated in updated_lines(changes).items())
    return [
        change
        for change in changes
        if change.updated_category_ledger_id in change.previous_categories
        or replaced[change.journal_entry_id, change.updated_category_ledger_id] > 1
    ]


def compare_with_books(
    change: Change, now: Collection[str] | None, planned: Iterable[Change], has_done: Callable[[Change], bool]
) -> Shown:
    """Find what the categories of a transaction show of a change; they are None where it does not exist.

    Every part of a split must have its previous category, or the new one that the plan gives it, and the transaction
    no other. Parts that the plan joins are certain only if the transaction has exactly the categories that the journal
    leads to. `planned` are all planned changes of its journal entry.
    """
    if now is None:
        return Shown.ABSENT
    category, updated = change.category_ledger_id, change.updated_category_ledger_id
    parts = {one: one for one in change.previous_categories}
    done = set()
    for one in planned:
        if one.category_ledger_id in parts:
            parts[one.category_ledger_id] = one.updated_category_ledger_id
            done |= {one.category_ledger_id} if has_done(one) else set()
    if not set(now) <= parts.keys() | set(parts.values()):
        return Shown.ANOTHER
    if len(set(parts.values())) == len(parts):
        is_certain = all(len({old, new} & set(now)) == 1 for old, new in parts.items())
        found = Shown.PREVIOUS if category in now else Shown.NEW
        return found if is_certain else Shown.ANOTHER
    others = {new if old in done else old for old, new in parts.items() if old != category}
    if set(now) == others | {category}:
        return Shown.PREVIOUS
    is_new = set(now) == others | {updated} and (category in done or len(now) == 1)
    return Shown.NEW if is_new else Shown.UNCLEAR


def no_transaction(change: Change) -> str:
    """Reason for a transaction that is not in the books."""
    day = change.datetime.date()
    return f"ledger {change.ledger_id} has no transaction {change.transaction_id} on {day} (UTC)"


def describe_categories(categories: Iterable[str]) -> str:
    """Reason for a transaction with unexpected categories."""
    return f"its categories are now {', '.join(sorted(categories)) or 'none'}"


def name_changes(changes: Sequence[Change]) -> str:
    """Name the first few changes by payee, day and amount, with the transaction to find them by."""
    texts = [
        f"{shorten(printable(one.description or 'no description', ' '), limit=_PAYEE_WIDTH)} on {one.datetime.date()}, "
        f"{format_amount(one.transaction_amount)} ({one.transaction_id})"
        for one in changes[:_MAX_NAMED]
    ]
    more = len(changes) - _MAX_NAMED
    return "; ".join(texts) + (f"; and {more:,} more" if more > 0 else "")


def outcomes_frame(found: Mapping[Change, FoundOutcome], order: Iterable[Change] | None = None) -> pd.DataFrame:
    """Outcomes as a table, in the order of the plan."""
    rows = [(*change.identity, *found[change]) for change in (found if order is None else order)]
    return Outcomes.require_valid(pd.DataFrame(rows, columns=[*IDENTITY, *FoundOutcome._fields], dtype="str"))


def require_outcomes_of(plan: Iterable[Change], outcomes: pd.DataFrame) -> list[Outcome]:
    """Return the outcomes of the changes of a plan, in its order, if they belong to it."""
    hint = "apply_plan(client, plan, ...) and verify_plan(client, plan) return them"
    require_type(outcomes, pd.DataFrame, "outcomes", hint)
    checked = Outcomes.checked(outcomes)
    if [list(change.identity) for change in plan] != checked[list(IDENTITY)].to_numpy().tolist():
        raise InputError("the outcomes belong to another plan; pass the result of apply_plan for this plan")
    return [Outcome(text) for text in checked["outcome"]]
