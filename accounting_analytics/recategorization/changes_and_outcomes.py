"""Changes of a plan: which contradict each other, which join parts of a split, and the outcome of each."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.schemas import Outcomes

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.ledger_names import LedgerNames

    Categories = Mapping[tuple[str, str], frozenset[str]]
    """Current categories of transactions, by account and transaction."""

IDENTITY = ("transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id")
"""Fields that identify a change."""
MAY_STILL_CHANGE = "the category is unchanged, but a change sent less than 60 seconds before may still be carried out"


class Change(NamedTuple):
    """A change of one category of a transaction, as it is planned, or as a journal states that it was sent.

    `opposing_ledger_ids` are the categories of the transaction before; `planned_ledger_ids` are the new categories of
    all changes of its journal entry. Names, the rule and the group are empty where they are not known.
    """

    transaction_id: str
    ledger_id: str
    category_ledger_id: str
    updated_category_ledger_id: str
    journal_entry_id: str
    datetime: dt.datetime
    opposing_ledger_ids: frozenset[str]
    planned_ledger_ids: frozenset[str] = frozenset()
    category_ledger_name: str = ""
    updated_category_ledger_name: str = ""
    rule: str = ""
    group_id: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What identifies it."""
        return self.transaction_id, self.ledger_id, self.category_ledger_id, self.updated_category_ledger_id

    @property
    def transaction(self) -> tuple[str, str]:
        """Account and transaction."""
        return self.ledger_id, self.transaction_id

    @property
    def categories(self) -> tuple[str, str]:
        """The category that it replaces, and the new one."""
        return self.category_ledger_id, self.updated_category_ledger_id

    @property
    def category_line(self) -> tuple[str, str]:
        """Journal entry and category that it replaces there."""
        return self.journal_entry_id, self.category_ledger_id


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


class FoundOutcome(NamedTuple):
    """Outcome of a change, and the reason."""

    outcome: Outcome
    reason: str = ""


class Conflict(NamedTuple):
    """Positions of changes in a plan, and what is wrong with them."""

    positions: list[int]
    reason: str


_JOINS = FoundOutcome(
    Outcome.REFUSED,
    "it joins this part of a split with another part, which cannot be undone; choose another new category, or allow it "
    "with allow_irreversible=True (--allow-irreversible)",
)


def find_conflicts(frame: pd.DataFrame) -> Iterator[Conflict]:
    """Find changes of :class:`~accounting_analytics.schemas.PlanItems` that contradict each other or change nothing."""
    names = ("transaction_id", "journal_entry_id", "category_ledger_id", "updated_category_ledger_id")
    rows = list(zip(*(frame[name] for name in names), strict=True))
    for position, (transaction_id, _, category, updated) in enumerate(rows):
        if category == updated:
            reason = f"transaction {transaction_id} already has its new category; remove the item"
            yield Conflict([position], reason)
    for positions in _repeated(rows, lambda row: (row[0], row[2])):
        yield Conflict(
            positions, f"transaction {rows[positions[0]][0]} appears twice in the plan; keep one of its items"
        )
    for positions in _repeated(rows, lambda row: (row[1], row[2])):
        if len({rows[one][0] for one in positions}) > 1 and len({rows[one][3] for one in positions}) > 1:
            yield Conflict(
                positions,
                f"journal entry {rows[positions[0]][1]} has several transactions with the same category, and the plan "
                "gives them different new ones; give them the same new category",
            )
    replaced = {(entry, category) for _, entry, category, updated in rows if category != updated}
    for position, (_, entry, category, updated) in enumerate(rows):
        if category != updated and (entry, updated) in replaced:
            yield Conflict(
                [position],
                f"journal entry {entry}: one item moves a category to {updated} and another moves it from there, so "
                "the result would depend on their order; plan them one after the other",
            )


