"""Bulk recategorization: plan, preview, apply, verify, undo. The only package that changes the books."""

from accounting_analytics.recategorization.apply import apply_plan
from accounting_analytics.recategorization.plan import Plan, plan_recategorization
from accounting_analytics.recategorization.plan_summary import PlanSummary, summarize_plan
from accounting_analytics.recategorization.report_change import ReportChange, compare_report_change
from accounting_analytics.recategorization.report_change_check import verify_report_change
from accounting_analytics.recategorization.undo import UndoPlan, undo_plan
from accounting_analytics.recategorization.verify import verify_plan

__all__ = [
    "Plan",
    "PlanSummary",
    "ReportChange",
    "UndoPlan",
    "apply_plan",
    "compare_report_change",
    "plan_recategorization",
    "summarize_plan",
    "undo_plan",
    "verify_plan",
    "verify_report_change",
]
