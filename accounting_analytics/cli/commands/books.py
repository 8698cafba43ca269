"""The commands ``books``: the versions of local books, what changed between them, closed days, questions in SQL."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.options import AllRows, AsJson, BooksFolder, EndDate, PeriodText, RowLimit, StartDate
from accounting_analytics.cli.output import (
    MAX_ROWS,
    command_line,
    print_first_rows,
    print_frame,
    print_json,
    print_message,
)
from accounting_analytics.messages import count_of

books = typer.Typer(help="Versions of local books, what changed, closed days, and SQL.", no_args_is_help=True)

_MINUTES = "%Y-%m-%d %H:%M"
_HISTORY = {
    "version": "version",
    "at": "written (UTC)",
    "action": "action",
    "lines": "lines",
    "added": "added",
    "removed": "removed",
    "changed": "changed",
    "ties": "ties",
    "complete": "complete",
    "kept": "kept",
}
_DRIFT = {
    "month": "month",
    "ledger_name": "ledger",
    "kind": "change",
    "amount": "amount",
    "entries": "entries",
    "lines": "lines",
}
_CLOSED = {
    "start_date": "first day",
    "end_date": "last day",
    "closed_at": "closed (UTC)",
    "version": "version",
    "changed_lines": "changed lines",
}


@books.command("history")
def history(
    folder: BooksFolder, limit: RowLimit = MAX_ROWS, *, all_rows: AllRows = False, as_json: AsJson = False
) -> None:
    """List the versions, newest first.

    Each has what changed in it, whether every month agreed with the service's report (ties) and every journal entry was
    complete, and whether its files are kept.
    """
    opened = aa.connect(books=folder)
    versions = opened.history()
    if as_json:
        print_frame(versions, as_json=True)
        return
    typer.echo(opened.summary())
    shown = versions.assign(at=versions["at"].dt.strftime(_MINUTES))
    print_first_rows(shown, _HISTORY, None if all_rows else limit, optional=("kept", "complete", "action"))


@books.command("drift")
def drift(
    folder: BooksFolder,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="VERSION",
            help="Version to compare with: its number, or the newest one of a day (2026-04-14) or instant.",
            show_default="the version before",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="VERSION", help="Version to compare, given in the same way.", show_default="the newest"
        ),
    ] = None,
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    limit: RowLimit = MAX_ROWS,
    *,
    all_rows: AllRows = False,
    as_json: AsJson = False,
) -> None:
    """Show what changed between two versions.

    Lines that were added, removed, recategorized or amended are summed by month and ledger. Debits are positive.
    """
    opened = aa.connect(books=folder)
    if until is not None:
        opened = opened.as_of(until)
    days = DayOptions(start_date, end_date, period)
    found = opened.drift(
        max(int(opened.version or 0) - 1, 0) if since is None else since,
        period=days.in_zone(opened.time_zone) if any(days) else None,
    )
    if as_json:
        typer.echo(found.to_json())
        return
    typer.echo(found.summary())
    print_first_rows(found.frame, _DRIFT, None if all_rows else limit, optional=("lines",))
    for note in found.notes:
        print_message(note)


@books.command("close")
def close(
    folder: BooksFolder,
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Close some days, such as a reported month.

    A later change of their lines raises an alarm in every sync (exit code 3), until they are closed again.
    """
    opened = aa.connect(books=folder)
    days = DayOptions(start_date, end_date, period).in_zone(opened.time_zone)
    proofs = opened.month_proofs(days)
    closed = opened.close(days)
    if as_json:
        months = [{"month": month, **proof._asdict()} for month, proof in proofs.items()]
        print_json({"version": closed.version, **asdict(days), "months": months})
        return
    typer.echo(f"closed {days} in version {closed.version}")
    for month, proof in proofs.items():
        print_message(f"{month}: {proof.verdict}")


@books.command("closed")
def list_closed(folder: BooksFolder, *, as_json: AsJson = False) -> None:
    """List closed days, and how many lines changed since."""
    frame = aa.connect(books=folder).closed()
    if as_json:
        print_frame(frame, as_json=True)
        return
    if frame.empty:
        print_message(
            f"no days are closed; to close some: {command_line('books', 'close', books=folder)} --period 2026-03"
        )
    days = {name: frame[name].dt.date for name in ("start_date", "end_date")}
    print_first_rows(frame.assign(**days, closed_at=frame["closed_at"].dt.strftime(_MINUTES)), _CLOSED, None)


@books.command("sql")
def sql(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="Query of the tables of an export.", show_default=False)
    ],
    folder: BooksFolder,
    *,
    as_json: AsJson = False,
) -> None:
    """Answer a query in SQL, read-only.

    The tables are those of an export, such as fact_cash_flow_line and dim_ledger: see its README.
    """
    answer = aa.connect(books=folder).sql(query)
    print_frame(answer, as_json=as_json)


@books.command("compact")
def compact(
    folder: BooksFolder,
    keep_days: Annotated[
        int, typer.Option("--keep-days", metavar="N", min=1, help="Keep every version of the last N days.")
    ] = 90,
    *,
    as_json: AsJson = False,
) -> None:
    """Delete files of old versions.

    The newest version of each calendar month and those of closed days stay.
    """
    removed = aa.connect(books=folder).compact(keep_days)
    if as_json:
        print_json({"deleted_files": removed})
        return
    typer.echo(f"{count_of(removed, 'file')} of old versions deleted")
