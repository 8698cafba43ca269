from .configuration import connect
from .credentials import ClientCredentials, TokenFile
from .deadline import Deadline
from .ledger_client import LedgerClient
from .rate_limiter import Quota
from .raw_responses import RawResponse

__all__ = ["ClientCredentials", "Deadline", "LedgerClient", "Quota", "RawResponse", "TokenFile", "connect"]
