"""Verify after a run that the report changed by exactly the amounts the plan predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.errors import BooksDoNotTieError
from accounting_analytics.recategorization.outcomes import IN_BOOKS, require_outcomes_of
from accounting_analytics.recategorization.plan import Plan, require_plan
from accounting_analytics.recategorization.report_change import compare_report_change

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport


def verify_report_change(
    plan: Plan, before: CashFlowReport, after: CashFlowReport, *, outcomes: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Compare the reports before and after a run with what the plan predicted.

    Parameters
    ----------
    plan : Plan
        The plan that was applied.
    before, after : CashFlowReport
        The same period, untagged.
    outcomes : DataFrame, optional
        Result of :func:`apply_plan`; items that are not done are then expected to be unchanged.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.ReportChanges`, one row per ledger that changed.

    Raises
    ------
    InputError
        An argument is of another type, the reports are of different periods or filtered by tags, or the outcomes
        belong to another plan.
    BooksDoNotTieError
        A balance changed, or a ledger changed by another amount than predicted; the message has the first cause.
        :func:`compare_report_change` returns all.
    """
    change = compare_report_change(_completed_part(plan, outcomes), before, after)
    reasons = change.reasons()
    if reasons:
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        msg = f"the report of {change.period} did not change as planned: {reasons[0]}{more}"
        raise BooksDoNotTieError(msg)
    return change.changes


def _completed_part(plan: Plan, outcomes: pd.DataFrame | None) -> Plan:
    """Part of a plan whose changes are in the books."""
    require_plan(plan)
    if outcomes is None:
        return plan
    in_books = require_outcomes_of(plan, outcomes)["outcome"].isin(IN_BOOKS).to_numpy()
    return Plan(plan.frame[in_books], instance_id=plan.instance_id)
