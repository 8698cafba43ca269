"""Checks of the machine and of the service."""

from __future__ import annotations

import email.utils
import ipaddress
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from accounting_analytics.client.records import flattened
from accounting_analytics.diagnosis.findings import (
    Finding,
    NotCheckedError,
    Part,
    Verdict,
    failed,
    passed,
    run_check,
    warning,
)
from accounting_analytics.errors import (
    AccountingAnalyticsError,
    AuthenticationError,
    DeadlineExceededError,
    NotFoundError,
    PeriodError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitedError,
    ServerFaultError,
    TransportError,
)
from accounting_analytics.messages import count_of
from accounting_analytics.periods import LOCALTIME, as_utc, time_zone_names, zone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accounting_analytics.client import LedgerClient, Quota
    from accounting_analytics.periods import Period


_MB = 1 << 20
_RECOMMENDED_MB, _REQUIRED_MB = 1024, 50
_SECONDS = 60
_IMPORT = "import {0}; print(getattr({0}, '__version__', 'of unknown version'))"


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
    """Check that a library can be imported in a new process, which a broken one may crash.

    `consequence` says what does not work without it.
    """
    step = f"install it with: pip install {module}"
    try:
        finished = subprocess.run(  # noqa: S603 (our own interpreter)
            [sys.executable, "-c", _IMPORT.format(module)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return warning(f"{consequence}: {type(error).__name__}", step)
    if finished.returncode:
        messages = finished.stderr.strip().splitlines() or [f"exit code {finished.returncode}"]
        return warning(f"{consequence}: {messages[-1].strip()}", step)
    return passed(f"{finished.stdout.strip()} can be imported")


def _has_data(name: str) -> bool:
    """Whether a zone can be read; a damaged file of it is listed too."""
    try:
        zone(name)
    except PeriodError:
        return False
    return True


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
