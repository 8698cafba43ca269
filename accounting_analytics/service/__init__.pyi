from .app import ServiceOptions, show_access_log
from .audit_log import list_changes
from .backup import back_up, restore
from .check import check_books
from .database import Store
from .imports import ImportSummary, import_books, store_to_fill
from .instances import (
    NewInstance,
    choose_instance,
    create_instance,
    issue_token,
    list_tokens,
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
    "back_up",
    "check_books",
    "choose_instance",
    "create_instance",
    "import_books",
    "issue_token",
    "list_changes",
    "list_ledgers",
    "list_tokens",
    "rename_ledger",
    "restore",
    "revoke_token",
    "running",
    "save_new_token",
    "serve",
    "set_tier",
    "show_access_log",
    "store_to_fill",
]
