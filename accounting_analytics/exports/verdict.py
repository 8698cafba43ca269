"""How the report of an export agrees with its line entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.errors import AccountingAnalyticsError
from accounting_analytics.reconciliation import reconcile

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport


def describe_agreement(report: CashFlowReport, line_entries: pd.DataFrame, ledgers: pd.DataFrame) -> str:
    """Recompute the report from the line entries, rolled forward from its starting balances, and compare the two.

    The text does not name the period, so that it is the same for a month of it that agrees as well.
    """
    period = report.period
    try:
        recomputed = recompute_cash_flow(
            line_entries,
            ledgers,
            period.start_date,
            period.end_date,
            time_zone=period.time_zone,
            starting_balances=report.starting_balances,
            allow_partial=True,
        )
        verdict = reconcile(report, recomputed).verdict
        return f"{verdict[0].upper()}{verdict[1:]}."
    except AccountingAnalyticsError as error:
        return f"Not compared: {error}"
