"""Exports of books to files that other programs read.

The names load on first use, so that the command line can list the formats without importing pandas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
