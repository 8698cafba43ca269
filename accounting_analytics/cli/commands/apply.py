"""The command ``apply``: change the books as planned."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import typer

import accounting_analytics as aa
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    Confirm,
    Journal,
    ModifiedBy,
    PlanFile,
    Profile,
    RowLimit,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, print_first_rows, print_mapping, print_message
from accounting_analytics.cli.plan_outcomes import print_outcomes, require_done, summarize
from accounting_analytics.cli.service_connection import connect_service
from accounting_analytics.errors import PlanError

if TYPE_CHECKING:
    from datetime import date

    from accounting_analytics.recategorization import Plan

_CHANGE_COLUMNS = {
    "name": "ledger",
    "before": "before",
    "predicted": "predicted",
    "after": "after",
    "ledger_id": "ledger_id",
}


def apply(
    plan: PlanFile,
    journal: Journal,
    modified_by: ModifiedBy = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    *,
    all_rows: AllRows = False,
    confirm: Confirm = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Change the books as planned; a dry run without --confirm.

    The same journal resumes an interrupted run. After a confirmed run the report of the days of the plan is shown
    before and after, and must have changed exactly as planned.
    """
    rows = None if all_rows else limit
    planned = aa.Plan.load(plan)
    with connect_service(profile, use_demo=use_demo) as (client, zone):
        days = _transaction_days(planned)
        before = aa.load_cash_flow_report(client, *days, time_zone=zone)
        outcomes = aa.apply_plan(client, planned, journal=journal, confirm=confirm, modified_by=modified_by)
        after = aa.load_cash_flow_report(client, *days, time_zone=zone) if confirm else before
    if as_json:
        print_mapping({"outcomes": outcomes, "before": before.ledgers, "after": after.ledgers}, as_json=True)
    else:
        print_outcomes(planned, outcomes, time_zone=zone, limit=rows)
    if not confirm:
        print_message(f"dry run, nothing was sent: {summarize(outcomes)}; add --confirm to change the books")
        return
    changed = aa.verify_report_change(planned, before, after, outcomes=outcomes)
    if not as_json:
        typer.echo(f"Net cash flow, {before.period}, before and after: {len(changed):,} ledger(s) changed")
        print_first_rows(changed, _CHANGE_COLUMNS, rows)
    require_done(outcomes)


def _transaction_days(plan: Plan) -> tuple[date, date]:
    """First and last day of a plan's transactions in any time zone."""
    instants = plan.frame["datetime"]
    if instants.empty:
        msg = "the plan has no items"
        raise PlanError(msg)
    return (instants.min() - timedelta(days=1)).date(), (instants.max() + timedelta(days=1)).date()
