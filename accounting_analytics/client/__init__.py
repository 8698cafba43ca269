"""Client of a Ledger Accounting Service: the four operations, and how a service is found.

The names load on first use: whoever has an address needs nothing of how one is found.
"""

from accounting_analytics.first_use import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
