"""Local books: a service's line entries and ledgers in a folder, compared at every sync."""

from accounting_analytics.local_books.local_books import LocalBooks, connect, open_synced

__all__ = ["LocalBooks", "connect", "open_synced"]
