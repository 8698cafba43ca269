"""The commands ``discover`` and ``report``: the ledgers and the cash flow report that the service shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import load_ledgers
from accounting_analytics.cli.options import (
    AsJson,
    EndDate,
    LocalBooks,
    Parents,
    PeriodText,
    Profile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_frame, print_note, print_statement
from accounting_analytics.cli.service_or_demo import connect_for_days, presentation_of

if TYPE_CHECKING:
    from accounting_analytics.cash_flow_report import CashFlowReport


_COLUMNS = ["sort_code", "name", "type", "sub_type", "report_cash_flow", "id", "parent_id", "found_by"]
_OPTIONAL = ["found_by", "parent_id", "sub_type", "sort_code", "report_cash_flow", "type"]


def discover(
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    parents: Parents = None,
    books: LocalBooks = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the ledgers found in reports and line entries."""
    from accounting_analytics.load_metadata import known_ledgers_claim

    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        ledgers = load_ledgers(client, days, parents)
    print_frame(ledgers, as_json=as_json, columns=_COLUMNS, optional=_OPTIONAL)
    if not as_json:
        typer.echo(known_ledgers_claim(ledgers, len(ledgers)))


def report(
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    parents: Parents = None,
    books: LocalBooks = None,
    profile: Profile = None,
    *,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print the report's own columns, without sections and subtotals.")
    ] = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Print the cash flow report of the service.

    It is shown as a cash flow statement; --raw and --json have its own columns.
    """
    from accounting_analytics.statements import cash_flow_statement

    presentation, given = presentation_of(profile, use_demo=use_demo), DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        reported = aa.load_cash_flow_report(client, days.start_date, days.end_date, time_zone=days.time_zone)
        if as_json:
            typer.echo(reported.to_json())
            return
        if raw:
            _print_text(reported)
            return
        ledgers = load_ledgers(client, days, parents)
    print_statement(cash_flow_statement(reported, ledgers, **presentation._asdict()), as_json=False)


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
        print_note(note)
