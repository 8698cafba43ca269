"""Changes that join a part of a split with another part: the parts cannot be distinguished afterwards.

Such a change cannot be undone, so it is refused unless it is allowed explicitly.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from accounting_analytics.recategorization.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accounting_analytics.recategorization.current_categories import Categories
    from accounting_analytics.recategorization.plan import PlanItem

_REFUSED = Outcome(
    "refused",
    "it joins this part of a split with another part, which cannot be undone; choose another new category, or allow it "
    "with allow_irreversible=True (--allow-irreversible)",
)


def joining_items(items: Iterable[PlanItem]) -> list[PlanItem]:
    """Items whose new category is that of another part of the split already, or by another item of the plan."""
    items = list(items)
    replaced: dict[tuple[str, str], set[str]] = defaultdict(set)
    for item in items:
        replaced[item.journal_entry_id, item.updated_category_ledger_id].add(item.category_ledger_id)
    return [
        item
        for item in items
        if item.updated_category_ledger_id in item.opposing_ledger_ids
        or len(replaced[item.journal_entry_id, item.updated_category_ledger_id]) > 1
    ]


def refuse_joins(
    outcomes: Mapping[PlanItem, Outcome], joining: Iterable[PlanItem], categories: Categories
) -> dict[PlanItem, Outcome]:
    """Outcomes with the items refused that would join parts, as the plan shows it or the categories in the books."""
    planned = set(joining)
    return {
        item: _REFUSED if found.outcome == "would_change" and (item in planned or _joins(item, categories)) else found
        for item, found in outcomes.items()
    }


def _joins(item: PlanItem, categories: Categories) -> bool:
    return item.updated_category_ledger_id in categories.get((item.ledger_id, item.transaction_id), ())
