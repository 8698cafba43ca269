"""Commands for local books: ``sync``, and ``books`` for versions, closed days and questions in SQL."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from cyclopts.types import NonNegativeInt, PositiveInt

import accounting_analytics as aa
from accounting_analytics.cli.books_source import connect_service, open_books, presentation_of, read_parents
from accounting_analytics.cli.declarations import READ, command, commands
from accounting_analytics.cli.options import BooksFolder, GivenDays, Json, Parents, RowLimit, Service, ZonedDays
from accounting_analytics.cli.output import (
    command_line,
    print_json,
    print_message,
    print_result,
    print_table,
)
from accounting_analytics.core.errors import BooksDoNotTieError, IncompleteLoadError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.periods import period_label

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.local_books.sync_result import SyncResult

_MINUTES = "%Y-%m-%d %H:%M"
_HISTORY = {"version": "version", "at": "written (UTC)"} | {
    name: name for name in ("action", "lines", "added", "removed", "changed", "ties", "complete", "kept")
}
_DRIFT = {"month": "month", "ledger_name": "ledger", "kind": "change"} | {
    name: name for name in ("amount", "entries", "lines")
}
_CLOSED = {
    "start_date": "first day",
    "end_date": "last day",
    "closed_at": "closed (UTC)",
    "version": "version",
    "changed_lines": "changed lines",
}


@command(READ)
def sync(
    *,
    books: BooksFolder,
    days: ZonedDays = ZonedDays(),
    lookback_days: NonNegativeInt = 10,
    months_a_night: NonNegativeInt = 1,
    parents: Parents = None,
    service: Service = Service(),
    as_json: Json = False,
) -> None:
    """Bring local books up to date, and prove them.

    The first sync loads everything, or the days that are given, and continues where an interrupted one ended. Every
    later one reads the recent days again, compares each month with the service's report, and reads again what differs:
    on these days the cash ledgers and those that the entries in question name.
    Entries without cash, which no report shows, are read in all months where that takes at most 100 requests, else the
    months that were not read are named. Texts, tags, and transfers between cash accounts within a month are read again
    a few months at a time; the other months are named too. Without a last day, books end with the month of the latest
    line, and with this month at the latest. Exit code 3 if a month
    does not agree with its report, a journal entry is not complete, or closed days have changed.

    Parameters
    ----------
    lookback_days
        Days before the last sync to read again, 10 by default.
    months_a_night
        Months to read again whole, the longest unread ones first; 1 by default.
    """
    given = read_parents(parents)
    local = aa.LocalBooks.open(books)
    zone = days.time_zone if local.version is None else local.time_zone
    with connect_service(service, zone) as (client, days_zone):
        first, last = days.optional_dates(days_zone, presentation_of(service).fiscal_year_start_month)
        synced = local.sync(
            client,
            start_date=first,
            end_date=last,
            time_zone=days.time_zone,
            lookback_days=lookback_days,
            months_a_night=months_a_night,
            parents=given,
        )
    print_result(synced, as_json=as_json)
    _require_proven(synced, books)


def _require_proven(synced: SyncResult, books: Path) -> None:
    """Fail if books are not proven, or closed days have changed. The result was printed before."""
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
        print_message(f"read them with --books {books}, or aa.load_books(aa.LocalBooks.open({str(books)!r}))")


books = commands(READ, "books", "Versions of local books, what changed, closed days, and SQL.")


@books.command
def history(*, folder: BooksFolder, table: RowLimit = RowLimit(), as_json: Json = False) -> None:
    """List the versions, newest first.

    Each has what changed in it, whether every month agreed with the service's report (ties) and every journal entry was
    complete, and whether its files are kept.
    """
    opened = open_books(folder)
    versions = opened.history()
    if as_json:
        print_json(versions)
        return
    print(opened.summary())
    shown = versions.assign(at=versions["at"].dt.strftime(_MINUTES))
    print_table(shown, _HISTORY, limit=table.rows, optional=("kept", "complete", "action"))


@books.command
def drift(
    *,
    folder: BooksFolder,
    since: str | None = None,
    until: str | None = None,
    days: GivenDays = GivenDays(),
    table: RowLimit = RowLimit(),
    as_json: Json = False,
) -> None:
    """Show what changed between two versions.

    Lines that were added, removed, recategorized or amended are summed by month and ledger. Debits are positive.

    Parameters
    ----------
    since
        Version to compare with: its number, or the newest one of a day (2026-04-14) or instant; by default the version
        before.
    until
        Version to compare, given in the same way; by default the newest.
    """
    opened = open_books(folder)
    if until is not None:
        opened = opened.as_of(until)
    before = max(int(opened.version or 0) - 1, 0) if since is None else since
    first_month = presentation_of(Service()).fiscal_year_start_month
    found = opened.drift(before, period=days.in_zone(opened.time_zone, first_month) if days.given else None)
    if as_json:
        print(found.to_json())
        return
    print(found.summary())
    print_table(found.frame, _DRIFT, limit=table.rows, optional=("lines",))
    for note in found.notes:
        print_message(note)


@books.command
def close(*, folder: BooksFolder, days: GivenDays = GivenDays(), as_json: Json = False) -> None:
    """Close some days, such as a reported month.

    A later change of their lines raises an alarm in every sync (exit code 3), until they are closed again.
    """
    opened = open_books(folder)
    period = days.in_zone(opened.time_zone, presentation_of(Service()).fiscal_year_start_month)
    proofs = opened.month_proofs(period)
    closed = opened.close(period)
    if as_json:
        months = [{"month": month, **proof._asdict()} for month, proof in proofs.items()]
        print_json({"version": closed.version, **asdict(period), "months": months})
        return
    print(f"closed {period_label(period)} in version {closed.version}")
    for month, proof in proofs.items():
        print_message(f"{month}: {proof.verdict}")


@books.command(name="closed")
def list_closed(*, folder: BooksFolder, as_json: Json = False) -> None:
    """List closed days, and how many lines changed since."""
    frame = open_books(folder).closed()
    if as_json:
        print_json(frame)
        return
    if frame.empty:
        print_message(
            f"no days are closed; to close some: {command_line('books', 'close', books=folder)} --period 2026-03"
        )
    days = {name: frame[name].dt.date for name in ("start_date", "end_date")}
    print_table(frame.assign(**days, closed_at=frame["closed_at"].dt.strftime(_MINUTES)), _CLOSED)


@books.command
def sql(query: str, /, *, folder: BooksFolder, as_json: Json = False) -> None:
    """Answer a query in SQL, read-only.

    The tables are those of an export, such as fact_cash_flow_line and dim_ledger: see its README.

    Parameters
    ----------
    query
        Query of the tables of an export.
    """
    answer = open_books(folder).sql(query)
    print_table(answer, as_json=as_json)
    if answer.empty:
        print_message("0 rows")


@books.command
def compact(
    *,
    folder: BooksFolder,
    keep_days: PositiveInt = 90,
    as_json: Json = False,
) -> None:
    """Delete files of old versions.

    The newest version of each calendar month and those of closed days stay.

    Parameters
    ----------
    keep_days
        Keep every version of the last days, 90 by default.
    """
    removed = open_books(folder).compact(keep_days)
    if as_json:
        print_json({"deleted_files": removed})
    else:
        print(f"{count_of(removed, 'file')} of old versions deleted")
