"""A small company with books from a fixed seed, on an embedded service.

The names load on first use: serving the company needs neither charts nor notebooks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
