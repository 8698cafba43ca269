"""Does the service let us in? One question is asked first; what came back of it decides most of the checks."""

from __future__ import annotations

import datetime as dt
import email.utils
import ipaddress
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from accounting_analytics.client.records import flattened
from accounting_analytics.diagnosis.finding import Finding, Part, Verdict
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

if TYPE_CHECKING:
    from accounting_analytics.client import LedgerClient, Quota
    from accounting_analytics.periods import Period

_ATTEMPT_SECONDS, _CALL_SECONDS, _ATTEMPTS = 20.0, 45.0, 2
_WARN_SKEW, _FAIL_SKEW = 60.0, 300.0
_DOCUMENTED_RATE = 320
_NOBODYS_TAG = "accounting-analytics-doctor"
_NO_ANSWER = (TransportError, DeadlineExceededError, ProtocolError, ServerFaultError)
_CHECK_CONNECTION = (
    "check the address (ACCOUNTING_ANALYTICS_BASE_URL), the network and its proxy; is the service running?"
)


@dataclass(frozen=True)
class Knock:
    """The first question to the service, and what came back.

    Attributes
    ----------
    error : AccountingAnalyticsError or None
        Why there was no report.
    date : str or None
        Header ``date`` of the answer.
    asked_at : float
        Our clock, in seconds since 1970, half-way between question and answer.
    seconds : float
        How long the answer took.
    cash_ledgers : tuple of str
        Ledgers that report cash flow.
    """

    error: AccountingAnalyticsError | None
    date: str | None = None
    asked_at: float = 0.0
    seconds: float = 0.0
    cash_ledgers: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether the service said anything of its own, even if it refused."""
        return not isinstance(self.error, _NO_ANSWER)


def knock(client: LedgerClient, day: Period) -> Knock:
    """Ask for the report of one day, with little patience."""
    asked = client.with_options(timeout=_ATTEMPT_SECONDS, deadline=_CALL_SECONDS, max_attempts=_ATTEMPTS)
    began, clock = time.monotonic(), time.time()
    try:
        answer = asked.with_raw_response.retrieve_cash_flow_report(
            day.start_date, day.end_date, time_zone=day.time_zone
        )
        took = time.monotonic() - began
        report = answer.parse()
    except AccountingAnalyticsError as error:
        return Knock(error.with_traceback(None))
    cash = dict.fromkeys(one.ledger_id for one in flattened((*report.starting_balances, *report.ending_balances)))
    return Knock(None, answer.headers.get("date"), clock + took / 2, took, tuple(cash))


def service_findings(client: LedgerClient, day: Period, opened: Knock) -> list[Finding]:
    """All findings about the service and what it lets us do."""
    return [
        reachable(client.base_url, opened),
        authentication(client.instance_id, opened),
        clock(opened),
        read_report(opened),
        read_line_entries(client, day, opened),
        filter_by_tags(client, day, opened),
        changes(),
        rate_limit(client.quota, opened),
    ]


def reachable(base_url: str, opened: Knock) -> Finding:
    """Check that something answers at the address, as a Ledger Accounting Service does."""
    check = "reachable"
    if not opened.answered:
        return Finding(Part.SERVICE, check, Verdict.FAILED, str(opened.error), _CHECK_CONNECTION)
    parts = urlsplit(base_url)
    took = f" in {opened.seconds * 1000:.0f} ms" if opened.error is None else ""
    if parts.scheme == "https":
        return Finding(Part.SERVICE, check, Verdict.OK, f"{base_url} answers{took}, over TLS")
    if _is_this_machine(parts.hostname or ""):
        return Finding(Part.SERVICE, check, Verdict.OK, f"{base_url} answers{took}; plain HTTP, on this machine only")
    return Finding(
        Part.SERVICE,
        check,
        Verdict.WARNING,
        f"{base_url} answers{took}, but over plain HTTP: whoever is on the way can read the token and the books",
        "use its https address",
    )


def authentication(instance_id: str, opened: Knock) -> Finding:
    """Check that the token is good, and opens this instance."""
    check, error = "authentication", opened.error
    if not opened.answered:
        return _unreachable(check)
    if isinstance(error, AuthenticationError):
        step = "get a new token, and put it into the file of ACCOUNTING_ANALYTICS_TOKEN_FILE"
        return Finding(Part.SERVICE, check, Verdict.FAILED, str(error), step)
    if isinstance(error, NotFoundError):
        return Finding(
            Part.SERVICE,
            check,
            Verdict.FAILED,
            f"the service does not know the instance {instance_id!r}, or this token does not open it ({error})",
            "check ACCOUNTING_ANALYTICS_INSTANCE_ID, whether the token is this instance's, and the path of the address",
        )
    if error is None or isinstance(error, PermissionDeniedError):
        return Finding(Part.SERVICE, check, Verdict.OK, f"the token opens instance {instance_id}")
    return Finding(Part.SERVICE, check, Verdict.NOT_CHECKED, f"because the service refused to say: {error}")


def clock(opened: Knock) -> Finding:
    """Check that this machine's clock agrees with the service's."""
    check = "clock"
    if opened.error is not None:
        return Finding(Part.SERVICE, check, Verdict.NOT_CHECKED, "because the service gave no answer to compare with")
    try:
        theirs = email.utils.parsedate_to_datetime(opened.date or "")
    except ValueError:
        said = "because the service's answers carry no readable date"
        return Finding(Part.SERVICE, check, Verdict.NOT_CHECKED, said)
    if theirs.tzinfo is None:
        theirs = theirs.replace(tzinfo=dt.UTC)
    # the header has whole seconds, cut off
    skew = opened.asked_at - (theirs.timestamp() + 0.5)
    if abs(skew) <= _WARN_SKEW:
        return Finding(Part.SERVICE, check, Verdict.OK, "this machine's and the service's agree to a minute")
    verdict = Verdict.FAILED if abs(skew) > _FAIL_SKEW else Verdict.WARNING
    return Finding(
        Part.SERVICE,
        check,
        verdict,
        f"this machine's is {_duration(abs(skew))} {'ahead of' if skew > 0 else 'behind'} the service's: tokens "
        "expire when nobody expects it, and around midnight today is another day",
        "set this machine's clock (timedatectl set-ntp true), or tell whoever runs the service",
    )


def read_report(opened: Knock) -> Finding:
    """Check that the cash flow report may be read."""
    check = "read reports"
    if opened.error is None:
        return Finding(Part.SERVICE, check, Verdict.OK, "the cash flow report can be read")
    if not opened.answered:
        return _unreachable(check)
    if isinstance(opened.error, AuthenticationError | NotFoundError):
        return Finding(Part.SERVICE, check, Verdict.NOT_CHECKED, "because the service did not let us in")
    step = "ask whoever issued the token for the right to read"
    if not isinstance(opened.error, PermissionDeniedError):
        step = "see what it says; nothing else can be checked before a report can be read"
    return Finding(Part.SERVICE, check, Verdict.FAILED, str(opened.error), step, error_code=opened.error.exit_code)


def read_line_entries(client: LedgerClient, day: Period, opened: Knock) -> Finding:
    """Check that line entries may be read."""
    check = "read line entries"
    if opened.error is not None:
        return _shut(check)
    if not opened.cash_ledgers:
        said = "because no ledger reports cash flow, so there is none to ask about"
        return Finding(Part.SERVICE, check, Verdict.NOT_CHECKED, said)
    try:
        client.list_line_entries(opened.cash_ledgers[0], day.start_date, day.end_date, time_zone=day.time_zone, limit=1)
    except AccountingAnalyticsError as error:
        step = "ask whoever issued the token for the right to read line entries"
        return Finding(Part.SERVICE, check, Verdict.FAILED, str(error), step, error_code=error.exit_code)
    return Finding(Part.SERVICE, check, Verdict.OK, "line entries of a ledger can be listed")


def filter_by_tags(client: LedgerClient, day: Period, opened: Knock) -> Finding:
    """Ask for a tag that nobody has, to learn whether the subscription has reports by tag."""
    check = "filter by tags"
    if opened.error is not None:
        return _shut(check)
    try:
        client.retrieve_cash_flow_report(day.start_date, day.end_date, time_zone=day.time_zone, tag_ids=(_NOBODYS_TAG,))
    except PermissionDeniedError:
        return Finding(
            Part.SERVICE,
            check,
            Verdict.WARNING,
            "the service refuses (403): reports by tag need a Tier 3 subscription; everything else works without",
            "leave tag_ids out, or load line entries with tag_ids instead",
        )
    except NotFoundError:
        said = "because the service knows no made-up tag (404), which tells nothing; see: tagged report"
        return Finding(Part.SERVICE, check, Verdict.NOT_CHECKED, said)
    except AccountingAnalyticsError as error:
        return Finding(Part.SERVICE, check, Verdict.NOT_CHECKED, f"because the service refused a made-up tag: {error}")
    return Finding(Part.SERVICE, check, Verdict.OK, "reports can be filtered by tags (Tier 3)")


def changes() -> Finding:
    """Say that changing the books is never tried."""
    said = "because only a change would tell, and nothing is changed here"
    return Finding(Part.SERVICE, "change the books", Verdict.NOT_CHECKED, said)


def rate_limit(quota: Quota, opened: Knock) -> Finding:
    """Tell what the service says of its rate limit."""
    check = "rate limit"
    if isinstance(opened.error, RateLimitedError):
        step = "wait a minute; is something else using this instance?"
        return Finding(Part.SERVICE, check, Verdict.FAILED, str(opened.error), step)
    if opened.error is not None:
        return _shut(check)
    if quota.limit is None:
        said = f"the service tells none (documented are {_DOCUMENTED_RATE} requests a minute)"
        return Finding(Part.SERVICE, check, Verdict.OK, said)
    left = "" if quota.remaining is None else f", {quota.remaining} left now"
    said = f"{quota.limit} requests a minute{left}"
    return Finding(Part.SERVICE, check, Verdict.OK, said)


def _unreachable(check: str) -> Finding:
    return Finding(Part.SERVICE, check, Verdict.NOT_CHECKED, "because the service did not answer")


def _shut(check: str) -> Finding:
    return Finding(Part.SERVICE, check, Verdict.NOT_CHECKED, "because no report could be read")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} minute(s)" if minutes < 120 else f"{minutes // 60} hour(s)"  # noqa: PLR2004 (two hours)
