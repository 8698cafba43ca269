"""Bulk recategorization: plan, preview, apply, verify, undo. The only package that changes the books."""

from accounting_analytics.recategorization.apply import apply_plan, verify_plan
from accounting_analytics.recategorization.effect import Effect
from accounting_analytics.recategorization.plan import Plan, plan_recategorization
from accounting_analytics.recategorization.undo import undo_plan

__all__ = ["Effect", "Plan", "apply_plan", "plan_recategorization", "undo_plan", "verify_plan"]
