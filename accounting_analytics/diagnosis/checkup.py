"""The doctor's round: this machine, then the service, then the books."""

from __future__ import annotations

import datetime as dt
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.client import connect
from accounting_analytics.client.configuration import load_settings
from accounting_analytics.diagnosis import line_relations, relations
from accounting_analytics.diagnosis.access import knock, service_findings
from accounting_analytics.diagnosis.cached_responses import Books, Evidence, last_months
from accounting_analytics.diagnosis.diagnosis import Diagnosis
from accounting_analytics.diagnosis.finding import Finding, Part, Verdict
from accounting_analytics.diagnosis.machine import machine_findings
from accounting_analytics.errors import (
    AccountingAnalyticsError,
    InputError,
    ServiceError,
)
from accounting_analytics.periods import LOCALTIME, Period, zone
from accounting_analytics.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client.configuration import Settings

RELATIONS: tuple[tuple[str, Callable[[Books], Finding]], ...] = (
    ("identity", relations.identity),
    ("balances chain", relations.balances_chain),
    ("months add up", relations.pieces_add_up),
    ("days add up", relations.days_add_up),
    ("lines = report", line_relations.report_has_the_lines),
    ("cash filter", line_relations.cash_filter_splits),
    ("whole entries", line_relations.entries_are_whole),
    ("opposing ledgers", line_relations.opposing_ledgers_agree),
    ("tagged report", line_relations.tags_filter),
    ("page size", line_relations.pages_are_whole),
    ("expand", line_relations.expansions_are_honoured),
)
"""Checks of the books, by the name that their findings carry."""
_CONFIGURATION = "configuration"
_GAVE_OUT = "because the service failed in an earlier check"


def doctor(
    client: LedgerClient | None = None,
    start_date: dt.date | str | None = None,
    end_date: dt.date | str | None = None,
    *,
    time_zone: str | None = None,
    profile: str | None = None,
    output: str | Path = ".",
) -> Diagnosis:
    """Examine this machine, the service, and whether the service's answers agree with each other; changes nothing.

    The last is done without knowing any right figure: January + February must be January to February, the end of one
    month the start of the next, the days of a month the month, the lines of the categories those of the report, and so
    on. It asks some hundred questions about three months.

    Parameters
    ----------
    client : LedgerClient, optional
        The service; without it the configured one, and the configuration is examined too.
    start_date, end_date : datetime.date or str, optional
        Days to look at, both inclusive; without them the last three full months in which money moved.
    time_zone : str, optional
        Zone that days are counted in; without it the configured one, or UTC for a `client` that was given.
    profile : str, optional
        Profile of the configuration file, without a `client`.
    output : path
        Folder where results would be written.

    Returns
    -------
    Diagnosis
        One finding a check: ``print(diagnosis)``, ``diagnosis.frame``, ``diagnosis.exit_code``.

    Raises
    ------
    InputError
        The period or the time zone is none.
    """
    asked = _asked_period(start_date, end_date, time_zone)
    findings = machine_findings(Path(output))
    with ExitStack() as stack:
        if client is None:
            configured = _configured(profile)
            findings.insert(0, configured.finding)
            if configured.client is None:
                return Diagnosis("No service is configured as it should be.", asked, tuple(findings))
            client = stack.enter_context(configured.client)
            time_zone = time_zone or configured.time_zone
        else:
            said = "because a client was given, which needs none"
            findings.insert(0, Finding(Part.MACHINE, _CONFIGURATION, Verdict.NOT_CHECKED, said))
        subject = f"Service {client.base_url}, instance {client.instance_id}"
        period = asked and Period(asked.start_date, asked.end_date, time_zone or "UTC")
        examined = _examine(client, period, time_zone or "UTC")
        return Diagnosis(subject, examined.period, (*findings, *examined.findings))


class _Configured(NamedTuple):
    """What the configuration gives."""

    client: LedgerClient | None
    time_zone: str
    finding: Finding


class _Examined(NamedTuple):
    """Findings about service and books, and the days looked at."""

    period: Period | None
    findings: tuple[Finding, ...]


