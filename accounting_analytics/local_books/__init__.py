"""Local books: line entries and ledgers of a service in a folder, compared with its reports at every sync."""

from accounting_analytics.local_books.local_books import LocalBooks, connect, open_synced

__all__ = ["LocalBooks", "connect", "open_synced"]
