"""What became of each item of a plan: judged by the books alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from accounting_analytics.schemas import Outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accounting_analytics.recategorization.current_categories import Categories
    from accounting_analytics.recategorization.plan import PlanItem


class Outcome(NamedTuple):
    """What became of an item, and why."""

    outcome: str
    reason: str = ""


def judged(items: Iterable[PlanItem], now: Categories) -> dict[PlanItem, Outcome]:
    """Judge each item by the books.

    The outcome is ``would_change``, ``already_done``, ``changed_elsewhere``, ``refused`` (no such transaction) or, for
    a split that the books cannot tell apart, ``unknown``.
    """
    return {item: _judge(item, now) for item in items}


def outcomes_frame(items: list[PlanItem], outcomes: Mapping[PlanItem, Outcome]) -> pd.DataFrame:
    """Outcomes in the plan's order."""
    columns = ["transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id"]
    rows = [(*(getattr(item, name) for name in columns), *outcomes[item]) for item in items]
    return Outcomes.checked(pd.DataFrame(rows, columns=[*columns, *Outcome._fields], dtype="str"))


def _judge(item: PlanItem, now: Categories) -> Outcome:
    categories = now.get((item.ledger_id, item.transaction_id))
    if categories is None:
        day = item.datetime.date()
        return Outcome("refused", f"ledger {item.ledger_id} has no transaction {item.transaction_id} on {day} (UTC)")
    if item.category_ledger_id in categories:
        return Outcome("would_change")
    had_it = item.updated_category_ledger_id in item.opposing_ledger_ids
    # Where the split had the new category all along, having it proves nothing: any other category that is not the
    # plan's may be where somebody else put the part that was expected.
    others = categories - item.planned_ledger_ids if had_it else frozenset()
    if item.updated_category_ledger_id not in categories or others - item.opposing_ledger_ids:
        return Outcome("changed_elsewhere", f"its categories are now {', '.join(sorted(categories)) or 'none'}")
    if others:
        return Outcome("unknown", "the split had several categories before; the books do not show which took the part")
    return Outcome("already_done")
