from .app import ServiceOptions
from .audit_log import list_changes
from .database import Store
from .how_to_connect import connection_lines
from .imports.import_books import ImportSummary, import_books, store_to_fill
from .instances import (
    NewInstance,
    choose_instance,
    create_instance,
    issue_token,
    list_tokens,
    port_of,
    revoke_token,
    save_new_token,
    set_tier,
)
from .ledgers import list_ledgers, rename_ledger
from .server import running, serve

__all__ = [
    "ImportSummary",
    "NewInstance",
    "ServiceOptions",
    "Store",
    "choose_instance",
    "connection_lines",
    "create_instance",
    "import_books",
    "issue_token",
    "list_changes",
    "list_ledgers",
    "list_tokens",
    "port_of",
    "rename_ledger",
    "revoke_token",
    "running",
    "save_new_token",
    "serve",
    "set_tier",
    "store_to_fill",
]
