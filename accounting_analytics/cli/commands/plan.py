"""The command ``plan``: a recategorization plan from rules."""

from __future__ import annotations

import accounting_analytics as aa
from accounting_analytics.arguments import to_path
from accounting_analytics.cli.discover_and_load import LoadOptions, load_queue
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    Checkpoint,
    DryRun,
    EndDate,
    PlanOutput,
    Profile,
    RowLimit,
    Rules,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, print_frame, print_message, print_notes
from accounting_analytics.cli.service_connection import connect_service
from accounting_analytics.cli.transaction_tables import PROPOSAL_COLUMNS, count_names, print_transactions
from accounting_analytics.errors import PlanError


def plan(
    start_date: StartDate,
    end_date: EndDate,
    rules: Rules,
    output: PlanOutput,
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
    """Write a recategorization plan from rules.

    The books do not change.
    """
    to_path(output, "--output")
    if not dry_run and not output.absolute().parent.is_dir():
        msg = f"folder {output.absolute().parent} for the plan does not exist; nothing was loaded"
        raise PlanError(msg)
    loaded_rules = aa.load_rules(rules)
    options = LoadOptions(checkpoint, dry_run, as_json)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        ledgers, uncategorized = load_queue(client, (start_date, end_date, zone), options)
        proposals = aa.propose(uncategorized, loaded_rules, ledgers)
        planned = aa.plan_recategorization(proposals, ledgers=ledgers, instance_id=client.instance_id)
    print_notes(proposals)
    planned.save(output)
    next_command = f"preview {output} --start-date {start_date} --end-date {end_date}{' --demo' if use_demo else ''}"
    print_message(
        f"{len(planned.frame)} items written to {output}; check it, then: accounting-analytics {next_command}"
    )
    items = planned.frame
    if as_json:
        print_frame(items, as_json=True)
        return
    summary = planned.summary()
    if len(items):
        summary = f"{summary}: {count_names(items['updated_category_ledger_name'])}"
    print_transactions(items, PROPOSAL_COLUMNS, summary=summary, time_zone=zone, limit=None if all_rows else limit)
