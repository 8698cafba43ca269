"""What a command connects to: the configured service, the demo company's, local books, or an embedded database."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import accounting_analytics as aa
from accounting_analytics.cli.output import print_message, print_note
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accounting_analytics.cli.day_options import DayOptions
    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client.settings import Presentation
    from accounting_analytics.periods import Period
    from accounting_analytics.service.storage.store import Store


@contextmanager
def connect_service(
    profile: str | None, time_zone: str | None = None, *, use_demo: bool
) -> Iterator[tuple[LedgerClient, str]]:
    """Client of the configured service, or of the demo company, and the zone that days are counted in."""
    from accounting_analytics.client import connect
    from accounting_analytics.periods import choose_zone

    choose_zone(time_zone)  # before anything is started
    if use_demo:
        with aa.demo() as company:
            yield company.client, choose_zone(time_zone, company.time_zone).name
        return
    with connect(profile) as client:
        yield client, choose_zone(time_zone, client.time_zone).name
        if time_zone is None and client.time_zone is None:
            print_message("no time zone is configured, so the days are those of UTC")


@contextmanager
def connect_service_for_days(
    days: DayOptions, profile: str | None, time_zone: str | None = None, *, use_demo: bool
) -> Iterator[tuple[LedgerClient, Period]]:
    """Client as in :func:`connect_service`, and the days of the options in the zone that days are counted in."""
    days.require_days()
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        yield client, days.in_zone(zone)


@contextmanager
def connect_for_days(
    days: DayOptions, profile: str | None, time_zone: str | None = None, *, use_demo: bool, books: Path | None
) -> Iterator[tuple[LedgerClient | aa.Books, Period]]:
    """Local books of --books, or those that are configured in the place of a service, else a client; and the days.

    Without days they are all that local books have.
    """
    local = None if use_demo and books is None else _open_books(profile, books, use_demo=use_demo)
    if local is None:
        with connect_service_for_days(days, profile, time_zone, use_demo=use_demo) as (client, of_client):
            yield client, of_client
        return
    for note in local.notes:
        print_note(note)
    yield local, days.in_zone(time_zone or local.time_zone) if any(days) else local.period


def _open_books(profile: str | None, books: Path | None, *, use_demo: bool) -> aa.Books | None:
    """Local books of --books or of the configuration; None for a service."""
    from accounting_analytics.client.settings import load_settings

    require_one_source(books, use_demo=use_demo)
    settings = load_settings(profile)
    folder = books or (settings["books"] if settings.names_books() else None)
    return None if folder is None else aa.connect(books=folder)


def require_one_source(books: Path | None, *, use_demo: bool) -> None:
    """Refuse --demo beside --books: the demo company's service has books of its own."""
    if books is not None and use_demo:
        raise InputError("--demo and --books are both given: leave one of them out")


def refuse_books(books: Path | None, reason: str) -> None:
    """Refuse --books for a command that needs the service."""
    if books is not None:
        raise InputError(f"--books: {reason}; nothing was loaded")


def presentation_of(profile: str | None, *, use_demo: bool) -> Presentation:
    """Company, currency and fiscal year of the configuration, or of the demo company."""
    from accounting_analytics.client.settings import Presentation, load_settings
    from accounting_analytics.demo_company.served_company import COMPANY

    return Presentation(COMPANY, "USD") if use_demo else load_settings(profile).presentation()


def days_of_command(days: Period, time_zone: str | None) -> dict[str, object]:
    """Options with these days for a command to run next: dates, because a relative period is another one tomorrow."""
    return {"start_date": days.start_date, "end_date": days.end_date, "time_zone": time_zone}


@contextmanager
def open_database(database: str) -> Iterator[Store]:
    """Open the existing database of an embedded service."""
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        yield store


def configured_zone(time_zone: str | None, profile: str | None = None) -> str:
    """Zone of --time-zone, else the configured one, else UTC, for commands without a client."""
    from accounting_analytics.client.settings import load_settings

    return load_settings(profile, time_zone=time_zone)["time_zone"] or "UTC"


@contextmanager
def notebook_environment(profile: str | None, *, use_demo: bool, books: Path | None) -> Iterator[dict[str, str]]:
    """Environment variables that connect a notebook to the configured service, the demo company, or local books."""
    require_one_source(books, use_demo=use_demo)
    if books is not None:
        local = aa.connect(books=books)
        yield {"ACCOUNTING_ANALYTICS_BOOKS": str(local.folder.absolute()), "ACCOUNTING_ANALYTICS_BASE_URL": ""}
        return
    if use_demo:
        with aa.demo() as company:
            yield company.environment()
        return
    yield {} if profile is None else {"ACCOUNTING_ANALYTICS_PROFILE": profile}
