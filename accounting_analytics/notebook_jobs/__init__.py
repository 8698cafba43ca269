"""Execution of notebooks as jobs, and self-contained HTML pages of executed notebooks.

The names load on first use: copying the example notebooks needs none of their libraries.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
