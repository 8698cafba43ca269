"""The embedded service: the interface in full over the books of an SQLite or PostgreSQL database, and imports of books.

The names load on first use, so that printing help stays fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
