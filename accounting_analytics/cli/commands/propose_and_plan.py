"""The commands ``propose`` and ``plan``: what rules, decisions and suggestions give, shown or written as a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import typer

import accounting_analytics as aa
from accounting_analytics.arguments import to_path
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import LoadOptions, load_queue, load_queue_and_history
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    Checkpoint,
    DecisionFiles,
    DryRun,
    EndDate,
    LikelyTransfers,
    LocalBooks,
    OptionalRules,
    PeriodText,
    PlanOutput,
    Precision,
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
from accounting_analytics.messages import count_of

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.categorization import Rules
    from accounting_analytics.client import LedgerClient
    from accounting_analytics.periods import Period

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
    precision: Precision = None,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    books: LocalBooks = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    *,
    transfers: LikelyTransfers = False,
    all_rows: AllRows = False,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Show the categories that rules, decisions and history give.

    Only uncategorized transactions are loaded, with --precision also those of the year before. Nothing is written.
    """
    sources = _read_sources(rules, decisions, precision, transfers=transfers)
    options = LoadOptions(checkpoint, dry_run, as_json)
    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        _, queue, proposals = _load_and_propose(client, days, options, sources)
    if as_json:
        print_frame(proposals.astype({"confidence": object} if "confidence" in proposals else {}), as_json=True)
        return
    of_all = count_of(count_transactions(queue), "uncategorized transaction")
    summary = f"{count_transactions(proposals):,} of {of_all} would get a category"
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
    precision: Precision = None,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    books: LocalBooks = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    *,
    transfers: LikelyTransfers = False,
    all_rows: AllRows = False,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Write a plan from rules, decisions and history.

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
    sources = _read_sources(rules, decisions, precision, transfers=transfers)
    options = LoadOptions(checkpoint, dry_run, as_json)
    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        ledgers, _, proposals = _load_and_propose(client, days, options, sources)
        instance_id = client.instance_id
    planned = aa.plan_recategorization(proposals, ledgers=ledgers, instance_id=instance_id)
    planned.save(output)
    if len(planned):
        print_cost(planned)
        following = command_line(
            "preview", output, **days_of_command(days, time_zone), books=books, profile=profile, demo=use_demo
        )
        print_message(f"{len(planned):,} items written to {output}; check it, then: {following}")
    else:
        print_message(f"{output} has no items: nothing that was given fits an uncategorized transaction of the period")
    if as_json:
        print_frame(planned.frame, as_json=True)
    elif all_rows:
        _print_proposals(planned.frame, planned.summary(), days.time_zone, None)
    else:
        typer.echo(planned.summary())
        print_totals(planned.totals("category"), limit)


class _Sources(NamedTuple):
    """What gives transactions a category."""

    rules: Rules | None
    decisions: list[Path]
    precision: float | None
    transfers: bool


def _read_sources(
    rules: Path | None, decisions: list[Path] | None, precision: float | None, *, transfers: bool
) -> _Sources:
    """Read the files of --rules and --decisions, so that one that cannot be used is refused before the load."""
    from accounting_analytics.categorization.decision_file import read_decisions
    from accounting_analytics.categorization.suggestions import check_precision

    if rules is None and not decisions and precision is None and not transfers:
        raise InputError(
            "give --rules FILE, --decisions FILE (which `queue --output FILE` writes and you fill in), "
            "--precision 0.98 or --transfers, or several of them"
        )
    if precision is not None:
        check_precision(precision)
    for file in decisions or []:
        read_decisions(file)
    return _Sources(None if rules is None else aa.load_rules(rules), decisions or [], precision, transfers)


def _load_and_propose(
    client: LedgerClient | aa.Books, days: Period, options: LoadOptions, sources: _Sources
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Load the chart of accounts and the queue, and propose; for suggestions the history is loaded too."""
    suggestions = None
    if sources.precision is None:
        ledgers, queue = load_queue(client, days, options)
    else:
        ledgers, queue, history = load_queue_and_history(client, days, options)
        suggestions = aa.suggest(queue, history, ledgers, precision=sources.precision)
        print_notes(suggestions)
    proposals = aa.propose(
        queue,
        sources.rules,
        ledgers,
        decisions=sources.decisions,
        suggestions=suggestions,
        transfers=sources.transfers,
    )
    print_notes(proposals)
    return ledgers, queue, proposals


def _print_proposals(rows: pd.DataFrame, summary: str, zone: str, limit: int | None) -> None:
    """Print proposals, or items of a plan, without the ids of decided groups, which are wider than their column."""
    from accounting_analytics.categorization.choices import BY_HAND

    short = rows.assign(rule=rows["rule"].mask(rows["rule"].str.startswith(BY_HAND), BY_HAND))
    print_transactions(short, _COLUMNS, summary=summary, time_zone=zone, limit=limit)
