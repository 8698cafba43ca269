"""Local books: line entries and ledgers of a service in a folder, compared with its reports at every sync."""

from accounting_analytics.books.books import Books, connect, open_synced

__all__ = ["Books", "connect", "open_synced"]
