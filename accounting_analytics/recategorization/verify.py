"""Reading a plan back: whether the books hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.recategorization.current_categories import categories_now
from accounting_analytics.recategorization.outcomes import Outcome, judged, outcomes_frame

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization.plan import Plan

_VERDICTS = {
    "already_done": Outcome("done"),
    "would_change": Outcome("not_done", "the category is still the old one"),
}


def verify_plan(client: LedgerClient, plan: Plan) -> pd.DataFrame:
    """Read every item of a plan back and say whether the books hold it.

    Whether the report changed by exactly what was predicted is
    :func:`~accounting_analytics.recategorization.verify_report_change`'s question.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Outcomes`: ``done``, ``not_done``, ``changed_elsewhere``, ``refused``
        (the transaction is not there) or ``unknown`` (the books cannot tell, see the reason).

    Raises
    ------
    PlanError
        The plan is for another instance.
    ServiceError
        The books cannot be read.
    """
    plan.require_instance(client.instance_id)
    items = plan.items
    found = judged(items, categories_now(client, items))
    return outcomes_frame(items, {item: _VERDICTS.get(one.outcome, one) for item, one in found.items()})
