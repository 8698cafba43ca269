"""The command ``preview``: the effect of a plan on the cash flow report."""

from __future__ import annotations

import accounting_analytics as aa
from accounting_analytics.cli.options import AsJson, EndDate, PlanFile, Profile, StartDate, TimeZone, UseDemo
from accounting_analytics.cli.output import print_frame, print_notes
from accounting_analytics.cli.service_connection import connect_service

_COLUMNS = ["name", "net_cash_flow", "change", "net_cash_flow_after", "ledger_id"]


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
    """Show what a plan would change in the cash flow report.

    Nothing is written.
    """
    from accounting_analytics.recategorization.category_check import require_usable_categories

    planned = aa.Plan.load(plan)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        planned.require_instance(client.instance_id)
        require_usable_categories(client, planned)
        reported = aa.load_cash_flow_report(client, start_date, end_date, time_zone=zone)
    previewed = planned.preview(reported)
    print_notes(previewed)
    print_frame(previewed, as_json=as_json, columns=_COLUMNS)
