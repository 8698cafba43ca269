"""Reconciliation of a reported cash flow report with a recomputed one."""

from accounting_analytics.reconciliation.comparison import reconcile
from accounting_analytics.reconciliation.result import Comparison, Difference, Reconciliation, describe_not_compared

__all__ = ["Comparison", "Difference", "Reconciliation", "describe_not_compared", "reconcile"]
