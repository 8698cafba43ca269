"""The doctor: whether this machine is ready, the service gives access, and its responses agree with each other."""

from __future__ import annotations

import datetime as dt
import email.utils
import importlib
import ipaddress
import shutil
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from accounting_analytics.client import LedgerClient, connect
from accounting_analytics.client.records import flattened
from accounting_analytics.client.settings import load_settings
from accounting_analytics.core.arguments import require_type, to_path
from accounting_analytics.core.errors import (
    AccountingAnalyticsError,
    AuthenticationError,
    DeadlineExceededError,
    InputError,
    NotFoundError,
    PeriodError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitedError,
    ServerFaultError,
    ServiceError,
    TransportError,
)
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.periods import LOCALTIME, Period, as_utc, choose_zone, time_zone_names, zone
from accounting_analytics.core.progress import progress_bar
from accounting_analytics.diagnosis.books_checks import BOOKS_CHECKS, BooksReader, BooksSample, find_last_months
from accounting_analytics.diagnosis.findings import (
    Diagnosis,
    Finding,
    NotCheckedError,
    Part,
    Verdict,
    failed,
    passed,
    run_check,
    warning,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from accounting_analytics.client import Quota
    from accounting_analytics.client.settings import Settings
    from accounting_analytics.core.periods import DateLike, ZoneLike

_MB = 1 << 20
_RECOMMENDED_MB, _REQUIRED_MB = 1024, 50
_ATTEMPT_SECONDS, _CALL_SECONDS, _ATTEMPTS = 20.0, 45.0, 2
_WARN_SKEW, _FAIL_SKEW = 60.0, 300.0
_DOCUMENTED_RATE = 320
_UNKNOWN_TAG = "accounting-analytics-doctor"
_NO_RESPONSE = (TransportError, DeadlineExceededError, ProtocolError, ServerFaultError)
_CHECK_CONNECTION = (
    "check the address (ACCOUNTING_ANALYTICS_BASE_URL, or ACCOUNTING_ANALYTICS_TOKEN_URL of a token), the network and "
    "its proxy; is the service running?"
)
_DID_NOT_RESPOND = "because the service did not respond"
NO_REPORT = "because no report could be read"
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
            configured, finding = check_configuration(profile)
            findings.insert(0, finding)
            if configured is None:
                return Diagnosis("The configuration of the service is not usable.", requested, tuple(findings))
            client = stack.enter_context(configured)
        else:
            require_type(
                client, LedgerClient, "client", "connect() returns one; leave it out to check the configuration"
            )
            reason = "because a client was passed, which needs none"
            findings.insert(0, Finding(Verdict.NOT_CHECKED, reason, part=Part.MACHINE, check=_CONFIGURATION))
        subject = f"Service {client.base_url}, instance {client.instance_id}"
        days_in = choose_zone(time_zone, client.time_zone).name
        period = requested and Period(requested.start_date, requested.end_date, days_in)
        checked_days, of_service = check_service_and_books(client, period, days_in)
        return Diagnosis(subject, checked_days, (*findings, *of_service))


def _parse_period(start_date: DateLike | None, end_date: DateLike | None, time_zone: ZoneLike | None) -> Period | None:
    """Return the requested period; the client may still replace its zone."""
    name = choose_zone(time_zone).name
    if start_date is None and end_date is None:
        return None
    if start_date is None or end_date is None:
        raise InputError("give both start_date and end_date, or neither: then the last full months are checked")
    return Period(start_date, end_date, name)


def check_configuration(profile: str | None) -> tuple[LedgerClient | None, Finding]:
    """Connect to the configured service; the finding reports the sources of its settings."""
    try:
        settings = load_settings(profile)
        client = connect(profile)
    except InputError as error:
        client, found = None, failed(str(error), "show the settings in effect with: accounting-analytics config show")
    else:
        found = passed(f"found: {_setting_sources(settings)}")
    return client, found._replace(part=Part.MACHINE, check=_CONFIGURATION)


def _setting_sources(settings: Settings) -> str:
    """Names of the settings by source, without values."""
    by_source: dict[str, list[str]] = {}
    for setting in settings.settings:
        if setting.value and setting.source != "default":
            by_source.setdefault(setting.source.partition(" ACCOUNTING")[0], []).append(setting.name)
    return "; ".join(f"{', '.join(names)} from {source}" for source, names in by_source.items())


def check_service_and_books(
    client: LedgerClient, period: Period | None, time_zone: str
) -> tuple[Period | None, tuple[Finding, ...]]:
    """Check a service, and its books if a report can be read; return the days that were checked, and the findings."""
    today = _today(time_zone)
    day = Period(today, today, time_zone) if period is None else Period(period.end_date, period.end_date, time_zone)
    first = request_first_report(client, day)
    findings = check_service(client, day, first)
    if first.error is not None:
        return (period, (*findings, *_not_checked(BOOKS_CHECKS, NO_REPORT)))
    reader = BooksReader(client)
    if period is None:
        try:
            period = find_last_months(reader, today, time_zone)
        except AccountingAnalyticsError as error:
            failure, *others = BOOKS_CHECKS
            ended = failed(str(error), _READ_MESSAGE, error.exit_code)._replace(check=failure)
            return (None, (*findings, ended, *_not_checked(others, _SERVICE_FAILED)))
    if period is None:
        return (None, (*findings, *_not_checked(BOOKS_CHECKS, _NO_RECENT_CASH_FLOW)))
    return (period, (*findings, *check_books(BooksSample(reader, period))))


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


def check_machine(output: Path) -> list[Finding]:
    """All findings about this machine; `output` is the folder for results."""
    checks: dict[str, Callable[[], Finding]] = {
        "time zones": check_time_zones,
        "disk": lambda: check_disk(output),
        "JupyterLab": lambda: check_library("jupyterlab", "notebooks cannot be opened (make lab)"),
        "plotly": lambda: check_library("plotly", "charts cannot be drawn"),
    }
    return [run_check(Part.MACHINE, name, check) for name, check in checks.items()]


def check_time_zones() -> Finding:
    """Check that every zone of the interface has data here."""
    names = time_zone_names() - {LOCALTIME}
    missing = sorted(name for name in names if not _has_data(name))
    if missing:
        return failed(
            f"{len(missing)} of {len(names)} zones of the interface have no data here, such as {missing[0]}: days "
            "cannot be counted in them",
            "install it with: pip install tzdata",
        )
    return passed(f"{len(names)} zones have data here")


def check_disk(folder: Path) -> Finding:
    """Check that results can be written, and that there is space for them."""
    existing = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.is_dir())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"written")
            file.flush()
        free = shutil.disk_usage(existing).free // _MB
    except OSError as error:
        message = f"cannot write to {existing}: {error.strerror or error}"
        return failed(message, "give another output folder")
    message = f"{free:,} MB free in {existing}"
    if free >= _RECOMMENDED_MB:
        return passed(message)
    result = warning if free >= _REQUIRED_MB else failed
    return result(f"only {message}", "free some space, or give another output folder")


