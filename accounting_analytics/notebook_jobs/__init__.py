"""Notebooks executed as jobs, and self-contained HTML pages.

The names load on first use: a page of figures needs no notebook.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
