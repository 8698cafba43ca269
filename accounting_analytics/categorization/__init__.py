"""Which transactions have no category yet, and which category the rules give them."""

from accounting_analytics.categorization.proposals import propose
from accounting_analytics.categorization.queue import uncategorized_queue
from accounting_analytics.categorization.rules import Rules, load_rules

__all__ = ["Rules", "load_rules", "propose", "uncategorized_queue"]
