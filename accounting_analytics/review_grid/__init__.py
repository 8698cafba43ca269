"""Review: a grid in JupyterLab over the queue, where a person accepts, changes and skips what is proposed."""

from accounting_analytics.review_grid.review import Review, review

__all__ = ["Review", "review"]
