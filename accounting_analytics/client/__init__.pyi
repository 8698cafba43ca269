from .connect import connect
from .credentials import ClientCredentials, TokenFile
from .ledger_client import LedgerClient
from .rate_limiter import Quota
from .transport import Deadline

__all__ = ["ClientCredentials", "Deadline", "LedgerClient", "Quota", "TokenFile", "connect"]
