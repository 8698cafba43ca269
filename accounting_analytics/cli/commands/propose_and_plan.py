"""The commands ``propose`` and ``plan``: the categories that rules and decisions give, shown or written as a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

import accounting_analytics as aa
from accounting_analytics.arguments import to_path
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import LoadOptions, load_queue
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    Checkpoint,
    DecisionFiles,
    DryRun,
    EndDate,
    LocalBooks,
    OptionalRules,
    PeriodText,
    PlanOutput,
    Profile,
    RowLimit,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, command_line, print_frame, print_message, print_notes
from accounting_analytics.cli.plan_tables import print_cost, print_totals
from accounting_analytics.cli.service_or_demo import connect_for_days, days_of_command
from accounting_analytics.cli.transaction_tables import count_names, count_transactions, print_transactions
from accounting_analytics.errors import InputError, PlanError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.categorization import Rules

_COLUMNS = {
    "description": "description",
    "amount": "amount",
    "updated_category_ledger_name": "new category",
    "rule": "rule",
    "transaction_id": "transaction_id",
}


def propose(
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    rules: OptionalRules = None,
    decisions: DecisionFiles = None,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    books: LocalBooks = None,
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
    loaded_rules, options = _read_sources(rules, decisions), LoadOptions(checkpoint, dry_run, as_json)
    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        ledgers, queue = load_queue(client, days, options)
    proposals = aa.propose(queue, loaded_rules, ledgers, decisions=decisions or [])
    print_notes(proposals)
    if as_json:
        print_frame(proposals, as_json=True)
        return
    counts = f"{count_transactions(proposals):,} of {count_transactions(queue):,}"
    summary = f"{counts} uncategorized transaction(s) get a category"
    if len(proposals):
        summary = f"{summary}: {count_names(proposals['updated_category_ledger_name'])}"
    _print_proposals(proposals, summary, days.time_zone, None if all_rows else limit)


def plan(
    output: PlanOutput,
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    rules: OptionalRules = None,
    decisions: DecisionFiles = None,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    books: LocalBooks = None,
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
        raise PlanError(f"folder {output.absolute().parent} for the plan does not exist; nothing was loaded")
    if output.absolute() in {one.absolute() for one in (rules, *(decisions or [])) if one is not None}:
        raise PlanError(
            f"--output {output} is a file of rules or decisions, which the plan would replace; give another name"
        )
    loaded_rules, options = _read_sources(rules, decisions), LoadOptions(checkpoint, dry_run, as_json)
    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        ledgers, queue = load_queue(client, days, options)
        instance_id = client.instance_id
    proposals = aa.propose(queue, loaded_rules, ledgers, decisions=decisions or [])
    print_notes(proposals)
    planned = aa.plan_recategorization(proposals, ledgers=ledgers, instance_id=instance_id)
    planned.save(output)
    if len(planned):
        print_cost(planned)
        following = command_line(
            "preview", output, **days_of_command(days, time_zone), books=books, profile=profile, demo=use_demo
        )
        print_message(f"{len(planned):,} items written to {output}; check it, then: {following}")
    else:
        print_message(f"{output} has no items: the rules and decisions fit no uncategorized transaction of the period")
    if as_json:
        print_frame(planned.frame, as_json=True)
    elif all_rows:
        _print_proposals(planned.frame, planned.summary(), days.time_zone, None)
    else:
        typer.echo(planned.summary())
        print_totals(planned.totals("category"), limit)


def _read_sources(rules: Path | None, decisions: list[Path] | None) -> Rules | None:
    """Read the files of --rules and --decisions, so that one that cannot be used is refused before the load."""
    from accounting_analytics.categorization.decision_file import read_decisions

    if rules is None and not decisions:
        raise InputError(
            "give --rules FILE, or --decisions FILE (which `queue --output FILE` writes and you fill in), or both"
        )
    for file in decisions or []:
        read_decisions(file)
    return None if rules is None else aa.load_rules(rules)


def _print_proposals(rows: pd.DataFrame, summary: str, zone: str, limit: int | None) -> None:
    """Print proposals, or items of a plan, without the ids of decided groups, which are wider than their column."""
    from accounting_analytics.categorization.proposals import BY_HAND

    short = rows.assign(rule=rows["rule"].mask(rows["rule"].str.startswith(BY_HAND), BY_HAND))
    print_transactions(short, _COLUMNS, summary=summary, time_zone=zone, limit=limit)
