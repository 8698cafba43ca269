"""Reconciliation of a reported cash flow report with a recomputed one."""

from accounting_analytics.reconciliation.comparison import compare_reports, reconcile
from accounting_analytics.reconciliation.differences import Comparison, Difference, describe_not_compared
from accounting_analytics.reconciliation.result import Reconciliation, differences_by_month

__all__ = [
    "Comparison",
    "Difference",
    "Reconciliation",
    "compare_reports",
    "describe_not_compared",
    "differences_by_month",
    "reconcile",
]
