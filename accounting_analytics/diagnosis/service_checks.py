"""Checks of the service: does it respond, and what may this client do? The first response decides most of them."""

from __future__ import annotations

import email.utils
import ipaddress
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from accounting_analytics.client.records import flattened
from accounting_analytics.diagnosis.finding import Finding, Part
from accounting_analytics.errors import (
    AccountingAnalyticsError,
    AuthenticationError,
    DeadlineExceededError,
    NotFoundError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitedError,
    ServerFaultError,
    TransportError,
)
from accounting_analytics.periods import as_utc

if TYPE_CHECKING:
    from accounting_analytics.client import LedgerClient, Quota
    from accounting_analytics.periods import Period

_ATTEMPT_SECONDS, _CALL_SECONDS, _ATTEMPTS = 20.0, 45.0, 2
_WARN_SKEW, _FAIL_SKEW = 60.0, 300.0
_DOCUMENTED_RATE = 320
_UNKNOWN_TAG = "accounting-analytics-doctor"
_NO_RESPONSE = (TransportError, DeadlineExceededError, ProtocolError, ServerFaultError)
_CHECK_CONNECTION = (
    "check the address (ACCOUNTING_ANALYTICS_BASE_URL, or ACCOUNTING_ANALYTICS_TOKEN_URL of a token), the network and "
    "its proxy; is the service running?"
)


@dataclass(frozen=True)
class FirstResponse:
    """Result of the first request to the service.

    Attributes
    ----------
    error : AccountingAnalyticsError or None
        Why there was no report.
    date : str or None
        Header ``date`` of the response.
    local_timestamp : float
        Clock of this machine, in seconds since 1970, half-way between request and response.
    seconds : float
        Duration of the request.
    cash_ledgers : tuple of str
        Ledgers that report cash flow.
    """

    error: AccountingAnalyticsError | None
    date: str | None = None
    local_timestamp: float = 0.0
    seconds: float = 0.0
    cash_ledgers: tuple[str, ...] = ()

    @property
    def is_from_service(self) -> bool:
        """Whether a working service responded, even if it refused the request."""
        return not isinstance(self.error, _NO_RESPONSE)


def request_first_report(client: LedgerClient, day: Period) -> FirstResponse:
    """Request the report of one day, with short timeouts and one retry."""
    quick_client = client.with_options(timeout=_ATTEMPT_SECONDS, deadline=_CALL_SECONDS, max_attempts=_ATTEMPTS)
    started, timestamp = time.monotonic(), time.time()
    try:
        response = quick_client.with_raw_response.retrieve_cash_flow_report(
            day.start_date, day.end_date, time_zone=day.time_zone
        )
        seconds = time.monotonic() - started
        report = response.parse()
    except AccountingAnalyticsError as error:
        return FirstResponse(error.with_traceback(None))
    balances = flattened((*report.starting_balances, *report.ending_balances))
    cash_ledgers = tuple(dict.fromkeys(balance.ledger_id for balance in balances))
    return FirstResponse(None, response.headers.get("date"), timestamp + seconds / 2, seconds, cash_ledgers)


def check_service(client: LedgerClient, day: Period, first: FirstResponse) -> list[Finding]:
    """All findings about the service and the client's permissions."""
    return [
        check_reachable(client.base_url, first),
        check_authentication(client.instance_id, first),
        check_clock(first),
        check_read_reports(first),
        check_read_line_entries(client, day, first),
        check_tag_filter(client, day, first),
        report_no_changes(),
        check_rate_limit(client.quota, first),
    ]


def check_reachable(base_url: str, first: FirstResponse) -> Finding:
    """Check that a Ledger Accounting Service responds at the address."""
    check = "reachable"
    if not first.is_from_service:
        return Finding.failed(Part.SERVICE, check, str(first.error), _CHECK_CONNECTION)
    parts = urlsplit(base_url)
    duration = f" in {first.seconds * 1000:.0f} ms" if first.error is None else ""
    if parts.scheme == "https":
        return Finding.ok(Part.SERVICE, check, f"{base_url} responds{duration}, over TLS")
    if _is_this_machine(parts.hostname or ""):
        return Finding.ok(Part.SERVICE, check, f"{base_url} responds{duration}; plain HTTP, on this machine only")
    return Finding.warning(
        Part.SERVICE,
        check,
        f"{base_url} responds{duration}, but over plain HTTP: the token and the books can be read on the network",
        "use its https address",
    )


def check_authentication(instance_id: str, first: FirstResponse) -> Finding:
    """Check that the token is valid and gives access to the instance."""
    check, error = "authentication", first.error
    if not first.is_from_service:
        return _no_response(check)
    if isinstance(error, AuthenticationError):
        step = "get a new token, and write it to the file of ACCOUNTING_ANALYTICS_TOKEN_FILE"
        return Finding.failed(Part.SERVICE, check, str(error), step)
    if isinstance(error, NotFoundError):
        return Finding.failed(
            Part.SERVICE,
            check,
            f"the service does not know the instance {instance_id!r}, or this token gives no access to it ({error})",
            "check ACCOUNTING_ANALYTICS_INSTANCE_ID, whether the token is for this instance, and the path of the URL",
        )
    if error is None or isinstance(error, PermissionDeniedError):
        return Finding.ok(Part.SERVICE, check, f"the token gives access to instance {instance_id}")
    return Finding.not_checked(Part.SERVICE, check, f"because the service refused the request: {error}")


