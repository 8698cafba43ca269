"""Books for hledger: line entries as a journal."""

from accounting_analytics.hledger.journal import export_journal

__all__ = ["export_journal"]
