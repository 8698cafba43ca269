"""The doctor: checks this machine, then the service, then the books."""

from __future__ import annotations

import datetime as dt
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.arguments import require_type, to_path
from accounting_analytics.client import LedgerClient, connect
from accounting_analytics.client.settings import load_settings
from accounting_analytics.diagnosis import agreement_checks
from accounting_analytics.diagnosis.books_sample import BooksReader, BooksSample, find_last_months
from accounting_analytics.diagnosis.findings import (
    Diagnosis,
    Finding,
    NotCheckedError,
    Part,
    Verdict,
    failed,
    passed,
    run_check,
)
from accounting_analytics.diagnosis.service_checks import NO_REPORT, check_machine, check_service, request_first_report
from accounting_analytics.errors import (
    AccountingAnalyticsError,
    InputError,
    ServiceError,
)
from accounting_analytics.periods import LOCALTIME, Period, choose_zone, zone
from accounting_analytics.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from accounting_analytics.client.settings import Settings
    from accounting_analytics.periods import DateLike, ZoneLike

BOOKS_CHECKS: dict[str, Callable[[BooksSample], Finding]] = {
    "months add up": agreement_checks.check_parts_sum,
    "days add up": agreement_checks.check_days_sum,
    "complete": agreement_checks.check_complete,
    "reconciled": agreement_checks.check_reconciliation,
    "cash filter": agreement_checks.check_cash_filter,
    "opposing ledgers": agreement_checks.check_opposing_ledgers,
    "tagged report": agreement_checks.check_tag_filter,
    "page size": agreement_checks.check_page_sizes,
    "expand": agreement_checks.check_expansions,
}
"""Checks of the books, by the names of their findings."""
_CONFIGURATION = "configuration"
_READ_MESSAGE = "read the message, then run the doctor again"
_SERVICE_FAILED = "because the service failed in an earlier check"
_NO_RECENT_CASH_FLOW = (
    "because there is no cash flow in the last twelve months; give a period (--start-date, --end-date)"
)


def doctor(
    client: LedgerClient | None = None,
    start_date: DateLike | None = None,
    end_date: DateLike | None = None,
    *,
    time_zone: ZoneLike | None = None,
    profile: str | None = None,
    output: str | Path = ".",
) -> Diagnosis:
    """Check this machine, the service, and whether the service's responses agree with each other; changes nothing.

    The lines of a month must be complete, and its report what they make of the balances before it. Other checks of the
    books need no right figures: January + February must be January to February, the days of a month the month, and so
    on. They send about a hundred requests for three months.

    Parameters
    ----------
    client : LedgerClient, optional
        The service; without it the configured one, and the configuration is checked too.
    start_date, end_date : date-like, optional
        Days to check, both inclusive; without them the last three full months with cash flow.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default the client's, else UTC.
    profile : str, optional
        Profile of the configuration file, without a `client`.
    output : path
        Folder where results would be written.

    Returns
    -------
    Diagnosis
        One finding for each check: ``print(diagnosis)``, ``diagnosis.frame``, ``diagnosis.exit_code``.

    Raises
    ------
    InputError
        The client, the period or the time zone is not valid.
    """
    requested = _parse_period(start_date, end_date, time_zone)
    findings = check_machine(to_path(output, "output"))
    with ExitStack() as stack:
        if client is None:
            configured = _check_configuration(profile)
            findings.insert(0, configured.finding)
            if configured.client is None:
                return Diagnosis("The configuration of the service is not usable.", requested, tuple(findings))
            client = stack.enter_context(configured.client)
        else:
            require_type(
                client, LedgerClient, "client", "connect() returns one; leave it out to check the configuration"
            )
            reason = "because a client was passed, which needs none"
            findings.insert(0, Finding(Verdict.NOT_CHECKED, reason, part=Part.MACHINE, check=_CONFIGURATION))
        subject = f"Service {client.base_url}, instance {client.instance_id}"
        days_in = choose_zone(time_zone, client.time_zone).name
        period = requested and Period(requested.start_date, requested.end_date, days_in)
        checked = check_service_and_books(client, period, days_in)
        return Diagnosis(subject, checked.period, (*findings, *checked.findings))