def check_clock(first: FirstResponse) -> Finding:
    """Check that this machine's clock agrees with the service's."""
    check = "clock"
    if first.error is not None:
        return Finding.not_checked(Part.SERVICE, check, "because there is no response to compare with")
    try:
        service_time = email.utils.parsedate_to_datetime(first.date or "")
    except ValueError:
        return Finding.not_checked(Part.SERVICE, check, "because the service's responses have no readable date")
    # the header has whole seconds, rounded down
    skew = first.local_timestamp - (as_utc(service_time).timestamp() + 0.5)
    if abs(skew) <= _WARN_SKEW:
        return Finding.ok(Part.SERVICE, check, "this machine's and the service's agree to a minute")
    finding = Finding.failed if abs(skew) > _FAIL_SKEW else Finding.warning
    return finding(
        Part.SERVICE,
        check,
        f"this machine's is {_duration(abs(skew))} {'ahead of' if skew > 0 else 'behind'} the service's: tokens "
        "expire too early or too late, and around midnight the two are on different days",
        "set this machine's clock (timedatectl set-ntp true), or report it to the operator of the service",
    )


def check_read_reports(first: FirstResponse) -> Finding:
    """Check that the cash flow report can be read."""
    check = "read reports"
    if first.error is None:
        return Finding.ok(Part.SERVICE, check, "the cash flow report can be read")
    if not first.is_from_service:
        return _no_response(check)
    if isinstance(first.error, AuthenticationError | NotFoundError):
        return Finding.not_checked(Part.SERVICE, check, "because the service gave no access")
    step = "ask the issuer of the token for permission to read reports"
    if not isinstance(first.error, PermissionDeniedError):
        step = "read the message; nothing else can be checked until a report can be read"
    return Finding.from_error(Part.SERVICE, check, first.error, step)


def check_read_line_entries(client: LedgerClient, day: Period, first: FirstResponse) -> Finding:
    """Check that line entries can be read."""
    check = "read line entries"
    if first.error is not None:
        return _no_report(check)
    if not first.cash_ledgers:
        return Finding.not_checked(Part.SERVICE, check, "because no ledger reports cash flow, so there is none to list")
    try:
        client.list_line_entries(first.cash_ledgers[0], day.start_date, day.end_date, time_zone=day.time_zone, limit=1)
    except AccountingAnalyticsError as error:
        step = "ask the issuer of the token for permission to read line entries"
        return Finding.from_error(Part.SERVICE, check, error, step)
    return Finding.ok(Part.SERVICE, check, "line entries of a ledger can be listed")


def check_tag_filter(client: LedgerClient, day: Period, first: FirstResponse) -> Finding:
    """Request a report by an unknown tag, to learn whether the subscription includes reports by tag."""
    check = "filter by tags"
    if first.error is not None:
        return _no_report(check)
    try:
        client.retrieve_cash_flow_report(day.start_date, day.end_date, time_zone=day.time_zone, tag_ids=(_UNKNOWN_TAG,))
    except PermissionDeniedError:
        return Finding.warning(
            Part.SERVICE,
            check,
            "the service refuses (403): reports by tag need a Tier 3 subscription; everything else works without",
            "omit tag_ids, or load line entries with tag_ids instead",
        )
    except NotFoundError:
        reason = "because the service refuses unknown tags (404), which is not conclusive; see: tagged report"
        return Finding.not_checked(Part.SERVICE, check, reason)
    except AccountingAnalyticsError as error:
        return Finding.not_checked(Part.SERVICE, check, f"because the service refused an unknown tag: {error}")
    return Finding.ok(Part.SERVICE, check, "reports can be filtered by tags (Tier 3)")


def report_no_changes() -> Finding:
    """Report that permission to change the books is never checked."""
    reason = "because only a change would show it, and the doctor changes nothing"
    return Finding.not_checked(Part.SERVICE, "change the books", reason)


def check_rate_limit(quota: Quota, first: FirstResponse) -> Finding:
    """Report the rate limit that the service states."""
    check = "rate limit"
    if isinstance(first.error, RateLimitedError):
        step = "wait a minute; is another program using this instance?"
        return Finding.failed(Part.SERVICE, check, str(first.error), step)
    if first.error is not None:
        return _no_report(check)
    if quota.limit is None:
        message = f"the service states no limit (the documented limit is {_DOCUMENTED_RATE} requests per minute)"
        return Finding.ok(Part.SERVICE, check, message)
    left = "" if quota.remaining is None else f", {quota.remaining} left now"
    return Finding.ok(Part.SERVICE, check, f"{quota.limit} requests per minute{left}")


def _no_response(check: str) -> Finding:
    return Finding.not_checked(Part.SERVICE, check, "because the service did not respond")


def _no_report(check: str) -> Finding:
    return Finding.not_checked(Part.SERVICE, check, "because no report could be read")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} minute(s)" if minutes < 120 else f"{minutes // 60} hour(s)"  # noqa: PLR2004 (two hours)
