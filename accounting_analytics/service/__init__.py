"""The embedded service: the whole interface over a database, and imports of books.

The database is SQLite or PostgreSQL. The names load on first use, so that printing help stays fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
