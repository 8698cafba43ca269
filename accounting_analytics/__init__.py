"""Analytics and reporting for books kept in a Ledger Accounting Service.

The public names load on first use, so that importing the package and printing help stay fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
