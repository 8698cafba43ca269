"""Client of a Ledger Accounting Service: the four operations, and how a service is found."""

from accounting_analytics.client.configuration import connect
from accounting_analytics.client.ledger_client import LedgerClient

__all__ = ["LedgerClient", "connect"]
