"""The doctor: checks of this machine, the service, and its responses."""

from __future__ import annotations

import datetime as dt
import email.utils
import importlib
import shutil
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from accounting_analytics.client import LedgerClient, connect
from accounting_analytics.client.http import is_loopback
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
from accounting_analytics.core.installed_programs import letters_without_font, lists_fonts
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.periods import LOCALTIME, Period, as_utc, choose_zone, time_zone_names, zone
from accounting_analytics.core.progress import progress_bar
from accounting_analytics.diagnosis.books_checks import BOOKS_CHECKS, CheckedBooks
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
    from pathlib import Path

    from accounting_analytics.client import Quota
    from accounting_analytics.client.settings import Settings
    from accounting_analytics.core.periods import DateLike, ZoneLike

_SCRIPTS = {"Chinese": "中", "Japanese": "あ", "Korean": "한", "Arabic": "ع", "Devanagari": "अ", "Thai": "ก"}
_MB = 1 << 20
_RECOMMENDED_MB, _REQUIRED_MB = 1024, 50
_ATTEMPT_SECONDS, _CALL_SECONDS, _ATTEMPTS = 20.0, 45.0, 2
_WARN_SKEW, _FAIL_SKEW = 60.0, 300.0
_DOCUMENTED_RATE = 320
_NO_RESPONSE = (TransportError, DeadlineExceededError, ProtocolError, ServerFaultError)
_CHECK_CONNECTION = (
    "check the address (ACCOUNTING_ANALYTICS_BASE_URL, or ACCOUNTING_ANALYTICS_TOKEN_URL of a token), the network and "
    "its proxy; is the service running?"
)
_DID_NOT_RESPOND = "because the service did not respond"
NO_REPORT = "because no report could be read"
_CONFIGURATION = "configuration"
_SERVICE_FAILED = "because the service failed in an earlier check"


def doctor(
    client: LedgerClient | None = None,
    start_date: DateLike | None = None,
    end_date: DateLike | None = None,
    *,
    time_zone: ZoneLike | None = None,
    profile: str | None = None,
    scale: int | None = None,
    output: str | Path = ".",
) -> Diagnosis:
    """Check this machine, the service, and the agreement of the service's responses; changes nothing.

    The lines of a month must be complete, and its report must follow from them and the balances before it. Further, the
    reports of January and February must sum to that of January to February, and those of the days of a month to that of
    the month. That is about fifty requests for three months.

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
    scale : int, optional
        Fraction digits of the currency, without a `client`; as configured by default.
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
            configured, finding = check_configuration(profile, scale)
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
    """Return the requested period. The client's time zone may later replace its time zone."""
    name = choose_zone(time_zone).name
    if start_date is None and end_date is None:
        return None
    if start_date is None or end_date is None:
        raise InputError("give both start_date and end_date, or neither: then the last full months are checked")
    return Period(start_date, end_date, name)


def check_configuration(profile: str | None, scale: int | None) -> tuple[LedgerClient | None, Finding]:
    """Connect to the configured service. The finding says where its settings come from."""
    try:
        settings = load_settings(profile, scale=scale)
        client = connect(profile, scale=scale)
    except InputError as error:
        client, found = None, failed(str(error), "show the settings in effect with: accounting-analytics config show")
    else:
        found = passed(f"found: {_setting_sources(settings)}")
    return client, found._replace(part=Part.MACHINE, check=_CONFIGURATION)


def _setting_sources(settings: Settings) -> str:
    """List the names of settings by source, without values."""
    by_source: dict[str, list[str]] = {}
    for setting in settings.settings:
        if setting.value and setting.source != "default":
            by_source.setdefault(setting.source.partition(" ACCOUNTING")[0], []).append(setting.name)
    return "; ".join(f"{', '.join(names)} from {source}" for source, names in by_source.items())


def check_service_and_books(
    client: LedgerClient, period: Period | None, time_zone: str
) -> tuple[Period | None, tuple[Finding, ...]]:
    """Check a service and its books, and return the checked days and the findings."""
    today = dt.datetime.now(zone(time_zone)).date()
    day = Period(today, today, time_zone) if period is None else Period(period.end_date, period.end_date, time_zone)
    first = request_first_report(client, day)
    of_service = check_service(client, day, first)
    books = CheckedBooks(client, period, today, time_zone)
    of_books = check_books(books, "" if first.error is None else NO_REPORT)
    return books.checked_days, (*of_service, *of_books)


def check_books(books: CheckedBooks, reason: str = "") -> list[Finding]:
    """Return all findings about the books. If a `reason` is given, nothing is checked."""
    found = []

    def skip(_: CheckedBooks) -> Finding:
        raise NotCheckedError(reason)

    with progress_bar(None, total=len(BOOKS_CHECKS), desc="checks of the books", unit=" checks") as bar:
        for name, check in BOOKS_CHECKS.items():
            bar.update()
            found.append(run_check(Part.BOOKS, name, skip if reason else check, books))
            if found[-1].error_code == ServiceError.exit_code:
                reason = _SERVICE_FAILED
    return found


