"""The command ``propose``: the categories that rules give to uncategorized transactions."""

from __future__ import annotations

import accounting_analytics as aa
from accounting_analytics.cli.discover_and_load import LoadOptions, load_queue
from accounting_analytics.cli.options import (
    AsJson,
    Checkpoint,
    DryRun,
    EndDate,
    Profile,
    Rules,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import PROPOSAL_COLUMNS, print_frame, print_notes
from accounting_analytics.cli.service_connection import connect_service


def propose(
    start_date: StartDate,
    end_date: EndDate,
    rules: Rules,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Show the category that rules give each transaction.

    Only uncategorized transactions are loaded, and nothing is written.
    """
    loaded_rules = aa.load_rules(rules)
    options = LoadOptions(checkpoint, dry_run, as_json)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        ledgers, uncategorized = load_queue(client, (start_date, end_date, zone), options)
    proposals = aa.propose(uncategorized, loaded_rules, ledgers)
    print_notes(proposals)
    print_frame(proposals, as_json=as_json, columns=PROPOSAL_COLUMNS)
