"""Pages and reports of the service, as validated frames.

Whatever comes in oddly but can be read without guessing (float dust, repeated lines, nested balances) is put right,
counted, and said in ``frame.attrs["notes"]`` or ``report.notes``. Anything else is refused, naming ledger, line and
field. A load ends with every line, or with an error: never with fewer lines and no word.

The names load on first use: pandas takes longer to import than a page to come.
"""

from accounting_analytics.first_use import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
