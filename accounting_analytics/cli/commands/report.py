"""The command ``report``: the cash flow report of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

import accounting_analytics as aa
from accounting_analytics.cli.options import AsJson, EndDate, Profile, StartDate, TimeZone, UseDemo
from accounting_analytics.cli.output import print_frame, print_message
from accounting_analytics.cli.service_connection import connect_service

if TYPE_CHECKING:
    from accounting_analytics.cash_flow_report import CashFlowReport


def report(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Print the cash flow report of the service."""
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        reported = aa.load_cash_flow_report(client, start_date, end_date, time_zone=zone)
    if as_json:
        typer.echo(reported.to_json())
    else:
        _print_text(reported)


def _print_text(report: CashFlowReport) -> None:
    from accounting_analytics.money import format_amount

    columns = ["name", "net_cash_flow", "total_net_cash_flow", "ledger_id"]
    title = f"Cash flow {report.period}"
    print_frame(report.ledgers, title=title, as_json=False, columns=columns, optional=["ledger_id"])
    sums = report.exact_sums()
    typer.echo(f"starting cash balance {format_amount(sums.starting_cash_balance)}")
    typer.echo(f"net cash flow         {format_amount(sums.net_cash_flow)}")
    typer.echo(f"ending cash balance   {format_amount(sums.ending_cash_balance)}")
    for note in report.notes:
        print_message(note)
