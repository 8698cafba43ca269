"""One run of a plan, as `apply`, `undo` and `categorize` carry it out and report it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import typer

import accounting_analytics as aa
from accounting_analytics.cli.output import print_first_rows, print_mapping, print_message
from accounting_analytics.cli.plan_outcomes import print_outcomes, require_done, summarize

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization import Plan

_CHANGE_COLUMNS = {
    "name": "ledger",
    "before": "before",
    "predicted": "predicted",
    "after": "after",
    "ledger_id": "ledger_id",
}


@dataclass(frozen=True)
class RunOptions:
    """How a plan is run: its journal, the name for the audit log, the time zone, and which changes are made."""

    journal: Path
    modified_by: str | None
    time_zone: str
    confirm: bool
    allow_irreversible: bool = False


@dataclass(frozen=True)
class PlanRun:
    """A run of a plan that ended, and the reports of the days of the plan before and after."""

    plan: Plan
    options: RunOptions
    outcomes: pd.DataFrame
    before: CashFlowReport
    after: CashFlowReport


def run_plan(client: LedgerClient, plan: Plan, options: RunOptions) -> PlanRun:
    """Run a plan that has items, between two reports of its days."""
    print_message(
        f"at least {len(plan):,} request(s) and {plan.minutes:.1f} minute(s) to change every item "
        "at the documented rate limit"
    )
    days, zone = _transaction_days(plan), options.time_zone
    before = aa.load_cash_flow_report(client, *days, time_zone=zone)
    outcomes = aa.apply_plan(
        client,
        plan,
        journal=options.journal,
        confirm=options.confirm,
        modified_by=options.modified_by,
        allow_irreversible=options.allow_irreversible,
    )
    after = aa.load_cash_flow_report(client, *days, time_zone=zone) if options.confirm else before
    return PlanRun(plan, options, outcomes, before, after)


def print_run(run: PlanRun, *, limit: int | None, as_json: bool, others: Mapping[str, Any] | None = None) -> None:
    """Print a run, and with JSON the `others`; a confirmed run must have changed the report exactly as planned.

    Raises
    ------
    BooksDoNotTieError
        The report changed otherwise.
    RecategorizationIncompleteError
        Some items are not done or unknown.
    """
    if as_json:
        frames = {"outcomes": run.outcomes, "before": run.before.ledgers, "after": run.after.ledgers}
        print_mapping({**frames, **(others or {})}, as_json=True)
    else:
        print_outcomes(run.plan, run.outcomes, time_zone=run.options.time_zone, limit=limit)
    if not run.options.confirm:
        print_message(f"dry run, nothing was sent: {summarize(run.outcomes)}; add --confirm to change the books")
        return
    changed = aa.verify_report_change(run.plan, run.before, run.after, outcomes=run.outcomes)
    if not as_json:
        typer.echo(f"Net cash flow, {run.before.period}, before and after: {len(changed):,} ledger(s) changed")
        print_first_rows(changed, _CHANGE_COLUMNS, limit)
    require_done(run.outcomes)


def _transaction_days(plan: Plan) -> tuple[date, date]:
    """First and last day of a plan's transactions in any time zone."""
    instants = plan.frame["datetime"]
    return (instants.min() - timedelta(days=1)).date(), (instants.max() + timedelta(days=1)).date()
