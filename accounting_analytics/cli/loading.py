"""What a command connects to, and what it loads from there: ledgers, line entries, uncategorized transactions."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import accounting_analytics as aa
from accounting_analytics import demo_company
from accounting_analytics.cli.output import print_message, print_note, print_notes
from accounting_analytics.core.errors import (
    EmptyPeriodError,
    IncompleteLoadError,
    InputError,
    InvalidRequestError,
    PeriodError,
    with_context,
)
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import Period, choose_zone, parse_date

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.cli.options import BooksOrService, Load, Service, ZonedDays
    from accounting_analytics.client.settings import Presentation
    from accounting_analytics.loading.request import Consistency

_NOT_OF_BOOKS = {
    "allow_partial": "they have every line, so leave it out",
    "parents": "they have their chart of accounts, so give the parents to `sync`",
}
"""Options of a load, and why local books do not have them."""


@contextmanager
def connect_service(service: Service, time_zone: str | None = None) -> Iterator[tuple[aa.LedgerClient, str]]:
    """Client of the configured service, or of the demo company, and the zone that days are counted in."""
    choose_zone(time_zone)  # before anything is started
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
    """Client of the service, and the days in its zone; days that cannot be used are refused before it is connected."""
    first_month = presentation_of(service).fiscal_year_start_month
    days.in_zone("UTC", first_month)
    with connect_service(service, days.time_zone) as (client, time_zone):
        yield client, days.in_zone(time_zone, first_month)


@contextmanager
def connect_source(
    source: BooksOrService, days: ZonedDays, load: Load | None = None
) -> Iterator[tuple[aa.LedgerClient | aa.LocalBooks, Period]]:
    """Local books of --books, or those that are configured in the place of a service, else a client; and the days.

    Without days they are all that local books have. Options of a load that have no effect on local books are refused.
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
    books = open_books(folder)
    require_scale(source, books.scale, "the local books have")
    for note in books.notes:
        print_note(note)
    first_month = presentation_of(source).fiscal_year_start_month
    yield books, days.in_zone(days.time_zone or books.time_zone, first_month) if days.given else books.period


def open_books(folder: str | Path) -> aa.LocalBooks:
    """Open the local books of a folder that has some."""
    from accounting_analytics.local_books import open_synced

    return open_synced(folder)


def require_one_source(service: Service) -> None:
    """Refuse --demo beside --books: the demo company's service has books of its own."""
    if service.demo and getattr(service, "books", None) is not None:
        raise InputError("--demo and --books are both given: leave one of them out")


def require_scale(service: Service, scale: int, whose: str) -> None:
    """Refuse another --scale than that of books which state theirs."""
    if service.scale not in {None, scale}:
        raise InputError(f"--scale {service.scale}: {whose} amounts of {scale} fraction digits; leave it out")


def refuse_books(books: Path | None, reason: str) -> None:
    """Refuse --books for a command that needs the service."""
    if books is not None:
        raise InputError(f"--books: {reason}; nothing was loaded")


def presentation_of(service: Service) -> Presentation:
    """Company, currency and fiscal year of the configuration, or of the demo company."""
    from accounting_analytics.client.settings import Presentation, load_settings
    from accounting_analytics.demo_company.served_company import COMPANY

    return Presentation(COMPANY, "USD") if service.demo else load_settings(service.profile).presentation()


def configured_zone(time_zone: str | None, profile: str | None = None) -> str:
    """Zone of --time-zone, else the configured one, else UTC, for commands without a client."""
    from accounting_analytics.client.settings import load_settings

    return load_settings(profile, time_zone=time_zone)["time_zone"] or "UTC"


def days_of_command(days: Period, time_zone: str | None) -> dict[str, object]:
    """Options with these days for a command to run next: dates, because a relative period is another one tomorrow."""
    return {"start_date": days.start_date, "end_date": days.end_date, "time_zone": time_zone}


def read_parents(path: Path | None) -> dict[str, str | None] | None:
    """Parent id by ledger id, None for a root, from a sheet of --parents."""
    from accounting_analytics.core.sheets import Column, read_table

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


