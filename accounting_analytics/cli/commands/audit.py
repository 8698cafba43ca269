"""The commands ``audit``: the audit log in a database of the embedded service."""

from __future__ import annotations

import typer

from accounting_analytics.cli.options import (
    AsJson,
    AuditEndDate,
    AuditStartDate,
    ChangedBy,
    ChangedTransaction,
    Database,
    Instance,
    MaxChanges,
    TimeZone,
)
from accounting_analytics.cli.output import print_message, print_rows
from accounting_analytics.cli.service_connection import configured_zone

_OPTIONAL = ["before_ids", "after_ids", "number", "actor", "operation", "transaction_id"]

audit = typer.Typer(help="The audit log in a database of the embedded service.", no_args_is_help=True)


@audit.command("list")
def list_changes(
    database: Database,
    instance: Instance = None,
    transaction: ChangedTransaction = None,
    modified_by: ChangedBy = None,
    start_date: AuditStartDate = None,
    end_date: AuditEndDate = None,
    time_zone: TimeZone = None,
    limit: MaxChanges = 50,
    *,
    as_json: AsJson = False,
) -> None:
    """List changes of the books, newest first.

    Who changed which transaction when, and from which ledger to which.
    """
    from accounting_analytics.service.bookkeeping import audit_log
    from accounting_analytics.service.bookkeeping.instances import choose_instance
    from accounting_analytics.service.storage.store import Store

    chosen = audit_log.ChangeFilter(transaction, modified_by, start_date, end_date, configured_zone(time_zone))
    with Store.open(database, create=False) as store:
        changes, total = audit_log.list_changes(store, choose_instance(store, instance), chosen, limit=limit)
    print_rows(changes, as_json=as_json, optional=_OPTIONAL)
    if total > len(changes):
        print_message(f"the newest {len(changes):,} of {total:,} changes; more with --limit {total}")