def _asked_period(
    start_date: dt.date | str | None, end_date: dt.date | str | None, time_zone: str | None
) -> Period | None:
    """Period that was asked for; its zone may still be the configured one."""
    if time_zone not in {None, LOCALTIME}:
        zone(str(time_zone))
    if start_date is None and end_date is None:
        return None
    if start_date is None or end_date is None:
        msg = "give both start_date and end_date, or neither: then the last full months are looked at"
        raise InputError(msg)
    return Period.of(start_date, end_date, time_zone or "UTC")


def _configured(profile: str | None) -> _Configured:
    """Client of the configured service, and where its settings come from."""
    try:
        settings = load_settings(profile)
        if settings.time_zone != LOCALTIME:
            zone(settings.time_zone)
        client = connect(profile)
    except InputError as error:
        step = "see what is in force with: accounting-analytics config show"
        return _Configured(None, "UTC", Finding(Part.MACHINE, _CONFIGURATION, Verdict.FAILED, str(error), step))
    said = f"found: {_sources(settings)}"
    return _Configured(client, settings.time_zone, Finding(Part.MACHINE, _CONFIGURATION, Verdict.OK, said))


def _sources(settings: Settings) -> str:
    """Which settings come from where; no value of any."""
    by_source: dict[str, list[str]] = {}
    for one in settings.settings:
        if one.value and one.source != "default":
            by_source.setdefault(one.source.partition(" ACCOUNTING")[0], []).append(one.name)
    return "; ".join(f"{', '.join(names)} from {source}" for source, names in by_source.items())


def _examine(client: LedgerClient, period: Period | None, time_zone: str) -> _Examined:
    """Examine a service, and its books when it lets us in."""
    today = _today(time_zone)
    day = Period(today, today, time_zone) if period is None else Period(period.end_date, period.end_date, time_zone)
    opened = knock(client, day)
    findings = service_findings(client, day, opened)
    if opened.error is not None:
        return _Examined(period, (*findings, *_none_checked("because the service let us read no report")))
    evidence = Evidence(client)
    if period is None:
        try:
            period = last_months(evidence, today, time_zone)
        except AccountingAnalyticsError as error:
            return _Examined(None, (*findings, *_ended("identity", error), *_none_checked(_GAVE_OUT)[1:]))
    if period is None:
        why = "because no money moved in the last twelve months; give a period (--start-date, --end-date)"
        return _Examined(None, (*findings, *_none_checked(why)))
    return _Examined(period, (*findings, *books_findings(Books(evidence, period))))


def books_findings(books: Books) -> Iterator[Finding]:
    """All findings about the books; when the service gives out, the rest is not checked."""
    told: dict[int, str] = {}
    gave_out = False
    with progress_bar(None, total=len(RELATIONS), desc="checks of the books", unit=" checks") as bar:
        for name, relation in RELATIONS:
            bar.update()
            if gave_out:
                yield Finding(Part.BOOKS, name, Verdict.NOT_CHECKED, _GAVE_OUT)
                continue
            try:
                yield relation(books)
            except AccountingAnalyticsError as error:
                if id(error) in told:
                    why = f"because of the same trouble as in {told[id(error)]}"
                    yield Finding(Part.BOOKS, name, Verdict.NOT_CHECKED, why)
                    continue
                told[id(error)] = name
                gave_out = isinstance(error, ServiceError)
                yield from _ended(name, error)


def _ended(name: str, error: AccountingAnalyticsError) -> Iterator[Finding]:
    """Find that an error ended a check."""
    step = "see what it says, then run the doctor again"
    yield Finding(Part.BOOKS, name, Verdict.FAILED, str(error), step, error_code=error.exit_code)


def _none_checked(why: str) -> list[Finding]:
    return [Finding(Part.BOOKS, name, Verdict.NOT_CHECKED, why) for name, _ in RELATIONS]


def _today(time_zone: str) -> dt.date:
    return dt.datetime.now(dt.UTC if time_zone == LOCALTIME else zone(time_zone)).date()
