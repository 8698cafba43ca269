"""The command ``queue``: uncategorized transactions."""

from __future__ import annotations

from accounting_analytics.cli.discover_and_load import LoadOptions, load_queue
from accounting_analytics.cli.options import (
    AsJson,
    Checkpoint,
    DryRun,
    EndDate,
    Ledgers,
    Profile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_frame, print_notes
from accounting_analytics.cli.service_connection import connect_service

_COLUMNS = ["datetime", "ledger_name", "description", "amount", "category_amount", "transaction_id"]


def queue(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    ledger: Ledgers = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the uncategorized transactions, largest first."""
    options = LoadOptions(checkpoint, dry_run, as_json)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        _, uncategorized = load_queue(client, (start_date, end_date, zone), options, only=ledger)
    print_notes(uncategorized)
    print_frame(uncategorized, as_json=as_json, columns=_COLUMNS)
