"""Reconciliation of a reported cash flow report with a recomputed one."""

from accounting_analytics.reconciliation.differences import Comparison, Difference
from accounting_analytics.reconciliation.reconciliation import (
    Reconciliation,
    compare_reports,
    describe_not_compared,
    differences_by_month,
    reconcile,
)

__all__ = [
    "Comparison",
    "Difference",
    "Reconciliation",
    "compare_reports",
    "describe_not_compared",
    "differences_by_month",
    "reconcile",
]
