"""The source of a command, and its loads: ledgers, line entries, uncategorized transactions."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import accounting_analytics as aa
from accounting_analytics.cli.output import print_message, print_note, print_notes
from accounting_analytics.core.errors import (
    EmptyPeriodError,
    IncompleteLoadError,
    InputError,
    PeriodError,
    with_context,
)
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import Period, choose_zone, parse_date

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from accounting_analytics.cli.options import BooksOrService, Load, Service, ZonedDays
    from accounting_analytics.client.settings import Presentation

_NOT_OF_BOOKS = {
    "allow_partial": "they have every line, so leave it out",
    "parents": "they have their chart of accounts, so give the parents to `sync`",
}
"""Options of a load that local books do not have, each with the reason."""


@contextmanager
def connect_service(service: Service, time_zone: str | None = None) -> Iterator[tuple[aa.LedgerClient, str]]:
    """Connect to the configured service or the demo company, and also return its time zone."""
    choose_zone(time_zone)  # refused before anything is started
    require_one_source(service)
    if service.demo:
        with aa.demo() as company:
            require_scale(service, company.client.scale, "the demo company has")
            yield company.client, choose_zone(time_zone, company.time_zone).name
        return
    with aa.connect(service.profile, scale=service.scale) as client:
        yield client, choose_zone(time_zone, client.time_zone).name
        if time_zone is None and client.time_zone is None:
            print_message("no time zone is configured, so the days are those of UTC")


@contextmanager
def connect_for_days(service: Service, days: ZonedDays) -> Iterator[tuple[aa.LedgerClient, Period]]:
    """Connect to the service. Unusable days are refused before that."""
    first_month = presentation_of(service).fiscal_year_start_month
    days.in_zone("UTC", first_month)
    with connect_service(service, days.time_zone) as (client, time_zone):
        yield client, days.in_zone(time_zone, first_month)


@contextmanager
def connect_source(
    source: BooksOrService, days: ZonedDays, load: Load | None = None
) -> Iterator[tuple[aa.LedgerClient | aa.LocalBooks, Period]]:
    """Open the local books of --books or the configuration, else connect a client.

    Without given days, all days of local books are used. Options of a load that have no effect on local books are
    refused.
    """
    from accounting_analytics.client.settings import load_settings

    folder: str | Path | None = source.books
    if folder is None and not source.demo and (settings := load_settings(source.profile)).names_books():
        folder = settings["books"]
    if folder is None or source.demo:
        with connect_for_days(source, days) as (client, period):
            yield client, period
        return
    for option, hint in _NOT_OF_BOOKS.items():
        if getattr(load, option, None):
            raise InputError(f"--{option.replace('_', '-')} has no effect with --books: {hint}")
    presentation = presentation_of(source)
    books = replace(open_books(folder), **presentation._asdict())
    require_scale(source, books.scale, "the local books have")
    for note in books.notes:
        print_note(note)
    if days.time_zone not in {None, books.time_zone}:
        raise InputError(
            f"--time-zone {days.time_zone}: these local books count days in {books.time_zone}; leave it out, or sync "
            "other books with that zone"
        )
    first_month = presentation.fiscal_year_start_month
    yield books, days.in_zone(books.time_zone, first_month) if days.given else books.period


def open_books(folder: str | Path) -> aa.LocalBooks:
    """Open the local books of a folder. Refuse a folder without books."""
    from accounting_analytics.local_books import open_synced

    return open_synced(folder)


def require_one_source(service: Service) -> None:
    """Refuse --demo together with --books."""
    if service.demo and getattr(service, "books", None) is not None:
        raise InputError("--demo and --books are both given: leave one of them out")


def require_scale(service: Service, scale: int, whose: str) -> None:
    """Refuse a --scale that differs from the scale that books state."""
    if service.scale not in {None, scale}:
        raise InputError(f"--scale {service.scale}: {whose} amounts of {scale} fraction digits; leave it out")


def refuse_books(books: Path | None, reason: str) -> None:
    """Refuse --books for a command that needs the service."""
    if books is not None:
        raise InputError(f"--books: {reason}; nothing was loaded")


def presentation_of(service: Service) -> Presentation:
    """Read company, currency and fiscal year of the configuration or the demo company."""
    from accounting_analytics.client.settings import Presentation, load_settings

    if not service.demo:
        return load_settings(service.profile).presentation()
    from accounting_analytics.demo_company.served_company import COMPANY, CURRENCY

    return Presentation(COMPANY, CURRENCY)


def depreciation_of(service: Service, named: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ledgers of --depreciation, else those of the configuration."""
    from accounting_analytics.client.settings import load_settings

    return named or (() if service.demo else load_settings(service.profile).depreciation())


def configured_zone(time_zone: str | None, profile: str | None = None) -> str:
    """Return --time-zone, else the configured zone, else UTC, without connecting a client."""
    from accounting_analytics.client.settings import load_settings

    return load_settings(profile, time_zone=time_zone)["time_zone"] or "UTC"


def days_of_command(days: Period, time_zone: str | None) -> dict[str, object]:
    """Make the options for a next command: dates, because relative days would change tomorrow."""
    return {"start_date": days.start_date, "end_date": days.end_date, "time_zone": time_zone}


