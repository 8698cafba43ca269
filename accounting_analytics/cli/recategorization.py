"""Commands that take a plan to the books: preview, apply, verify."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.connection import service
from accounting_analytics.cli.options import AsJson, EndDate, Profile, StartDate, TimeZone, UseDemo
from accounting_analytics.cli.output import print_frame, print_mapping, say, say_notes
from accounting_analytics.errors import PlanError, RecategorizationIncompleteError

if TYPE_CHECKING:
    from datetime import date

    import pandas as pd

    from accounting_analytics.recategorization import Plan

Journal = Annotated[Path, typer.Option("--journal", help="Journal of the run; written before each change.")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file that `plan` wrote.", show_default=False)]


def preview(
    plan: PlanFile,
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Show what a plan would change in the cash flow report; writes nothing."""
    planned = aa.Plan.load(plan)
    with service(profile, time_zone, use_demo=use_demo) as (client, zone):
        planned.require_instance(client.instance_id)
        reported = aa.load_cash_flow_report(client, start_date, end_date, time_zone=zone)
    previewed = planned.preview(reported)
    say_notes(previewed)
    print_frame(previewed, as_json=as_json)


def apply(
    plan: PlanFile,
    journal: Journal,
    modified_by: Annotated[str | None, typer.Option("--modified-by", help="Who, for the audit log.")] = None,
    profile: Profile = None,
    *,
    confirm: Annotated[bool, typer.Option("--confirm", help="Change the books; without it nothing is sent.")] = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Carry out a plan: a dry run unless --confirm is given; the same journal resumes an interrupted run.

    After a confirmed run the report of the days the plan spans is shown before and after, and must have changed as
    planned and by nothing else.
    """
    planned = aa.Plan.load(plan)
    with service(profile, use_demo=use_demo) as (client, zone):
        days = _days_of(planned)
        before = aa.load_cash_flow_report(client, *days, time_zone=zone)
        outcomes = aa.apply_plan(client, planned, journal=journal, confirm=confirm, modified_by=modified_by)
        after = aa.load_cash_flow_report(client, *days, time_zone=zone) if confirm else before
    if as_json:
        print_mapping({"outcomes": outcomes, "before": before.ledgers, "after": after.ledgers}, as_json=True)
    else:
        print_frame(outcomes, as_json=False)
    if confirm:
        changed = aa.verify_report_change(planned, before, after, outcomes=outcomes)
        if not as_json:
            print_frame(changed, as_json=False, title=f"Net cash flow, {before.period}, before and after")
    _finish_recategorization(outcomes, confirm=confirm)


def verify(plan: PlanFile, profile: Profile = None, *, use_demo: UseDemo = False, as_json: AsJson = False) -> None:
    """Read every item of a plan back and say whether the books hold it; 6 when some do not."""
    with service(profile, use_demo=use_demo) as (client, _):
        outcomes = aa.verify_plan(client, aa.Plan.load(plan))
    print_frame(outcomes, as_json=as_json)
    _finish_recategorization(outcomes, confirm=True)


def _days_of(plan: Plan) -> tuple[date, date]:
    """First and last day of a plan's transactions in any time zone."""
    moments = plan.frame["datetime"]
    if moments.empty:
        msg = "the plan has no items"
        raise PlanError(msg)
    return (moments.min() - timedelta(days=1)).date(), (moments.max() + timedelta(days=1)).date()


def _finish_recategorization(outcomes: pd.DataFrame, *, confirm: bool) -> None:
    counts = outcomes["outcome"].value_counts().to_dict()
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing to do"
    if not confirm:
        say(f"dry run, nothing was sent: {summary}; add --confirm to change the books")
        return
    open_items = {outcome: count for outcome, count in counts.items() if outcome not in {"done", "already_done"}}
    if open_items:
        msg = f"not everything is done: {summary}; the rest is safe to try again with the same journal"
        raise RecategorizationIncompleteError(msg)
    say(summary)
