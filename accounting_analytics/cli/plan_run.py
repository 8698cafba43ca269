"""One run of a plan, as `apply`, `undo` and `categorize` carry it out and report it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import typer

import accounting_analytics as aa
from accounting_analytics.cli.output import command_line, print_mapping, print_message
from accounting_analytics.cli.plan_tables import (
    print_cost,
    print_ledgers,
    print_outcomes,
    print_verdict,
    require_done,
    summarize,
    totals_tables,
)
from accounting_analytics.errors import AccountingAnalyticsError, with_context

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization import Effect, Plan


@dataclass(frozen=True)
class RunOptions:
    """How a plan is run: its journal, the name for the audit log, the time zone, which changes are made, and where."""

    journal: Path
    modified_by: str | None
    time_zone: str
    confirm: bool
    allow_irreversible: bool = False
    profile: str | None = None
    use_demo: bool = False


@dataclass(frozen=True)
class PlanRun:
    """A run of a plan that ended, and the reports of its days before and after; `unread` is why there is none after."""

    plan: Plan
    options: RunOptions
    outcomes: pd.DataFrame
    before: CashFlowReport
    after: CashFlowReport | None
    unread: AccountingAnalyticsError | None = None


def run_plan(client: LedgerClient, plan: Plan, options: RunOptions) -> PlanRun:
    """Run a plan that has items, between two reports of its days."""
    print_cost(plan)
    days, zone = _transaction_days(plan), options.time_zone
    before = aa.load_cash_flow_report(client, *days, time_zone=zone)
    with _hint_at_journal(options):
        outcomes = aa.apply_plan(
            client,
            plan,
            journal=options.journal,
            confirm=options.confirm,
            modified_by=options.modified_by,
            allow_irreversible=options.allow_irreversible,
        )
    if not options.confirm:
        return PlanRun(plan, options, outcomes, before, before)
    try:
        return PlanRun(plan, options, outcomes, before, aa.load_cash_flow_report(client, *days, time_zone=zone))
    except AccountingAnalyticsError as error:  # the outcomes are known, and must not be lost
        return PlanRun(plan, options, outcomes, before, None, error)


def print_run(
    run: PlanRun, *, limit: int | None, as_json: bool, by: str = "category", others: Mapping[str, Any] | None = None
) -> None:
    """Print a run, and with JSON the `others`; a confirmed run must have changed the report exactly as planned."""
    from accounting_analytics.recategorization import Effect

    effect = None
    if run.after is not None:
        effect = Effect.predict(run.plan.items, run.before).check(run.after, run.outcomes)
    if as_json:
        print_mapping({**_to_json(run, effect), **(others or {})}, as_json=True)
    else:
        _print_tables(run, effect, by, limit)
    if not run.options.confirm:
        would_change = (run.outcomes["outcome"] == "would_change").any()
        following = "add --confirm to change the books" if would_change else "--confirm would change nothing"
        print_message(f"dry run, nothing was sent: {summarize(run.outcomes)}; {following}")
        return
    if not run.options.use_demo and (run.outcomes["outcome"] == "done").any():
        _print_undo(run.options, incomplete=False)
    if effect is not None:
        effect.raise_for_unexpected()
    require_done(run.outcomes)
    if run.unread is not None:
        reason = "every item is done, but the report could not be loaded again, so its change is not compared"
        raise with_context(run.unread, reason)


@contextmanager
def _hint_at_journal(options: RunOptions) -> Iterator[None]:
    """Print how to resume a run that Ctrl-C interrupts, and how to take it back."""
    try:
        yield
    except KeyboardInterrupt:
        if options.confirm and options.journal.exists() and not options.use_demo:
            print_message(f"the journal {options.journal} records what is done: run the same command again to resume")
            _print_undo(options, incomplete=True)
        raise


def _print_undo(options: RunOptions, *, incomplete: bool) -> None:
    journal = options.journal.with_name(f"undo-{options.journal.name}")
    following = command_line("undo", options.journal, journal=journal, profile=options.profile, incomplete=incomplete)
    print_message(f"to take back what this run changed: {following}")


def _print_tables(run: PlanRun, effect: Effect | None, by: str, limit: int | None) -> None:
    """Print the outcomes, or the ledgers of the report, and after a confirmed run whether it is as predicted."""
    confirmed = run.options.confirm
    if by == "ledger" and effect is not None:
        typer.echo(f"{run.plan.summary(run.outcomes)}; net cash flow, {run.before.period}")
        print_ledgers(effect.frame.drop(columns="change" if confirmed else ["change", "after"]), limit)
    else:
        by = "category" if by == "ledger" else by
        print_outcomes(run.plan, run.outcomes, by=by, time_zone=run.options.time_zone, limit=limit)
    if confirmed and effect is not None:
        print_verdict(effect, limit)


def _to_json(run: PlanRun, effect: Effect | None) -> dict[str, Any]:
    """Every table of a run; what differs from the prediction only after a confirmed one."""
    tables: dict[str, Any] = {"outcomes": run.outcomes, **totals_tables(run.plan, run.outcomes)}
    tables["before"] = run.before.ledgers
    if run.after is not None and effect is not None:
        tables |= {"after": run.after.ledgers, "changes": effect.changes}
        if run.options.confirm:
            tables["differences"] = effect.differences
    return tables


def _transaction_days(plan: Plan) -> tuple[date, date]:
    """First and last day of a plan's transactions in any time zone."""
    instants = plan.frame["datetime"]
    return (instants.min() - timedelta(days=1)).date(), (instants.max() + timedelta(days=1)).date()
