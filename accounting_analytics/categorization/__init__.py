"""Categorization: find the uncategorized transactions, group them, and propose or suggest a category for each."""

from accounting_analytics.categorization.backtests import Backtest, backtest
from accounting_analytics.categorization.groups import group_queue
from accounting_analytics.categorization.proposals import decide, propose
from accounting_analytics.categorization.rule_report import report_rules
from accounting_analytics.categorization.rules import Rules, load_rules
from accounting_analytics.categorization.suggestions import suggest
from accounting_analytics.categorization.uncategorized_queue import uncategorized_queue

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
