"""Reconciliation of a reported cash flow report with a recomputed one."""

from accounting_analytics.reconciliation.comparison import compare_reports, reconcile
from accounting_analytics.reconciliation.differences import Comparison, Difference, describe_not_compared
from accounting_analytics.reconciliation.line_comparison import COMPARED_FIELDS, have_same_lines
from accounting_analytics.reconciliation.months import differences_by_month
from accounting_analytics.reconciliation.result import Reconciliation

__all__ = [
    "COMPARED_FIELDS",
    "Comparison",
    "Difference",
    "Reconciliation",
    "compare_reports",
    "describe_not_compared",
    "differences_by_month",
    "have_same_lines",
    "reconcile",
]
