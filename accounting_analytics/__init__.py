"""Analytics and reporting for books kept in a Ledger Accounting Service.

The public names load on first use, so that importing the package and asking for help stay fast.
"""

from accounting_analytics.first_use import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
