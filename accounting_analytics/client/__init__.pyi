from .configuration import connect
from .credentials import ClientCredentials, TokenFile
from .deadline import Deadline
from .governor import Quota
from .ledger_client import LedgerClient
from .raw_responses import RawResponse

__all__ = ["ClientCredentials", "Deadline", "LedgerClient", "Quota", "RawResponse", "TokenFile", "connect"]
