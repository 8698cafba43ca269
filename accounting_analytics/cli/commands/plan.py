"""The command ``plan``: a recategorization plan from rules and decisions."""

from __future__ import annotations

import typer

import accounting_analytics as aa
from accounting_analytics.arguments import to_path
from accounting_analytics.cli.discover_and_load import LoadOptions
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    Checkpoint,
    DecisionFiles,
    DryRun,
    EndDate,
    OptionalRules,
    PlanOutput,
    Profile,
    RowLimit,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, command_line, print_frame, print_message
from accounting_analytics.cli.plan_tables import print_cost, print_totals
from accounting_analytics.cli.proposal_sources import ProposalSources, print_proposals
from accounting_analytics.cli.service_connection import connect_service
from accounting_analytics.errors import PlanError


def plan(
    start_date: StartDate,
    end_date: EndDate,
    output: PlanOutput,
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
    """Write a plan from rules, decisions by hand, or both.

    The books do not change.
    """
    from accounting_analytics.recategorization.plan_file import require_writable_format

    require_writable_format(to_path(output, "--output"))
    if not dry_run and not output.absolute().parent.is_dir():
        msg = f"folder {output.absolute().parent} for the plan does not exist; nothing was loaded"
        raise PlanError(msg)
    if output.absolute() in {one.absolute() for one in (rules, *(decisions or [])) if one is not None}:
        msg = f"--output {output} is a file of rules or decisions, which the plan would replace; give another name"
        raise PlanError(msg)
    sources = ProposalSources.load(rules, decisions)
    options = LoadOptions(checkpoint, dry_run, as_json)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        ledgers, _, proposals = sources.propose(client, (start_date, end_date, zone), options)
        planned = aa.plan_recategorization(proposals, ledgers=ledgers, instance_id=client.instance_id)
    planned.save(output)
    if len(planned):
        print_cost(planned)
        days = {"start_date": start_date, "end_date": end_date, "time_zone": time_zone}
        following = command_line("preview", output, **days, profile=profile, demo=use_demo)
        print_message(f"{len(planned):,} items written to {output}; check it, then: {following}")
    else:
        print_message(f"{output} has no items: the rules and decisions fit no uncategorized transaction of the period")
    if as_json:
        print_frame(planned.frame, as_json=True)
    elif all_rows:
        print_proposals(planned.frame, summary=planned.summary(), time_zone=zone, limit=None)
    else:
        typer.echo(planned.summary())
        print_totals(planned.totals("category"), limit)
