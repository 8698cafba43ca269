"""The command ``queue``: uncategorized transactions."""

from __future__ import annotations

from accounting_analytics.cli.discover_and_load import LoadOptions, load_queue
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    Checkpoint,
    DryRun,
    EndDate,
    Ledgers,
    Profile,
    RowLimit,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, print_frame, print_notes
from accounting_analytics.cli.service_connection import connect_service
from accounting_analytics.cli.transaction_tables import count_names, print_transactions

_COLUMNS = {
    "ledger_name": "account",
    "description": "description",
    "amount": "amount",
    "category_amount": "uncategorized",
    "transaction_id": "transaction_id",
}


def queue(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    ledger: Ledgers = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    *,
    all_rows: AllRows = False,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the uncategorized transactions, largest first."""
    options = LoadOptions(checkpoint, dry_run, as_json)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        _, uncategorized = load_queue(client, (start_date, end_date, zone), options, only=ledger)
    print_notes(uncategorized)
    if as_json:
        print_frame(uncategorized, as_json=True)
        return
    summary = f"{len(uncategorized):,} uncategorized transaction(s), largest first"
    if len(uncategorized):
        summary = f"{summary}: {count_names(uncategorized['ledger_name'].fillna('(no name)'))}"
    print_transactions(uncategorized, _COLUMNS, summary=summary, time_zone=zone, limit=None if all_rows else limit)
