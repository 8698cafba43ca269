"""The command ``preview``: the effect of a plan on the cash flow report."""

from __future__ import annotations

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import load_ledgers
from accounting_analytics.cli.edited_plan import resolve_plan
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    EndDate,
    LocalBooks,
    PeriodText,
    PlanPath,
    PreviewBy,
    Profile,
    RowLimit,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, print_mapping, print_note, print_notes
from accounting_analytics.cli.plan_tables import print_cost, print_preview, print_totals, totals_tables
from accounting_analytics.cli.service_or_demo import connect_for_days
from accounting_analytics.messages import count_of


def preview(
    plan: PlanPath,
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    books: LocalBooks = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    by: PreviewBy = "ledger",
    *,
    all_rows: AllRows = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Show what a plan would change in the cash flow report.

    Nothing is written.
    """
    from accounting_analytics.recategorization.plan_file import PlanFile, require_same_instance

    file = PlanFile.read(plan)
    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        require_same_instance(file.instance_id, client.instance_id)
        reported = aa.load_cash_flow_report(client, days.start_date, days.end_date, time_zone=days.time_zone)
        ledgers = load_ledgers(client, days)
        planned = resolve_plan(client, file, days.time_zone, ledgers=ledgers)
    effect = planned.preview(reported)
    totals = effect.totals(ledgers)
    print_cost(planned)
    for note in effect.notes:
        print_note(note)
    print_notes(totals)
    rows = None if all_rows else limit
    if as_json:
        print_mapping({"ledgers": effect.frame, "root_totals": totals, **totals_tables(planned)}, as_json=True)
    elif by == "ledger":
        typer.echo(
            f"{planned.summary()}; changes {count_of(len(effect.frame), 'ledger')} of the report of {reported.period}"
        )
        print_preview(effect.frame, totals, rows)
    else:
        typer.echo(planned.summary())
        print_totals(planned.totals(by), rows)