def check_library(module: str, consequence: str) -> Finding:
    """Check that a library can be imported; `consequence` says what does not work without it."""
    try:
        library = importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 (a broken library may raise anything)
        return warning(f"{consequence}: {type(error).__name__}: {error}", f"install it with: pip install {module}")
    return passed(f"{getattr(library, '__version__', 'of unknown version')} can be imported")


def _has_data(name: str) -> bool:
    """Whether a zone can be read; a damaged file of it is listed too."""
    try:
        zone(name)
    except PeriodError:
        return False
    return True


@dataclass(frozen=True)
class FirstResponse:
    """Result of the first request to the service."""

    error: AccountingAnalyticsError | None  # why there was no report
    date: str | None = None  # header of the response
    local_timestamp: float = 0.0  # clock of this machine, half-way between request and response
    seconds: float = 0.0  # duration of the request
    cash_ledgers: tuple[str, ...] = ()

    @property
    def is_from_service(self) -> bool:
        """Whether a working service responded, even if it refused the request."""
        return not isinstance(self.error, _NO_RESPONSE)

    def require_report(self) -> None:
        """End a check that needs a report."""
        if self.error is not None:
            raise NotCheckedError(NO_REPORT)


def request_first_report(client: LedgerClient, day: Period) -> FirstResponse:
    """Request the report of one day, with short timeouts and one retry."""
    quick_client = client.with_options(timeout=_ATTEMPT_SECONDS, deadline=_CALL_SECONDS, max_attempts=_ATTEMPTS)
    started, timestamp = time.monotonic(), time.time()
    try:
        report = quick_client.retrieve_cash_flow_report(day.start_date, day.end_date, time_zone=day.time_zone)
        seconds = time.monotonic() - started
    except AccountingAnalyticsError as error:
        return FirstResponse(error.with_traceback(None))
    balances = flattened((*report.starting_balances, *report.ending_balances))
    cash_ledgers = tuple(dict.fromkeys(balance.ledger_id for balance in balances))
    return FirstResponse(None, quick_client.quota.date, timestamp + seconds / 2, seconds, cash_ledgers)


def check_service(client: LedgerClient, day: Period, first: FirstResponse) -> list[Finding]:
    """All findings about the service and the client's permissions."""
    checks: dict[str, Callable[[], Finding]] = {
        "reachable": lambda: check_reachable(client.base_url, first),
        "authentication": lambda: check_authentication(client.instance_id, first),
        "clock": lambda: check_clock(first),
        "read reports": lambda: check_read_reports(first),
        "read line entries": lambda: check_read_line_entries(client, day, first),
        "filter by tags": lambda: check_tag_filter(client, day, first),
        "change the books": check_changes,
        "rate limit": lambda: check_rate_limit(client.quota, first),
    }
    return [run_check(Part.SERVICE, name, check) for name, check in checks.items()]


def check_reachable(base_url: str, first: FirstResponse) -> Finding:
    """Check that a Ledger Accounting Service responds at the address."""
    if not first.is_from_service:
        return failed(str(first.error), _CHECK_CONNECTION)
    parts = urlsplit(base_url)
    duration = f" in {first.seconds * 1000:.0f} ms" if first.error is None else ""
    if parts.scheme == "https":
        return passed(f"{base_url} responds{duration}, over TLS")
    if _is_this_machine(parts.hostname or ""):
        return passed(f"{base_url} responds{duration}; plain HTTP, on this machine only")
    return warning(
        f"{base_url} responds{duration}, but over plain HTTP: the token and the books can be read on the network",
        "use its https address",
    )


