"""The command ``reconcile``: recompute the report of every month and explain each difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

import accounting_analytics as aa
from accounting_analytics.cli.discover_and_load import LoadOptions, load_books
from accounting_analytics.cli.options import (
    AllowPartial,
    AsJson,
    BooksStart,
    Checkpoint,
    DryRun,
    EndDate,
    Profile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_frame, print_message
from accounting_analytics.cli.service_connection import connect_service
from accounting_analytics.errors import BooksDoNotTieError, IncompleteLoadError, PeriodError

if TYPE_CHECKING:
    from datetime import date

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.periods import Period
    from accounting_analytics.reconciliation import Reconciliation


def reconcile(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    since: BooksStart = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    allow_partial: AllowPartial = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Recompute each month's report and explain differences.

    The report is recomputed from line entries; exit code 3 if a month does not tie.
    """
    from accounting_analytics.periods import Period

    anchored = since is None
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        period = Period.of(start_date, end_date, zone)
        books_start = period.start_date if since is None else _parse_books_start(since, period)
        options = LoadOptions(checkpoint, dry_run, as_json, allow_partial)
        ledgers, lines = load_books(client, books_start, period, options, report_count=len(period.months()))
        certificate = aa.check_completeness(lines)
        print_message(certificate.summary())
        months = [
            _reconcile_month(client, lines, ledgers, month, anchored=anchored, allow_partial=allow_partial)
            for month in period.months()
        ]
    _print_months(months, anchored=anchored, as_json=as_json)
    if not certificate.complete:
        raise IncompleteLoadError(certificate.summary())
    untied = [str(month.period) for month in months if not month.ties]
    if untied:
        msg = f"the books do not tie in {len(untied)} of {len(months)} months: {', '.join(untied)}"
        raise BooksDoNotTieError(msg)


def _parse_books_start(since: str, period: Period) -> date:
    """First day of the books: the first day of the period at the latest, so that every month has its history."""
    from accounting_analytics.periods import parse_date

    first = parse_date(since, "--since")
    if first > period.start_date:
        msg = f"--since {first} is after --start-date {period.start_date}; it is the first day of the books"
        raise PeriodError(msg)
    return first


def _reconcile_month(
    client: LedgerClient,
    lines: pd.DataFrame,
    ledgers: pd.DataFrame,
    month: Period,
    *,
    anchored: bool,
    allow_partial: bool,
) -> Reconciliation:
    days = (month.start_date, month.end_date)
    reported = aa.load_cash_flow_report(client, *days, time_zone=month.time_zone)
    recomputed = aa.recompute_cash_flow(
        lines,
        ledgers,
        *days,
        time_zone=month.time_zone,
        starting_balances=reported.starting_balances if anchored else None,
        allow_partial=allow_partial,
    )
    return aa.reconcile(reported, recomputed, line_entries=lines)


def _print_months(months: list[Reconciliation], *, anchored: bool, as_json: bool) -> None:
    import pandas as pd

    summary = pd.DataFrame(
        [
            {
                "start_date": month.period.start_date,
                "end_date": month.period.end_date,
                "ties": month.ties,
                "anchored": anchored,
                "differences": len(month.differences),
                "partial": month.partial,
            }
            for month in months
        ]
    )
    title = "PARTIAL: lines are missing" if summary["partial"].any() else ""
    print_frame(summary, as_json=as_json, title=title)
    if not as_json:
        for month in months:
            if not month.ties:
                typer.echo(month.explain())
