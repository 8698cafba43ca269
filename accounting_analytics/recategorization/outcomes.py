"""Outcomes of changes, by the service's response and what the books show."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.schemas import Outcomes
from accounting_analytics.recategorization.changes import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from accounting_analytics.recategorization.changes import Change


class Outcome(StrEnum):
    """The outcome of a change."""

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
"""Outcomes that need no further action of a person."""


class Response(StrEnum):
    """The response to the last request of a change, in this run or in earlier runs."""

    NOT_SENT = "not sent"
    CONFIRMED = "confirmed"
    LOST = "lost"
    REFUSED = "refused"
    REFUSED_NOW = "refused for now"
    CONFIRMED_EARLIER = "confirmed in an earlier run"
    LOST_EARLIER = "lost in an earlier run"


class Shown(StrEnum):
    """The category that the books show for a change when the books are read."""

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
"""Outcome by the response and by what the books show. ``.github/ARCHITECTURE.md`` has the same table."""


def compare_with_books(
    change: Change, now: Collection[str] | None, planned: Iterable[Change], has_done: Callable[[Change], bool]
) -> Shown:
    """Compare the categories of a transaction with a change of the transaction.

    `now` has the categories of the transaction, or is None if it does not exist. `planned` are all planned changes of
    its journal entry. Every part of a split must have its previous category or the new category of the plan, and the
    transaction must have no other category. Parts that the plan joins are certain only if the transaction has exactly
    the categories that the journal leads to.
    """
    if now is None:
        return Shown.ABSENT
    category, updated = change.category_ledger_id, change.updated_category_ledger_id
    parts = {part: part for part in change.previous_categories}
    done = set()
    for planned_change in planned:
        if planned_change.category_ledger_id in parts:
            parts[planned_change.category_ledger_id] = planned_change.updated_category_ledger_id
            done |= {planned_change.category_ledger_id} if has_done(planned_change) else set()
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


def outcomes_frame(found: Mapping[Change, tuple[Outcome, str]]) -> pd.DataFrame:
    """Tabulate the outcomes and reasons of a plan's changes, in its order."""
    rows = [(*change.identity, *of_change) for change, of_change in found.items()]
    return Outcomes.require_valid(pd.DataFrame(rows, columns=[*IDENTITY, "outcome", "reason"], dtype="str"))


def require_outcomes_of(plan: Iterable[Change], outcomes: pd.DataFrame) -> list[Outcome]:
    """Return the outcomes of a plan, in the order of its items. Refuse outcomes of another plan."""
    checked = Outcomes.checked(outcomes)
    if [list(change.identity) for change in plan] != checked[list(IDENTITY)].to_numpy().tolist():
        raise InputError("the outcomes belong to another plan; pass the result of apply_plan for this plan")
    return [Outcome(text) for text in checked["outcome"]]
