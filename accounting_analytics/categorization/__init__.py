"""Categorization: find the uncategorized transactions and propose a category for each from the rules."""

from accounting_analytics.categorization.proposals import propose
from accounting_analytics.categorization.rules import Rules, load_rules
from accounting_analytics.categorization.uncategorized_queue import uncategorized_queue

__all__ = ["Rules", "load_rules", "propose", "uncategorized_queue"]
