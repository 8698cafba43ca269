"""Outcome of each item of a plan, determined from the books alone."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.errors import InputError
from accounting_analytics.schemas import Outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.recategorization.current_categories import BookedTransaction, Categories
    from accounting_analytics.recategorization.plan import Plan, PlanItem

IDENTITY = ("transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id")
"""Fields that identify an item of a plan."""
IN_BOOKS = frozenset({"done", "already_done"})
"""Outcomes of an item that the books have."""
EXPECTED_OUTCOMES = IN_BOOKS | {"would_change"}
"""Outcomes of an item that needs nothing more from a person."""
MAY_STILL_CHANGE = "the category is unchanged, but a change sent less than 60 seconds before may still be carried out"


class Outcome(NamedTuple):
    """Outcome of an item, and the reason."""

    outcome: str
    reason: str = ""


def classify_outcomes(
    items: Iterable[PlanItem], categories: Categories, done: Iterable[PlanItem] = ()
) -> dict[PlanItem, Outcome]:
    """Classify each item by the categories that its transaction has now.

    `done` are items of the plan that runs with its journal have certainly carried out.
    """
    replaced: dict[str, dict[str, str]] = defaultdict(dict)
    for item in done:
        replaced[item.journal_entry_id][item.category_ledger_id] = item.updated_category_ledger_id
    return {
        item: classify_outcome(
            item, categories.get((item.ledger_id, item.transaction_id)), replaced.get(item.journal_entry_id, {})
        )
        for item in items
    }


def refuse_unusable(outcomes: Mapping[PlanItem, Outcome], unusable: Mapping[PlanItem, str]) -> dict[PlanItem, Outcome]:
    """Outcomes with the items refused that would be changed to a category that cannot be used, and the reason."""
    return {
        item: Outcome("refused", unusable[item]) if item in unusable and found.outcome == "would_change" else found
        for item, found in outcomes.items()
    }


def classify_outcome(item: PlanItem, categories: frozenset[str] | None, replaced: Mapping[str, str]) -> Outcome:
    """Classify an item by the opposing ledgers of its transaction; None where the transaction does not exist.

    `replaced` are the categories of its journal entry that this plan has certainly replaced, and their new ones.

    The outcome is ``would_change``, ``already_done``, ``changed_elsewhere``, ``refused`` (no such transaction) or, for
    a split whose parts cannot be distinguished, ``unknown``.
    """
    if categories is None:
        return Outcome("refused", no_transaction(item))
    if item.category_ledger_id in categories:
        if _may_contain_another_part(item, categories, replaced):
            return Outcome("changed_elsewhere", describe_categories(categories))
        return Outcome("would_change")
    had_category = item.updated_category_ledger_id in item.opposing_ledger_ids
    # If the split had the new category before, its presence proves nothing: any other category that is not part of
    # the plan may be the one that replaced the expected part.
    others = categories - item.planned_ledger_ids if had_category else frozenset()
    if item.updated_category_ledger_id not in categories or others - item.opposing_ledger_ids:
        return Outcome("changed_elsewhere", describe_categories(categories))
    if others:
        return Outcome("unknown", "the split had several categories before; the books do not show which part changed")
    return Outcome("already_done")


def _may_contain_another_part(item: PlanItem, categories: frozenset[str], replaced: Mapping[str, str]) -> bool:
    """Whether another user may have moved another part of the split into the category that the item replaces.

    Then a part is gone that this plan has not replaced, no other category has appeared instead, and no other item of
    the plan joins parts.
    """
    gone = item.opposing_ledger_ids - categories - replaced.keys()
    appeared = categories - item.opposing_ledger_ids - set(replaced.values())
    joined_by_plan = item.opposing_ledger_ids & (item.planned_ledger_ids - {item.updated_category_ledger_id})
    return len(gone) > len(appeared) and not joined_by_plan


def no_transaction(transaction: BookedTransaction) -> str:
    """Reason for a transaction that is not in the books."""
    day = transaction.datetime.date()
    return f"ledger {transaction.ledger_id} has no transaction {transaction.transaction_id} on {day} (UTC)"


def describe_categories(categories: frozenset[str]) -> str:
    """Reason for a transaction with unexpected categories."""
    return f"its categories are now {', '.join(sorted(categories)) or 'none'}"


def outcomes_frame(items: Sequence[PlanItem], outcomes: Mapping[PlanItem, Outcome]) -> pd.DataFrame:
    """Outcomes as a table, in the order of the plan."""
    rows = [(*(getattr(item, name) for name in IDENTITY), *outcomes[item]) for item in items]
    return Outcomes.require_valid(pd.DataFrame(rows, columns=[*IDENTITY, *Outcome._fields], dtype="str"))


def require_outcomes_of(plan: Plan, outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes of a plan, in its order, if they belong to it.

    Raises
    ------
    InputError
        They are of another type, or belong to another plan.
    FrameError
        They are not a valid table of outcomes.
    """
    hint = "apply_plan(client, plan, ...) and verify_plan(client, plan) return them"
    require_type(outcomes, pd.DataFrame, "outcomes", hint)
    checked = Outcomes.checked(outcomes)
    identity = list(IDENTITY)
    if plan.frame[identity].to_numpy().tolist() != checked[identity].to_numpy().tolist():
        msg = "the outcomes belong to another plan; pass the result of apply_plan for this plan"
        raise InputError(msg)
    return checked
