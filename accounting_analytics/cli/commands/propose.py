"""The command ``propose``: the categories that rules and decisions give to uncategorized transactions."""

from __future__ import annotations

from accounting_analytics.cli.discover_and_load import LoadOptions
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    Checkpoint,
    DecisionFiles,
    DryRun,
    EndDate,
    OptionalRules,
    Profile,
    RowLimit,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, print_frame
from accounting_analytics.cli.proposal_sources import ProposalSources, print_proposals
from accounting_analytics.cli.service_connection import connect_service
from accounting_analytics.cli.transaction_tables import count_names


def propose(
    start_date: StartDate,
    end_date: EndDate,
    rules: OptionalRules = None,
    decisions: DecisionFiles = None,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    *,
    all_rows: AllRows = False,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Show the categories that rules and decisions give.

    Only uncategorized transactions are loaded, and nothing is written.
    """
    sources = ProposalSources.load(rules, decisions)
    options = LoadOptions(checkpoint, dry_run, as_json)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        _, queue, proposals = sources.propose(client, (start_date, end_date, zone), options)
    if as_json:
        print_frame(proposals, as_json=True)
        return
    summary = f"{len(proposals):,} of {len(queue):,} uncategorized transaction(s) get a category"
    if len(proposals):
        summary = f"{summary}: {count_names(proposals['updated_category_ledger_name'])}"
    print_proposals(proposals, summary=summary, time_zone=zone, limit=None if all_rows else limit)
