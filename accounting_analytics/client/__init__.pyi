from .auth import ClientCredentials, TokenFile
from .http import Deadline
from .ledger_client import LedgerClient
from .retries import Quota
from .settings import connect

__all__ = ["ClientCredentials", "Deadline", "LedgerClient", "Quota", "TokenFile", "connect"]
