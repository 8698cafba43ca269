"""Client of a Ledger Accounting Service: the four operations, and how a service is found.

The names load on first use: whoever has an address needs nothing of how one is found.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