def load_ledgers(client: aa.LedgerClient | aa.LocalBooks, days: Period, parents: Path | None = None) -> pd.DataFrame:
    """Chart of accounts, with the parents of a file; which ledgers are known is stated on each result."""
    from accounting_analytics.core.load_metadata import known_ledgers_claim

    ledgers = aa.discover_ledgers(
        client, days.start_date, days.end_date, time_zone=days.time_zone, parents=read_parents(parents)
    )
    print_notes(ledgers, without=known_ledgers_claim(ledgers, len(ledgers)))
    return ledgers


def load_lines(
    client: aa.LedgerClient | aa.LocalBooks,
    ledger_ids: Iterable[str],
    days: Period,
    *,
    consistency: Consistency = "newest",
    is_cashflow: bool | None = None,
    allow_partial: bool = False,
) -> pd.DataFrame:
    """Load line entries."""
    ids = list(ledger_ids)
    if isinstance(client, aa.LocalBooks):
        return client.line_entries(days, ledger_ids=ids, is_cashflow=is_cashflow)
    return aa.load_line_entries(
        client,
        ids,
        days.start_date,
        days.end_date,
        time_zone=days.time_zone,
        is_cashflow=is_cashflow,
        consistency=consistency,
        allow_partial=allow_partial,
    )


def require_complete(lines: pd.DataFrame) -> None:
    """Fail, after the result was printed, where lines are missing."""
    certificate = aa.check_completeness(lines)
    if not certificate.complete:
        raise IncompleteLoadError(certificate.summary())


def require_entries(lines: pd.DataFrame, days: Period, effect: str) -> None:
    """Fail where the days have no line entries, and say what that means."""
    from accounting_analytics.reports.books.dated_lines import has_lines

    if not has_lines(lines, days):
        raise EmptyPeriodError(f"{effect}: no line entry is of {days}; is it the right period?")


def require_loaded(lines: pd.DataFrame, days: Period) -> None:
    """Fail, after the result was printed, where lines of the loaded ledgers are missing, which may not balance."""
    from accounting_analytics.reports.books.extent import missing_reasons

    if reasons := missing_reasons(lines, days):
        raise IncompleteLoadError("; ".join(reasons))


class LedgersAndLines(NamedTuple):
    """Chart of accounts, line entries, and the cash balances that the service states, if they are needed."""

    ledgers: pd.DataFrame
    lines: pd.DataFrame
    starting_balances: pd.DataFrame | None = None


def load_books(
    client: aa.LedgerClient | aa.LocalBooks,
    days: Period,
    load: Load,
    *,
    first_day: dt.date | None = None,
    ledger: str | None = None,
    is_cashflow: bool | None = None,
    all_history: bool = False,
) -> LedgersAndLines:
    """Chart of accounts, and the lines of all its ledgers, or of one and those below it, from `first_day` on.

    Without one, `all_history` begins with the first entry of the known ledgers. The lines of the days are those of one
    moment; in the history before, a change shows in the starting balances.
    """
    from accounting_analytics.core.load_metadata import Discovery

    loaded = Period(min(first_day or days.start_date, days.start_date), days.end_date, days.time_zone)
    ledgers = load_ledgers(client, loaded, load.parents)
    discovery = Discovery.stated(ledgers)
    if discovery:
        discovery.refuse_earlier(days)
    if all_history and first_day is None and discovery and discovery.first_day:
        loaded = Period(min(discovery.first_day, loaded.start_date), days.end_date, days.time_zone)
    ids = ledgers["id"]
    if ledger is not None:
        names = aa.LedgerNames.from_frame(ledgers)
        try:
            found = names.find(ledger)
        except InputError as error:
            raise with_context(error, "payees are in `statements recurring` and `pack --section payees`") from None
        ids = ids[ids.isin(names.hierarchy.with_descendants(found))]
    lines = load_lines(client, ids, loaded, consistency=days, is_cashflow=is_cashflow, allow_partial=load.allow_partial)
    print_notes(lines)
    return LedgersAndLines(ledgers, lines)


