"""Verify a plan: read every item back from the books."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from accounting_analytics.arguments import require_type
from accounting_analytics.client import LedgerClient
from accounting_analytics.local_books import refuse_books
from accounting_analytics.recategorization.categories_in_books import read_categories
from accounting_analytics.recategorization.changes_and_outcomes import (
    MAY_STILL_CHANGE,
    FoundOutcome,
    Outcome,
    classify_changes,
    findings_frame,
)
from accounting_analytics.recategorization.journal import read_attempts
from accounting_analytics.recategorization.plan import require_plan

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.recategorization.changes_and_outcomes import Change
    from accounting_analytics.recategorization.journal import Attempts
    from accounting_analytics.recategorization.plan import Plan

_UNCHANGED = "the category is unchanged"
_NO_JOURNAL = FoundOutcome(
    Outcome.UNKNOWN,
    f"{_UNCHANGED}; whether a change was sent is not known without the journal that the plan was applied with",
)


def verify_plan(client: LedgerClient, plan: Plan, *, journal: str | Path | None = None) -> pd.DataFrame:
    """Read every item of a plan back and state whether the books have the planned category.

    :meth:`Effect.check` checks in addition that the report changed by exactly the predicted amounts.

    Parameters
    ----------
    client : LedgerClient
        The service.
    plan : Plan
        What to verify.
    journal : path, optional
        The journal that the plan was applied with. It states when each change was sent: an unchanged item is
        ``not_done`` if that was at least 60 seconds ago, or never; until then, and without the journal, it is
        ``unknown``. It is only read.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Outcomes`: ``done``, ``not_done``, ``changed_elsewhere``, ``refused``
        (the transaction does not exist, and no change of it was sent) or ``unknown`` (see the reason).

    Raises
    ------
    InputError
        An argument is of another type.
    PlanError
        The plan is for another instance, or the journal cannot be read or belongs to another plan.
    ServiceError
        The books cannot be read.
    """
    refuse_books(client, "local books do not show what the service has now: connect to it")
    require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
    require_plan(plan)
    plan.require_instance(client.instance_id)
    _read_attempts(client, plan, journal)  # an unusable journal is refused before the books are read
    items, read_at = plan.items, dt.datetime.now(dt.UTC)
    categories = read_categories(client, items)
    attempts = _read_attempts(client, plan, journal)  # with those made in the meantime
    done = [] if attempts is None else [item for item in items if attempts.has_done(item)]
    found = classify_changes(items, categories, done)
    return findings_frame({item: _verified(item, found[item], attempts, read_at) for item in items}, items)


def _read_attempts(client: LedgerClient, plan: Plan, journal: str | Path | None) -> Attempts | None:
    if journal is None:
        return None
    return read_attempts(journal, plan.plan_id, instance_id=client.instance_id, must_exist=True)


def _verified(item: Change, found: FoundOutcome, attempts: Attempts | None, read_at: dt.datetime) -> FoundOutcome:
    """Outcome of an item from the categories found and from the attempts in the journal."""
    if found.outcome == Outcome.ALREADY_DONE:
        return FoundOutcome(Outcome.DONE)
    if found.outcome == Outcome.REFUSED and attempts is not None and item in attempts:
        return FoundOutcome(Outcome.UNKNOWN, f"a change was sent, and {found.reason}")
    if found.outcome != Outcome.WOULD_CHANGE:
        return found
    if attempts is None:
        return _NO_JOURNAL
    if attempts.may_change(item, read_at):
        return FoundOutcome(Outcome.UNKNOWN, MAY_STILL_CHANGE)
    return FoundOutcome(Outcome.NOT_DONE, _UNCHANGED)