def check_authentication(instance_id: str, first: FirstResponse) -> Finding:
    """Check that the token is valid and gives access to the instance."""
    error = first.error
    if not first.is_from_service:
        raise NotCheckedError(_DID_NOT_RESPOND)
    if isinstance(error, AuthenticationError):
        return failed(str(error), "get a new token, and write it to the file of ACCOUNTING_ANALYTICS_TOKEN_FILE")
    if isinstance(error, NotFoundError):
        return failed(
            f"the service does not know the instance {instance_id!r}, or this token gives no access to it ({error})",
            "check ACCOUNTING_ANALYTICS_INSTANCE_ID, whether the token is for this instance, and the path of the URL",
        )
    if error is None or isinstance(error, PermissionDeniedError):
        return passed(f"the token gives access to instance {instance_id}")
    raise NotCheckedError(f"because the service refused the request: {error}")


def check_clock(first: FirstResponse) -> Finding:
    """Check that this machine's clock agrees with the service's."""
    if first.error is not None:
        raise NotCheckedError("because there is no response to compare with")
    try:
        service_time = email.utils.parsedate_to_datetime(first.date or "")
    except ValueError:
        raise NotCheckedError("because the service's responses have no readable date") from None
    # the header has whole seconds, rounded down
    skew = first.local_timestamp - (as_utc(service_time).timestamp() + 0.5)
    if abs(skew) <= _WARN_SKEW:
        return passed("this machine's and the service's agree to a minute")
    result = failed if abs(skew) > _FAIL_SKEW else warning
    return result(
        f"this machine's is {_duration(abs(skew))} {'ahead of' if skew > 0 else 'behind'} the service's: tokens "
        "expire too early or too late, and around midnight the two are on different days",
        "set this machine's clock (timedatectl set-ntp true), or report it to the operator of the service",
    )


def check_read_reports(first: FirstResponse) -> Finding:
    """Check that the cash flow report can be read."""
    if first.error is None:
        return passed("the cash flow report can be read")
    if not first.is_from_service:
        raise NotCheckedError(_DID_NOT_RESPOND)
    if isinstance(first.error, AuthenticationError | NotFoundError):
        raise NotCheckedError("because the service gave no access")
    if isinstance(first.error, PermissionDeniedError):
        step = "ask the issuer of the token for permission to read reports"
    else:
        step = "read the message; nothing else can be checked until a report can be read"
    return failed(str(first.error), step, first.error.exit_code)


def check_read_line_entries(client: LedgerClient, day: Period, first: FirstResponse) -> Finding:
    """Check that line entries can be read."""
    first.require_report()
    if not first.cash_ledgers:
        raise NotCheckedError("because no ledger reports cash flow, so there is none to list")
    try:
        client.list_line_entries(first.cash_ledgers[0], day.start_date, day.end_date, time_zone=day.time_zone, limit=1)
    except AccountingAnalyticsError as error:
        return failed(str(error), "ask the issuer of the token for permission to read line entries", error.exit_code)
    return passed("line entries of a ledger can be listed")


def check_tag_filter(client: LedgerClient, day: Period, first: FirstResponse) -> Finding:
    """Request a report by an unknown tag, to learn whether the subscription includes reports by tag."""
    first.require_report()
    try:
        client.retrieve_cash_flow_report(day.start_date, day.end_date, time_zone=day.time_zone, tag_ids=(_UNKNOWN_TAG,))
    except PermissionDeniedError:
        return warning(
            "the service refuses (403): reports by tag need a Tier 3 subscription; everything else works without",
            "omit tag_ids, or load line entries with tag_ids instead",
        )
    except NotFoundError:
        raise NotCheckedError(
            "because the service refuses unknown tags (404), which is not conclusive; see: tagged report"
        ) from None
    except AccountingAnalyticsError as error:
        raise NotCheckedError(f"because the service refused an unknown tag: {error}") from error
    return passed("reports can be filtered by tags (Tier 3)")


def check_changes() -> Finding:
    """Report that permission to change the books is never checked."""
    return Finding(Verdict.NOT_CHECKED, "because only a change would show it, and the doctor changes nothing")


def check_rate_limit(quota: Quota, first: FirstResponse) -> Finding:
    """Report the rate limit that the service states."""
    if isinstance(first.error, RateLimitedError):
        return failed(str(first.error), "wait a minute; is another program using this instance?")
    first.require_report()
    if quota.limit is None:
        return passed(f"the service states no limit (the documented limit is {_DOCUMENTED_RATE} requests per minute)")
    left = "" if quota.remaining is None else f", {quota.remaining} left now"
    return passed(f"{quota.limit} requests per minute{left}")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return count_of(minutes, "minute") if minutes < 120 else count_of(minutes // 60, "hour")  # noqa: PLR2004 (two hours)
