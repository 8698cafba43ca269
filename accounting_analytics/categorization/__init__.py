"""Categorization: find the uncategorized transactions, group them, and propose or suggest a category for each."""

from accounting_analytics.categorization.choices import decide, propose
from accounting_analytics.categorization.groups import group_queue
from accounting_analytics.categorization.queue import uncategorized_queue
from accounting_analytics.categorization.rules import Rules, load_rules, report_rules
from accounting_analytics.categorization.suggestions import Backtest, backtest, suggest

__all__ = [
    "Backtest",
    "Rules",
    "backtest",
    "decide",
    "group_queue",
    "load_rules",
    "propose",
    "report_rules",
    "suggest",
    "uncategorized_queue",
]
