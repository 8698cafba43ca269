"""The command ``preview``: the effect of a plan on the cash flow report."""

from __future__ import annotations

import typer

import accounting_analytics as aa
from accounting_analytics.cli.edited_plan import resolve_plan
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    EndDate,
    PlanPath,
    Profile,
    RowLimit,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, print_first_rows, print_frame, print_notes
from accounting_analytics.cli.service_connection import connect_service

_COLUMNS = {
    "name": "ledger",
    "net_cash_flow": "net cash flow",
    "change": "change",
    "net_cash_flow_after": "net cash flow after",
    "ledger_id": "ledger_id",
}


def preview(
    plan: PlanPath,
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    *,
    all_rows: AllRows = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Show what a plan would change in the cash flow report.

    Nothing is written.
    """
    from accounting_analytics.recategorization.plan_file import PlanFile

    file = PlanFile.read(plan)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        planned = resolve_plan(client, file, zone)
        reported = aa.load_cash_flow_report(client, start_date, end_date, time_zone=zone)
    previewed = planned.preview(reported)
    print_notes(previewed)
    if as_json:
        print_frame(previewed, as_json=True)
        return
    typer.echo(f"{planned.summary()}; it changes {len(previewed):,} ledger(s) of the report of {reported.period}")
    print_first_rows(previewed, _COLUMNS, None if all_rows else limit)
