"""The commands ``ledgers``: ledgers in a database of the embedded service."""

from __future__ import annotations

import typer

from accounting_analytics.cli.options import AsJson, Database, Instance, LedgerToRename, ModifiedBy, NewName
from accounting_analytics.cli.output import print_message, print_rows

_OPTIONAL = ["name", "is_required", "debit_credit", "sub_type", "sort_code", "report_cash_flow", "type"]

ledgers = typer.Typer(help="Ledgers in a database of the embedded service.", no_args_is_help=True)


@ledgers.command("list")
def list_ledgers(database: Database, instance: Instance = None, *, as_json: AsJson = False) -> None:
    """List the ledgers of an instance with their ids and paths."""
    from accounting_analytics.service.bookkeeping import ledger_list
    from accounting_analytics.service.bookkeeping.instances import choose_instance
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        listed = ledger_list.list_ledgers(store, choose_instance(store, instance))
    print_rows(listed, as_json=as_json, optional=_OPTIONAL)


@ledgers.command("rename")
def rename_ledger(
    database: Database,
    ledger: LedgerToRename,
    name: NewName,
    instance: Instance = None,
    modified_by: ModifiedBy = None,
) -> None:
    """Change the name of a ledger, also of a required one.

    The audit log keeps the old name.
    """
    from accounting_analytics.messages import quote
    from accounting_analytics.service.bookkeeping import ledger_list
    from accounting_analytics.service.bookkeeping.instances import choose_instance
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        chosen = choose_instance(store, instance)
        before = ledger_list.rename_ledger(store, chosen, ledger, name, modified_by=modified_by)
    print_message(f"ledger {before.id}: {quote(before.name)} is now {quote(name)}")