def _repeated(
    rows: Sequence[tuple[str, str, str, str]], key: Callable[[tuple[str, str, str, str]], tuple[str, str]]
) -> list[list[int]]:
    """Positions of rows with the same key, where there are several."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for position, row in enumerate(rows):
        groups[key(row)].append(position)
    return [positions for positions in groups.values() if len(positions) > 1]


def joining_changes(changes: Iterable[Change]) -> list[Change]:
    """Find changes whose new category is that of another part of the split, already or by another change of the plan.

    The parts cannot be distinguished afterwards, so such a change cannot be undone.
    """
    changes = list(changes)
    replaced: dict[tuple[str, str], set[str]] = defaultdict(set)
    for change in changes:
        replaced[change.journal_entry_id, change.updated_category_ledger_id].add(change.category_ledger_id)
    return [
        change
        for change in changes
        if change.updated_category_ledger_id in change.opposing_ledger_ids
        or len(replaced[change.journal_entry_id, change.updated_category_ledger_id]) > 1
    ]


class Guards(NamedTuple):
    """What refuses a change before it is sent: an unusable new category, or a split that would be joined.

    `joining` are the changes that the plan shows to join parts of a split; None allows them.
    """

    unusable: Mapping[Change, str]
    joining: frozenset[Change] | None

    def refuse(self, found: Mapping[Change, FoundOutcome], categories: Categories) -> dict[Change, FoundOutcome]:
        """Refuse what would be sent and may not be, given the current categories of the transactions."""
        return {change: self._refuse(change, finding, categories) for change, finding in found.items()}

    def _refuse(self, change: Change, found: FoundOutcome, categories: Categories) -> FoundOutcome:
        if found.outcome != Outcome.WOULD_CHANGE:
            return found
        if change in self.unusable:
            return FoundOutcome(Outcome.REFUSED, self.unusable[change])
        joins = change in (self.joining or ()) or change.updated_category_ledger_id in categories[change.transaction]
        return _JOINS if self.joining is not None and joins else found


def classify_changes(
    changes: Iterable[Change], categories: Categories, done: Iterable[Change] = ()
) -> dict[Change, FoundOutcome]:
    """Classify each change by the categories that its transaction has now.

    `done` are changes of the plan that runs with its journal have certainly carried out.
    """
    replaced = replaced_categories(done)
    return {
        change: _classify(change, categories.get(change.transaction), replaced.get(change.journal_entry_id, {}))
        for change in changes
    }


def replaced_categories(changes: Iterable[Change]) -> dict[str, dict[str, str]]:
    """Categories that changes replace, and their new ones, by journal entry."""
    replaced: dict[str, dict[str, str]] = defaultdict(dict)
    for change in changes:
        replaced[change.journal_entry_id][change.category_ledger_id] = change.updated_category_ledger_id
    return replaced


def _classify(change: Change, categories: frozenset[str] | None, replaced: Mapping[str, str]) -> FoundOutcome:
    """Classify a change by the opposing ledgers of its transaction; None where the transaction does not exist.

    `replaced` are the categories of its journal entry that this plan has certainly replaced, and their new ones. The
    outcome is unknown for a split whose parts cannot be distinguished.
    """
    if categories is None:
        return FoundOutcome(Outcome.REFUSED, no_transaction(change))
    if change.category_ledger_id in categories:
        if _may_contain_another_part(change, categories, replaced):
            return FoundOutcome(Outcome.CHANGED_ELSEWHERE, describe_categories(categories))
        return FoundOutcome(Outcome.WOULD_CHANGE)
    had_category = change.updated_category_ledger_id in change.opposing_ledger_ids
    # If the split had the new category before, its presence proves nothing: any other category that is not part of
    # the plan may be the one that replaced the expected part.
    others = categories - change.planned_ledger_ids if had_category else frozenset()
    if change.updated_category_ledger_id not in categories or others - change.opposing_ledger_ids:
        return FoundOutcome(Outcome.CHANGED_ELSEWHERE, describe_categories(categories))
    if others:
        reason = "the split had several categories before; the books do not show which part changed"
        return FoundOutcome(Outcome.UNKNOWN, reason)
    return FoundOutcome(Outcome.ALREADY_DONE)


def differently_named(changes: Iterable[Change], names: LedgerNames) -> dict[Change, str]:
    """Find changes whose new category has another name in the books than in the plan, and why each is refused."""
    return {
        change: f"ledger {change.updated_category_ledger_id} is named "
        f"{quote(names.name(change.updated_category_ledger_id))} in the books, not "
        f"{quote(change.updated_category_ledger_name)}; change updated_category_ledger_id and "
        "updated_category_ledger_name together, or load the plan with ledgers= to write one and clear the other"
        for change in changes
        if change.updated_category_ledger_id in names.ids
        and change.updated_category_ledger_id not in names.matches(change.updated_category_ledger_name)
    }


def _may_contain_another_part(change: Change, categories: frozenset[str], replaced: Mapping[str, str]) -> bool:
    """Whether another user may have moved another part of the split into the category that the change replaces.

    Then a part is gone that this plan has not replaced, no other category has appeared instead, and no other change of
    the plan joins parts.
    """
    gone = change.opposing_ledger_ids - categories - replaced.keys()
    appeared = categories - change.opposing_ledger_ids - set(replaced.values())
    joined_by_plan = change.opposing_ledger_ids & (change.planned_ledger_ids - {change.updated_category_ledger_id})
    return len(gone) > len(appeared) and not joined_by_plan


def no_transaction(change: Change) -> str:
    """Reason for a transaction that is not in the books."""
    day = change.datetime.date()
    return f"ledger {change.ledger_id} has no transaction {change.transaction_id} on {day} (UTC)"


def describe_categories(categories: frozenset[str]) -> str:
    """Reason for a transaction with unexpected categories."""
    return f"its categories are now {', '.join(sorted(categories)) or 'none'}"


def findings_frame(findings: Mapping[Change, FoundOutcome], order: Iterable[Change] | None = None) -> pd.DataFrame:
    """Outcomes as a table, in the order of the plan."""
    rows = [(*change.identity, *findings[change]) for change in (findings if order is None else order)]
    return Outcomes.require_valid(pd.DataFrame(rows, columns=[*IDENTITY, *FoundOutcome._fields], dtype="str"))


def require_outcomes_of(plan: Iterable[Change], outcomes: pd.DataFrame) -> list[Outcome]:
    """Return the outcomes of the changes of a plan, in its order, if they belong to it."""
    hint = "apply_plan(client, plan, ...) and verify_plan(client, plan) return them"
    require_type(outcomes, pd.DataFrame, "outcomes", hint)
    checked = Outcomes.checked(outcomes)
    if [list(change.identity) for change in plan] != checked[list(IDENTITY)].to_numpy().tolist():
        raise InputError("the outcomes belong to another plan; pass the result of apply_plan for this plan")
    return [Outcome(text) for text in checked["outcome"]]