def load_statement_books(
    client: aa.LedgerClient | aa.LocalBooks,
    days: Period,
    needed: Period,
    load: Load,
    *,
    kind: str,
    books_start: dt.date | None = None,
    with_balances: bool = True,
) -> LedgersAndLines:
    """Load the `needed` days of a statement; cash that is not summed since the books begin is what the service states.

    Of local books those that they have are loaded, if only what is compared needs more: that is not known.
    """
    from accounting_analytics.reports.books.opening import discovered_first_entry

    first, is_cash_flow = needed.start_date, kind == "cash-flow"
    if isinstance(client, aa.LocalBooks) and days.start_date >= client.period.start_date:
        first = max(first, client.period.start_date)
    needs_report = is_cash_flow and with_balances and books_start is None
    of_balances = kind in {"balance-sheet", "trial-balance"}
    since = None if of_balances and books_start is None and not isinstance(client, aa.LocalBooks) else first
    loaded = load_books(client, days, load, first_day=since, is_cashflow=is_cash_flow or None, all_history=of_balances)
    if needs_report:
        day = days.start_date
        report = aa.load_cash_flow_report(client, day, day, time_zone=days.time_zone)
        source = "; --books-start DATE sums it from line entries"
        if isinstance(client, aa.LocalBooks):
            source = f" of {client.period.start_date}, rolled forward"
        print_message(f"cash at the start is that of the service's report{source}")
        return loaded._replace(starting_balances=report.exact().starting_balances)
    if of_balances and books_start is None and discovered_first_entry(loaded.ledgers, days.time_zone) is None:
        hint = "sync the local books from" if isinstance(client, aa.LocalBooks) else "add --books-start DATE,"
        print_message(f"these are movements, not balances: {hint} the first day of the books")
    return loaded


def books_start_of(
    text: str | None,
    latest: dt.date,
    client: aa.LedgerClient | aa.LocalBooks,
    *,
    demo: bool,
    option: str = "--books-start",
) -> dt.date | None:
    """First day of the books, which are asked for until `latest`; by default that of local books or the demo."""
    if text is not None:
        first = parse_date(text, option)
        if first > latest:
            raise PeriodError(f"{option} {first} is after {latest}; it is the first day of the books")
        return first
    known = client.books_start if isinstance(client, aa.LocalBooks) else None
    if demo:
        known = demo_company.DemoCompany.start_date
    return known and min(known, latest)


def load_cash_lines(
    client: aa.LedgerClient | aa.LocalBooks, days: Period, *, only: Iterable[str] = ()
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Chart of accounts, and the lines of its required ledgers and those of cash, or named in `only`."""
    ledgers = load_ledgers(client, days)
    try:
        ids = list(dict.fromkeys(map(aa.LedgerNames.from_frame(ledgers).find, only)))
    except InputError as error:
        raise InputError(f"--ledger: {error}") from None
    is_chosen = ledgers["id"].isin(ids) if ids else ledgers["report_cash_flow"]
    return ledgers, load_lines(client, ledgers.loc[is_chosen | ledgers["is_required"], "id"], days)


class LoadedQueue(NamedTuple):
    """Chart of accounts, line entries, uncategorized transactions, and what their payees' history suggests."""

    ledgers: pd.DataFrame
    lines: pd.DataFrame
    transactions: pd.DataFrame
    suggestions: pd.DataFrame | None = None


def load_queue(
    client: aa.LedgerClient | aa.LocalBooks,
    days: Period,
    *,
    only: Iterable[str] = (),
    precision: float | None = None,
) -> LoadedQueue:
    """Load the uncategorized transactions of some days; for suggestions the year before them too."""
    from accounting_analytics.core.column_conversion import local_midnights

    if precision is None:
        ledgers, lines = load_cash_lines(client, days, only=only)
        return LoadedQueue(ledgers, lines, aa.uncategorized_queue(lines, ledgers))
    start = days.start_date
    first = start.replace(year=max(start.year - 1, 1), day=1)
    if isinstance(client, aa.LocalBooks):  # which may begin later, and have no days before
        first = min(max(first, client.period.start_date), start)
    try:
        ledgers, lines = load_cash_lines(client, Period(first, days.end_date, days.time_zone), only=only)
    except InvalidRequestError:  # some deployments refuse days before the start of the books
        ledgers, lines = load_cash_lines(client, days, only=only)
    dates = local_midnights(lines["datetime"], days.time_zone)
    of_days = lines[dates.dt.date >= start]
    transactions = aa.uncategorized_queue(of_days, ledgers)
    suggestions = aa.suggest(transactions, lines, ledgers, precision=precision)
    print_notes(suggestions)
    return LoadedQueue(ledgers, of_days, transactions, suggestions)
