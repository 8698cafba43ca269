"""Verify after a run that the report changed by exactly the amounts the plan predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.errors import BooksDoNotTieError
from accounting_analytics.frame_columns import split_lists
from accounting_analytics.messages import join_ids
from accounting_analytics.recategorization.outcomes import IN_BOOKS
from accounting_analytics.recategorization.report_change import compare_report_change, reasons

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.recategorization.plan import Plan
    from accounting_analytics.recategorization.report_change import ReportChange

_MAX_REASONS = 3
_NOT_OF_THE_PLAN = (
    "No transaction of the plan is part of this, so it is not from its run: ask who changed the books of these days in "
    "the meantime; undoing the run takes back its own changes only"
)
_OF_THE_PLAN = (
    "{count} transaction(s) of the plan are part of this ({ids}): verify the plan with its journal, which reads them "
    "again; other users may have changed them since, and undoing leaves those alone"
)


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
        A balance changed, or a ledger changed by another amount than predicted; the message has the first causes, and
        whether transactions of the plan are among them. :func:`compare_report_change` returns all.
    """
    change = compare_report_change(plan, before, after, outcomes=outcomes)
    _require_none(change.differences if outcomes is None else change.unexpected, change)
    return change.changes[change.changes["before"] != change.changes["after"]]


def require_planned_change(change: ReportChange, outcomes: pd.DataFrame) -> None:
    """Require that a report changed only by items of the plan, given the outcomes that it was compared with.

    Raises
    ------
    BooksDoNotTieError
        Something else changed.
    """
    in_books = int(outcomes["outcome"].isin(IN_BOOKS).sum())
    _require_none(change.unexpected, change, f"{in_books:,} of {len(outcomes):,} item(s) are in the books, but ")


def _require_none(differences: pd.DataFrame, change: ReportChange, state: str = "") -> None:
    if differences.empty:
        return
    found = reasons(differences)
    more = f" (and {len(found) - _MAX_REASONS:,} more)" if len(found) > _MAX_REASONS else ""
    ids = sorted(set(split_lists(differences["transaction_ids"])))
    origin = _OF_THE_PLAN.format(count=f"{len(ids):,}", ids=join_ids(ids, limit=3)) if ids else _NOT_OF_THE_PLAN
    msg = (
        f"{state}the report of {change.period} did not change as planned: {'; '.join(found[:_MAX_REASONS])}{more}. "
        f"{origin}"
    )
    raise BooksDoNotTieError(msg)
