"""Client of a Ledger Accounting Service: the four operations, and how a service is found."""

from accounting_analytics.client.configuration import connect
from accounting_analytics.client.credentials import ClientCredentials, TokenFile
from accounting_analytics.client.deadline import Deadline
from accounting_analytics.client.governor import Quota
from accounting_analytics.client.ledger_client import LedgerClient
from accounting_analytics.client.raw_responses import RawResponse

__all__ = ["ClientCredentials", "Deadline", "LedgerClient", "Quota", "RawResponse", "TokenFile", "connect"]
