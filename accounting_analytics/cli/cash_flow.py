"""Commands that show the chart of accounts and the cash flow report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

import accounting_analytics as aa
from accounting_analytics.cli.connection import service
from accounting_analytics.cli.options import AsJson, EndDate, Profile, StartDate, TimeZone, UseDemo
from accounting_analytics.cli.output import print_frame, print_mapping, say, say_notes

if TYPE_CHECKING:
    from accounting_analytics.schemas import CashFlowReport

_LEDGER_COLUMNS = ["sort_code", "name", "type", "sub_type", "report_cash_flow", "id", "parent_id", "found_by"]


def discover(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the chart of accounts, as far as the service shows it."""
    with service(profile, time_zone, use_demo=use_demo) as (client, zone):
        ledgers = aa.discover_ledgers(client, start_date, end_date, time_zone=zone)
    say_notes(ledgers)
    print_frame(ledgers, as_json=as_json, columns=_LEDGER_COLUMNS)


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
    with service(profile, time_zone, use_demo=use_demo) as (client, zone):
        reported = aa.load_cash_flow_report(client, start_date, end_date, time_zone=zone)
    _print_report(reported, as_json=as_json)


def _print_report(report: CashFlowReport, *, as_json: bool) -> None:
    if as_json:
        print_mapping(
            {
                "start_date": report.period.start_date,
                "end_date": report.period.end_date,
                "time_zone": report.period.time_zone,
                "starting_cash_balance": report.starting_cash_balance,
                "ending_cash_balance": report.ending_cash_balance,
                "ledgers": report.ledgers,
                "lines": report.lines,
                "starting_balances": report.starting_balances,
                "ending_balances": report.ending_balances,
                "notes": list(report.notes),
            },
            as_json=True,
        )
        return
    from accounting_analytics.money import format_amount

    print_frame(report.ledgers, title=f"Cash flow {report.period}", as_json=False)
    typer.echo(f"starting cash balance {format_amount(report.starting_cash_balance)}")
    typer.echo(f"net cash flow         {format_amount(report.net_cash_flow)}")
    typer.echo(f"ending cash balance   {format_amount(report.ending_cash_balance)}")
    for note in report.notes:
        say(note)
