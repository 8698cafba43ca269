"""Reconciliation of a reported cash flow report with a recomputed one."""

from accounting_analytics.reconciliation.comparison import COMPARED_FIELDS, have_same_lines, reconcile
from accounting_analytics.reconciliation.months import differences_by_month
from accounting_analytics.reconciliation.result import Comparison, Difference, Reconciliation, describe_not_compared

__all__ = [
    "COMPARED_FIELDS",
    "Comparison",
    "Difference",
    "Reconciliation",
    "describe_not_compared",
    "differences_by_month",
    "have_same_lines",
    "reconcile",
]