def read_parents(path: Path | None) -> dict[str, str | None] | None:
    """Read parents by ledger id from the file of --parents. Roots have None."""
    from accounting_analytics.core.edited_files import Column, read_table

    if path is None:
        return None
    parents: dict[str, str | None] = {}
    try:
        table = read_table(
            path, (Column("ledger_id"), Column("parent_id", may_be_empty=True)), what="a file of parents"
        )
        for number, row in table.rows():
            ledger_id, parent_id = row["ledger_id"].strip(), row["parent_id"].strip()
            if ledger_id in parents:
                table.problems.add(f"ledger {quote(ledger_id)} occurs more than once", number)
            if ledger_id == parent_id:
                table.problems.add(f"ledger {quote(ledger_id)} is its own parent", number)
            parents[ledger_id] = parent_id or None
        table.problems.refuse()
    except InputError as error:
        raise InputError(
            f"--parents: {error}; expected is a CSV file or an Excel workbook with the columns ledger_id and "
            "parent_id (empty: a root)"
        ) from None
    return parents


def read_opening(text: str | None) -> object:
    """Read --opening: a day, or balances from a file."""
    from accounting_analytics.core.edited_files import Column, read_table

    if text is None:
        return None
    if not text.lower().endswith((".csv", ".xlsx")):
        return parse_date(text, "--opening")
    balances: dict[str, str] = {}
    try:
        table = read_table(Path(text), (Column("ledger"), Column("balance")), what="a file of balances")
        for number, row in table.rows():
            ledger = row["ledger"].strip()
            if ledger in balances:
                table.problems.add(f"ledger {quote(ledger)} occurs more than once", number)
            balances[ledger] = row["balance"].strip()
        table.problems.refuse()
    except InputError as error:
        raise InputError(
            f"--opening: {error}; expected is a day, or a CSV file or an Excel workbook with the columns ledger (id, "
            "unique name or path) and balance (debits positive)"
        ) from None
    return balances


def require_budget(path: Path | None, *, is_compared: bool = False) -> None:
    """Refuse a file that is not a budget, before anything is loaded."""
    if path is None:
        if is_compared:
            raise InputError("--compare budget needs --budget FILE; nothing was loaded")
        return
    from accounting_analytics.reports.statements.budget import read_rows

    try:
        read_rows(path)[0].refuse()
    except InputError as error:
        raise with_context(error, "nothing was loaded") from None


def load_ledgers(client: aa.LedgerClient | aa.LocalBooks, days: Period, parents: Path | None = None) -> pd.DataFrame:
    """Load the chart of accounts, with the parents that a file states."""
    from accounting_analytics.core.load_metadata import known_ledgers_claim

    if not isinstance(client, aa.LedgerClient):
        return client.ledgers()
    ledgers = aa.discover_ledgers(
        client, days.start_date, days.end_date, time_zone=days.time_zone, parents=read_parents(parents)
    )
    print_notes(ledgers, without=known_ledgers_claim(ledgers, len(ledgers)))
    return ledgers


def load_report(client: aa.LedgerClient | aa.LocalBooks, days: Period) -> aa.CashFlowReport:
    """Load the cash flow report of the service or of local books."""
    if not isinstance(client, aa.LedgerClient):
        return client.report(days)
    return aa.load_cash_flow_report(client, days.start_date, days.end_date, time_zone=days.time_zone)


def load_books(
    client: aa.LedgerClient | aa.LocalBooks, days: Period, load: Load | None = None, *, reports: Iterable[Period] = ()
) -> aa.Books:
    """Load books since their first entry or --since, with reports of the service."""
    from accounting_analytics.core.load_metadata import known_ledgers_claim

    options: dict[str, Any] = {}
    if load is not None:
        since = None if load.since is None else parse_date(load.since, "--since")
        if since is not None and since > days.end_date:
            raise PeriodError(f"--since {since} is after {days.end_date}; it is the first day to load")
        options = {"since": since, "opening": read_opening(load.opening)}
    if isinstance(client, aa.LedgerClient):
        options["reports"] = reports
        if load is not None:
            options |= {"parents": read_parents(load.parents), "allow_partial": load.allow_partial}
    books = aa.load_books(client, days, **options)
    ledgers = books.ledgers
    print_notes(books, without=known_ledgers_claim(ledgers, len(ledgers)))
    return books


def require_complete(books: aa.Books) -> None:
    """Fail if lines are missing. The result was printed before."""
    certificate = aa.check_completeness(books)
    if not certificate.complete:
        raise IncompleteLoadError(certificate.summary())


def require_entries(books: aa.Books, days: Period, effect: str) -> None:
    """Fail if the days have no line entries, and say what that means."""
    from accounting_analytics.reports.books.book_lines import has_lines

    if not has_lines(books.lines, days):
        raise EmptyPeriodError(f"{effect}: no line entry is of {days}; is it the right period?")


def say_movements(books: aa.Books) -> None:
    """Print that amounts are movements, if no opening is known."""
    if books.opening.is_movement:
        print_message("these are movements, not balances: add --opening DAY, the first day of the books")
