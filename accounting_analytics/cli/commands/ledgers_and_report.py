"""The commands ``discover`` and ``report``: the ledgers and the cash flow report that the service shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

import accounting_analytics as aa
from accounting_analytics.cli.options import AsJson, EndDate, Parents, Profile, StartDate, TimeZone, UseDemo
from accounting_analytics.cli.output import print_frame, print_message, print_notes
from accounting_analytics.cli.parents_file import read_parents
from accounting_analytics.cli.service_connection import connect_service

if TYPE_CHECKING:
    from accounting_analytics.cash_flow_report import CashFlowReport


_COLUMNS = ["sort_code", "name", "type", "sub_type", "report_cash_flow", "id", "parent_id", "found_by"]
_OPTIONAL = ["found_by", "parent_id", "sub_type", "sort_code", "report_cash_flow", "type"]


def discover(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    parents: Parents = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the ledgers found in reports and line entries."""
    given = None if parents is None else read_parents(parents)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        ledgers = aa.discover_ledgers(client, start_date, end_date, time_zone=zone, parents=given)
    print_notes(ledgers)
    print_frame(ledgers, as_json=as_json, columns=_COLUMNS, optional=_OPTIONAL)


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