class _Configured(NamedTuple):
    """Client of the configuration, and the finding about it."""

    client: LedgerClient | None
    finding: Finding


class CheckedBooks(NamedTuple):
    """Findings about service and books, and the days that were checked."""

    period: Period | None
    findings: tuple[Finding, ...]


def _parse_period(start_date: DateLike | None, end_date: DateLike | None, time_zone: ZoneLike | None) -> Period | None:
    """Return the requested period; the client may still replace its zone."""
    name = choose_zone(time_zone).name
    if start_date is None and end_date is None:
        return None
    if start_date is None or end_date is None:
        raise InputError("give both start_date and end_date, or neither: then the last full months are checked")
    return Period(start_date, end_date, name)


def _check_configuration(profile: str | None) -> _Configured:
    """Connect to the configured service, and report the sources of its settings."""
    try:
        settings = load_settings(profile)
        client = connect(profile)
    except InputError as error:
        client, found = None, failed(str(error), "show the settings in effect with: accounting-analytics config show")
    else:
        found = passed(f"found: {_setting_sources(settings)}")
    return _Configured(client, found._replace(part=Part.MACHINE, check=_CONFIGURATION))


def _setting_sources(settings: Settings) -> str:
    """Names of the settings by source, without values."""
    by_source: dict[str, list[str]] = {}
    for setting in settings.settings:
        if setting.value and setting.source != "default":
            by_source.setdefault(setting.source.partition(" ACCOUNTING")[0], []).append(setting.name)
    return "; ".join(f"{', '.join(names)} from {source}" for source, names in by_source.items())


def check_service_and_books(client: LedgerClient, period: Period | None, time_zone: str) -> CheckedBooks:
    """Check a service, and its books if a report can be read."""
    today = _today(time_zone)
    day = Period(today, today, time_zone) if period is None else Period(period.end_date, period.end_date, time_zone)
    first = request_first_report(client, day)
    findings = check_service(client, day, first)
    if first.error is not None:
        return CheckedBooks(period, (*findings, *_not_checked(BOOKS_CHECKS, NO_REPORT)))
    reader = BooksReader(client)
    if period is None:
        try:
            period = find_last_months(reader, today, time_zone)
        except AccountingAnalyticsError as error:
            failure, *others = BOOKS_CHECKS
            ended = failed(str(error), _READ_MESSAGE, error.exit_code)._replace(check=failure)
            return CheckedBooks(None, (*findings, ended, *_not_checked(others, _SERVICE_FAILED)))
    if period is None:
        return CheckedBooks(None, (*findings, *_not_checked(BOOKS_CHECKS, _NO_RECENT_CASH_FLOW)))
    return CheckedBooks(period, (*findings, *check_books(BooksSample(reader, period))))


def check_books(books: BooksSample) -> Iterator[Finding]:
    """All findings about the books; once the service fails, the remaining checks are skipped."""
    service_failed = False

    def checked(name: str) -> Finding:
        nonlocal service_failed
        if service_failed:
            raise NotCheckedError(_SERVICE_FAILED)
        try:
            return BOOKS_CHECKS[name](books)
        except AccountingAnalyticsError as error:
            service_failed = isinstance(error, ServiceError)
            return failed(str(error), _READ_MESSAGE, error.exit_code)

    with progress_bar(None, total=len(BOOKS_CHECKS), desc="checks of the books", unit=" checks") as bar:
        for name in BOOKS_CHECKS:
            bar.update()
            yield run_check(Part.BOOKS, name, partial(checked, name))


def _not_checked(names: Iterable[str], reason: str) -> list[Finding]:
    return [Finding(Verdict.NOT_CHECKED, reason, check=name) for name in names]


def _today(time_zone: str) -> dt.date:
    return dt.datetime.now(dt.UTC if time_zone == LOCALTIME else zone(time_zone)).date()
