"""Verify a plan: read every item back from the books."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.arguments import require_type
from accounting_analytics.client import LedgerClient
from accounting_analytics.recategorization.current_categories import read_categories
from accounting_analytics.recategorization.outcomes import Outcome, classify_outcomes, outcomes_frame
from accounting_analytics.recategorization.plan import require_plan

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.recategorization.plan import Plan

_VERIFIED = {
    "already_done": Outcome("done"),
    "would_change": Outcome("not_done", "the category is unchanged"),
}


def verify_plan(client: LedgerClient, plan: Plan) -> pd.DataFrame:
    """Read every item of a plan back and state whether the books have the planned category.

    :func:`~accounting_analytics.recategorization.verify_report_change` checks in addition that the report changed by
    exactly the predicted amounts.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Outcomes`: ``done``, ``not_done``, ``changed_elsewhere``, ``refused``
        (the transaction does not exist) or ``unknown`` (the books do not show it, see the reason).

    Raises
    ------
    InputError
        An argument is of another type.
    PlanError
        The plan is for another instance.
    ServiceError
        The books cannot be read.
    """
    require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
    require_plan(plan)
    plan.require_instance(client.instance_id)
    items = plan.items
    found = classify_outcomes(items, read_categories(client, items))
    return outcomes_frame(items, {item: _VERIFIED.get(result.outcome, result) for item, result in found.items()})
