from .auth import ClientCredentials, TokenFile
from .ledger_client import LedgerClient
from .rate_and_time_limits import Deadline, Quota
from .settings import connect

__all__ = ["ClientCredentials", "Deadline", "LedgerClient", "Quota", "TokenFile", "connect"]
