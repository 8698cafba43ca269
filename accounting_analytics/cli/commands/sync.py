"""The command ``sync``: local books brought up to date with the service, and compared with its reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.options import (
    AsJson,
    BooksFolder,
    EndDate,
    Parents,
    PeriodText,
    Profile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import command_line, print_message
from accounting_analytics.cli.parents_file import read_parents
from accounting_analytics.cli.service_or_demo import connect_service
from accounting_analytics.errors import BooksDoNotTieError, IncompleteLoadError
from accounting_analytics.messages import count_of

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.books.sync_result import SyncResult


def sync(
    books: BooksFolder,
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    lookback_days: Annotated[
        int, typer.Option("--lookback-days", metavar="N", min=0, help="Days before the last sync to read again.")
    ] = 10,
    months_a_night: Annotated[
        int,
        typer.Option(
            "--months-a-night", metavar="N", min=0, help="Months to read again whole, the longest unread ones first."
        ),
    ] = 1,
    parents: Parents = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Bring local books up to date, and prove them.

    The first sync loads everything, or the days that are given, and continues where an interrupted one ended. Every
    later one reads the recent days again, compares each month with the service's report, and reads again what differs.
    Entries without cash, which no report shows, are read in all months where that takes at most 100 requests, else the
    months that were not read are named; texts and tags are read again a few months at a time. Exit code 3 if a month
    does not agree with its report, a journal entry is not complete, or closed days have changed.
    """
    parents_given = None if parents is None else read_parents(parents)
    local = aa.Books.open(books)
    zone = time_zone if local.version is None else local.time_zone
    with connect_service(profile, zone, use_demo=use_demo) as (client, days_zone):
        first, last = DayOptions(start_date, end_date, period).optional_dates(days_zone)
        synced = local.sync(
            client,
            start_date=first,
            end_date=last,
            time_zone=time_zone,
            lookback_days=lookback_days,
            months_a_night=months_a_night,
            parents=parents_given,
        )
    typer.echo(synced.to_json() if as_json else synced.explain())
    _require_proven(synced, books)


def _require_proven(synced: SyncResult, books: Path) -> None:
    """Fail, after the result was printed, where the books are not proven, or closed days have changed."""
    if not synced.complete:
        first = synced.months.loc[~synced.months["complete"]].iloc[0]
        raise IncompleteLoadError(
            f"journal entries are not complete, first in {first['month']}: {first['problem']}; sync again, and if that "
            "stays, ask the operator of the service"
        )
    if not synced.ties:
        raise BooksDoNotTieError(f"{synced.verdict}; the books were written, and every result of them says so")
    if synced.alarms:
        closed = command_line("books", "closed", books=books)
        raise BooksDoNotTieError(
            f"{count_of(len(synced.alarms), 'closed period has', 'closed periods have')} changed: {closed} lists them "
            "with their versions, `books drift --since VERSION` shows what changed, and `books close` accepts it"
        )
    if synced.changes is None:
        print_message(f"read them with --books {books}, or aa.connect(books={str(books)!r})")