def check_machine(output: Path) -> list[Finding]:
    """Return all findings about this machine. `output` is the folder for results."""
    return [
        run_check(Part.MACHINE, "time zones", check_time_zones),
        run_check(Part.MACHINE, "disk", check_disk, output),
        run_check(
            Part.MACHINE,
            "JupyterLab",
            check_library,
            "jupyterlab",
            "notebooks cannot be opened (accounting-analytics demo --lab)",
        ),
        run_check(Part.MACHINE, "fonts", check_fonts),
        run_check(Part.MACHINE, "plotly", check_library, "plotly", "charts cannot be drawn"),
    ]


def check_time_zones() -> Finding:
    """Check that this machine has data for every time zone of the interface."""
    names, missing = sorted(time_zone_names() - {LOCALTIME}), []
    for name in names:
        try:
            zone(name)
        except PeriodError:  # zones with a damaged file are also listed
            missing.append(name)
    if missing:
        return failed(
            f"{len(missing)} of {len(names)} zones of the interface have no data here, such as {missing[0]}: days "
            "cannot be counted in them",
            "install it with: pip install tzdata",
        )
    return passed(f"{len(names)} zones have data here")


def check_disk(folder: Path) -> Finding:
    """Check that results can be written and have enough space."""
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


def check_fonts() -> Finding:
    """Find scripts without a font, whose letters become boxes in PDFs."""
    if not lists_fonts():
        return passed("not checked: fc-list of fontconfig, which lists them, is not installed")
    without_font = set(letters_without_font("".join(_SCRIPTS.values())))
    missing = [name for name, letters in _SCRIPTS.items() if without_font.intersection(letters)]
    if missing:
        return passed(f"none for {', '.join(missing)}: a PDF of a pack has boxes for their letters")
    return passed(f"for {', '.join(_SCRIPTS)}")


def check_library(module: str, consequence: str) -> Finding:
    """Check that a library can be imported. `consequence` says what is not possible without it."""
    try:
        library = importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 (a broken library may raise anything)
        return warning(f"{consequence}: {type(error).__name__}: {error}", f"install it with: pip install {module}")
    return passed(f"{getattr(library, '__version__', 'of unknown version')} can be imported")


@dataclass(frozen=True)
class FirstResponse:
    """Result of the first request to the service."""

    error: AccountingAnalyticsError | None  # why there is no report
    date: str | None = None  # header of the response
    local_timestamp: float = 0.0  # clock of this machine, half-way between request and response
    seconds: float = 0.0  # duration of the request
    cash_ledgers: tuple[str, ...] = ()

    @property
    def is_from_service(self) -> bool:
        """True if a working service responded, even with a refusal."""
        return not isinstance(self.error, _NO_RESPONSE)

    def require_report(self) -> None:
        """End a check that needs a report, if there is none."""
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
    """Return all findings about the service and the client's permissions."""
    return [
        run_check(Part.SERVICE, "reachable", check_reachable, client.base_url, first),
        run_check(Part.SERVICE, "authentication", check_authentication, client.instance_id, first),
        run_check(Part.SERVICE, "clock", check_clock, first),
        run_check(Part.SERVICE, "read reports", check_read_reports, first),
        run_check(Part.SERVICE, "read line entries", check_read_line_entries, client, day, first),
        run_check(Part.SERVICE, "change the books", check_changes),
        run_check(Part.SERVICE, "rate limit", check_rate_limit, client.quota, first),
    ]


def check_reachable(base_url: str, first: FirstResponse) -> Finding:
    """Check that a Ledger Accounting Service responds at the address."""
    if not first.is_from_service:
        return failed(str(first.error), _CHECK_CONNECTION)
    parts = urlsplit(base_url)
    duration = f" in {first.seconds * 1000:.0f} ms" if first.error is None else ""
    if parts.scheme == "https":
        return passed(f"{base_url} responds{duration}, over TLS")
    if is_loopback(parts.hostname or ""):
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
    """Check that the clock of this machine agrees with the clock of the service."""
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
    raise first.error


def check_read_line_entries(client: LedgerClient, day: Period, first: FirstResponse) -> Finding:
    """Check that line entries can be read."""
    first.require_report()
    if not first.cash_ledgers:
        raise NotCheckedError("because no ledger reports cash flow, so there is none to list")
    client.list_line_entries(first.cash_ledgers[0], day.start_date, day.end_date, time_zone=day.time_zone, limit=1)
    return passed("line entries of a ledger can be listed")


def check_changes() -> Finding:
    """Return the finding that permission to change the books is never checked."""
    raise NotCheckedError("because only a change would show it, and the doctor changes nothing")


def check_rate_limit(quota: Quota, first: FirstResponse) -> Finding:
    """Return a finding with the rate limit that the service states."""
    if isinstance(first.error, RateLimitedError):
        return failed(str(first.error), "wait a minute; is another program using this instance?")
    first.require_report()
    if quota.limit is None:
        return passed(f"the service states no limit (the documented limit is {_DOCUMENTED_RATE} requests per minute)")
    left = "" if quota.remaining is None else f", {quota.remaining} left now"
    return passed(f"{quota.limit} requests per minute{left}")


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return count_of(minutes, "minute") if minutes < 120 else count_of(minutes // 60, "hour")  # noqa: PLR2004 (two hours)
