"""The command ``reconcile``: recompute the report of every month and explain each difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import LoadOptions, load_books
from accounting_analytics.cli.options import (
    AllowPartial,
    AsJson,
    Checkpoint,
    DryRun,
    EndDate,
    Parents,
    PeriodText,
    Profile,
    RefusedBooks,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_frame, print_message
from accounting_analytics.cli.service_or_demo import connect_service_for_days, refuse_books
from accounting_analytics.errors import BooksDoNotTieError, IncompleteLoadError, PeriodError

if TYPE_CHECKING:
    from datetime import date

    from accounting_analytics.monthly_reconciliation import MonthlyReconciliation
    from accounting_analytics.periods import Period


def reconcile(
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            "--books-start",
            metavar="DATE",
            help="First day of the books: starting balances are summed from here, not taken from the report.",
        ),
    ] = None,
    checkpoint: Checkpoint = None,
    parents: Parents = None,
    books: RefusedBooks = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    allow_partial: AllowPartial = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 3 also where figures could not be compared.")
    ] = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Recompute each month's report and explain differences.

    The report is recomputed from line entries; exit code 3 if a month does not tie. Totals need the parents of
    ledgers: give those that the service does not show with --parents.
    """
    refuse_books(
        books,
        "they would be compared with themselves; `sync` compares each month with the service's report, and "
        "`books history` shows the result",
    )
    given = DayOptions(start_date, end_date, period)
    with connect_service_for_days(given, profile, time_zone, use_demo=use_demo) as (client, days):
        books_start = days.start_date if since is None else _parse_books_start(since, days)
        options = LoadOptions(checkpoint, dry_run, as_json, allow_partial, parents)
        ledgers, lines = load_books(client, books_start, days, options, report_count=len(days.months()))
        certificate = aa.check_completeness(lines)
        print_message(certificate.summary())
        months = aa.reconcile_months(
            client,
            days.start_date,
            days.end_date,
            time_zone=days.time_zone,
            books_start=None if since is None else books_start,
            ledgers=ledgers,
            line_entries=lines,
            allow_partial=allow_partial,
        )
    _print_months(months, as_json=as_json)
    if not certificate.complete:
        raise IncompleteLoadError(certificate.summary())
    if not months.ties:
        untied = ", ".join(str(month.period) for month in months.untied)
        msg = f"the books do not tie in {len(months.untied)} of {len(months.reconciliations)} months: {untied}"
        if months.untied[0].without_history:
            msg += f"; the books begin before --since {books_start}: give their first day, or leave --since out"
        raise BooksDoNotTieError(msg)
    if lines.empty:
        _print_limit(
            f"there are no line entries in {days}, so nothing was compared but zeros: is it the right period?",
            strict=strict,
        )
    _print_verdict(months, strict=strict)
    if months.anchored:
        print_message(
            "starting balances are those of the reports, so their agreement proves nothing: give the first day of the "
            "books with --since"
        )


def _print_limit(message: str, *, strict: bool) -> None:
    """Say what the agreement does not prove; with `strict` that is an error."""
    if strict:
        raise BooksDoNotTieError(message)
    print_message(message)


def _parse_books_start(since: str, period: Period) -> date:
    """First day of the books: the first day of the period at the latest, so that every month has its history."""
    from accounting_analytics.periods import parse_date

    first = parse_date(since, "--since")
    if first > period.start_date:
        raise PeriodError(
            f"--since {first} is after --start-date {period.start_date}; it is the first day of the books"
        )
    return first


def _print_verdict(months: MonthlyReconciliation, *, strict: bool) -> None:
    """Say that all months tie, and what was not compared; with `strict` that is an error."""
    if months.compared_everything:
        print_message(months.summary())
        return
    _print_limit(f"{months.summary()} Give the parents of ledgers with --parents FILE", strict=strict)


def _print_months(months: MonthlyReconciliation, *, as_json: bool) -> None:
    frame = months.frame[["start_date", "end_date", "ties", "anchored", "differences", "not_compared", "partial"]]
    days = {name: frame[name].dt.date for name in ("start_date", "end_date")}
    if as_json:
        days["explanations"] = [month.explanations for month in months.reconciliations]
    title = "PARTIAL: lines are missing" if months.partial else ""
    print_frame(frame.assign(**days), as_json=as_json, title=title, optional=["partial", "anchored"])
    if not as_json:
        for month in months.untied:
            typer.echo(month.explain())
