"""Client of a Ledger Accounting Service: the four operations, credentials and configuration.

The names load on first use, so that importing the package stays fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
