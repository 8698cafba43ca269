"""Items of a plan that contradict each other, or change nothing."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd


class Conflict(NamedTuple):
    """Positions of the items in the plan, and what is wrong with them."""

    positions: list[int]
    reason: str


class _Change(NamedTuple):
    """What conflicts of an item depend on."""

    transaction_id: str
    journal_entry_id: str
    category_ledger_id: str
    updated_category_ledger_id: str


def find_conflicts(frame: pd.DataFrame) -> list[Conflict]:
    """Find conflicts in :class:`~accounting_analytics.schemas.PlanItems`."""
    changes = [_Change(*row) for row in zip(*(frame[name] for name in _Change._fields), strict=True)]
    return [*_idle(changes), *_repeated(changes), *_differing(changes), *_chained(changes)]


def _idle(changes: Sequence[_Change]) -> Iterator[Conflict]:
    for position, change in enumerate(changes):
        if change.category_ledger_id == change.updated_category_ledger_id:
            reason = f"transaction {change.transaction_id} already has its new category; remove the item"
            yield Conflict([position], reason)


def _repeated(changes: Sequence[_Change]) -> Iterator[Conflict]:
    same = _grouped(changes, lambda change: (change.transaction_id, change.category_ledger_id))
    for positions in same:
        if len(positions) > 1:
            transaction_id = changes[positions[0]].transaction_id
            yield Conflict(positions, f"transaction {transaction_id} appears twice in the plan; keep one of its items")


def _differing(changes: Sequence[_Change]) -> Iterator[Conflict]:
    """Find different new categories that transactions give one category of an entry."""
    same = _grouped(changes, lambda change: (change.journal_entry_id, change.category_ledger_id))
    for positions in same:
        transactions = {changes[position].transaction_id for position in positions}
        if len(transactions) > 1 and len({changes[position].updated_category_ledger_id for position in positions}) > 1:
            yield Conflict(
                positions,
                f"journal entry {changes[positions[0]].journal_entry_id} has several transactions with the same "
                "category, and the plan gives them different new ones; give them the same new category",
            )


def _chained(changes: Sequence[_Change]) -> Iterator[Conflict]:
    """Find items that move a category to the one that another item of the entry moves away from."""
    moving = [one for one in changes if one.category_ledger_id != one.updated_category_ledger_id]
    replaced = {(one.journal_entry_id, one.category_ledger_id) for one in moving}
    for position, (_, entry, category, updated) in enumerate(changes):
        if category != updated and (entry, updated) in replaced:
            yield Conflict(
                [position],
                f"journal entry {entry}: one item moves a category to {updated} and another moves it from there, so "
                "the result would depend on their order; plan them one after the other",
            )


def _grouped(changes: Sequence[_Change], key: Callable[[_Change], tuple[str, str]]) -> list[list[int]]:
    """Positions of the changes with the same key."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for position, change in enumerate(changes):
        groups[key(change)].append(position)
    return list(groups.values())
