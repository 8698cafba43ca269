"""Requests of operations, with authorization, rate limit and retries; every failure is a named error.

Reads are retried when the service or the network fails temporarily. Changes are sent once. No request starts after the
deadline, before the rate limit allows it, or sooner than the service asked to wait.
"""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from accounting_analytics.client.http import (
    MIB,
    Authorization,
    Deadline,
    HttpRequest,
    HttpSender,
    PerProcess,
    is_json,
    status_error,
)
from accounting_analytics.client.strict_json import NotJSONError, NotTheInterfaceError, decode
from accounting_analytics.client.url_and_header_text import check_url, header_name, header_value
from accounting_analytics.core.errors import (
    CertificateRefusedError,
    ConfigurationError,
    DeadlineExceededError,
    GarbledAnswerError,
    NoConnectionError,
    ProtocolError,
    RateLimitedError,
    ServiceError,
    StatusError,
    TransportError,
    with_context,
)
from accounting_analytics.core.periods import as_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from accounting_analytics.client.auth import Credentials
    from accounting_analytics.client.http import HttpResponse
    from accounting_analytics.client.secret import Secret

Decoded = TypeVar("Decoded")
Result = TypeVar("Result")

_log = logging.getLogger("accounting_analytics.client")
# without this, Python prints their warnings to stderr where no logging is configured
_log.addHandler(logging.NullHandler())

_RETRYABLE_STATUSES = frozenset({408, 429, *range(500, 600)}) - {501, 505, 507}
_MAX_WAIT = 120.0
_ATTEMPTS_TO_CONNECT = 2
"""Attempts while no connection was ever made, when the address is probably wrong."""
_FIRST_BACKOFF = 0.1
_MAX_BACKOFF = 5.0
_MAX_BYTES = 64 * MIB
_MAX_REPORT_BYTES = 1024 * MIB
_MINUTE = 60.0
_SHORT_PAUSE = 0.1
_STATUSES_WITH_RETRY_AFTER = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_BURST_SHARE = 10
_SINCE_1970 = 1e9
"""A reset larger than this is a Unix time, a smaller one a number of seconds: both are in use."""


@dataclass(frozen=True)
class Quota:
    """The rate limit that the service last reported, less the requests sent since; None where it reported nothing.

    Attributes
    ----------
    limit : int or None
        Requests allowed in one time window.
    remaining : int or None
        Requests left in this window.
    reset_in : float or None
        Seconds until the next window.
    paused_for : float
        Seconds during which no request starts, because the service asked to wait.
    sent : int
        Requests that this process has sent with the client so far, repeated ones included.
    date : str or None
        Header ``Date`` of the last response that had one: the clock of the service.
    """

    limit: int | None
    remaining: int | None
    reset_in: float | None
    paused_for: float
    sent: int = 0
    date: str | None = None


class SendingPausedError(Exception):
    """Nothing was sent: the service has asked to wait since it was the turn of the request."""


class RateLimiter(PerProcess):
    """Spreads requests below a maximum rate, respects waits that the service asks for, and stays within its quota.

    A tenth of the requests per minute may start in one burst.
    """

    def __init__(self, requests_per_minute: float | None) -> None:
        self._burst, self._gap = 1, 0.0
        if requests_per_minute is not None:
            self._burst = max(1, int(requests_per_minute / _BURST_SHARE))
            self._gap = _MINUTE / (requests_per_minute - self._burst + 1)
        super().__init__()

    def begin_process(self) -> None:
        """Begin with a lock, and without waits and requests."""
        self._lock = threading.Lock()
        self._next_even_start = 0.0  # when the next request would start if all were spread evenly
        self._paused_until = 0.0
        self._limit: int | None = None
        self._remaining: int | None = None
        self._reset_at = 0.0
        self._in_flight = 0
        self._sent = 0
        self._date: str | None = None

    @property
    def quota(self) -> Quota:
        """Current quota."""
        with self._lock:
            now = time.monotonic()
            known = self._remaining is not None and now < self._reset_at
            return Quota(
                self._limit,
                self._remaining if known else None,
                self._reset_at - now if known else None,
                max(0.0, self._paused_until - now),
                self._sent,
                self._date,
            )

    def acquire(self, deadline: Deadline, request: object) -> None:
        """Wait until a request may start; one :meth:`update` must follow."""
        while True:
            with self._lock:
                wait = self._seconds()
                if wait <= 0:
                    self._start()
                    return
            if wait > deadline.remaining():
                raise DeadlineExceededError(
                    f"{request}: the service's rate limit allows the next request in {wait:.0f} seconds, after the "
                    f"deadline of {deadline.seconds:g} seconds; nothing was sent, try again later"
                )
            time.sleep(wait)

    def update(self, headers: Mapping[str, str]) -> None:
        """End a request and read the limit from the headers of its response."""
        limit, remaining, reset = (_number(headers, name) for name in ("limit", "remaining", "reset"))
        with self._lock:
            self._in_flight -= 1
            self._date = headers.get("date", self._date)
            if limit is not None:
                self._limit = int(limit)
            if remaining is None or reset is None:
                return
            seconds = max(0.0, reset - _sent_at(headers) if reset > _SINCE_1970 else reset)
            self._reset_at = time.monotonic() + min(seconds, _MINUTE)
            # the service may not have counted the requests that are still in flight
            self._remaining = max(0, int(remaining) - self._in_flight)

    def give_back(self) -> None:
        """Count a request that has ended, and that was not sent, as if it had never started."""
        with self._lock:
            self._next_even_start -= self._gap
            self._sent -= 1
            if self._remaining is not None:
                self._remaining += 1

    def pause(self, seconds: float) -> None:
        """Start no request on any thread for some seconds."""
        with self._lock:
            self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def require_open(self) -> None:
        """Refuse to send a request while the service asks to wait, which it may since the request was acquired."""
        with self._lock:
            if self._paused_until > time.monotonic():
                raise SendingPausedError

    def note_wait(self, status: int, headers: Mapping[str, str]) -> None:
        """Start no request on any thread for as long as a response asks, after a 429 for a moment at least."""
        wait = retry_after(headers, _sent_at(headers)) if status in _STATUSES_WITH_RETRY_AFTER else None
        if wait is not None or status == HTTPStatus.TOO_MANY_REQUESTS:
            self.pause(_SHORT_PAUSE if wait is None else wait)

    def wait(self) -> float:
        """Seconds until a request may start."""
        with self._lock:
            return self._seconds()

    def _seconds(self) -> float:
        now = time.monotonic()
        until = max(self._paused_until, self._next_even_start - (self._burst - 1) * self._gap)
        if self._remaining == 0 and now < self._reset_at:
            until = max(until, self._reset_at)
        return until - now

    def _start(self) -> None:
        now = time.monotonic()
        self._next_even_start = max(self._next_even_start, now) + self._gap
        self._in_flight += 1
        self._sent += 1
        if self._remaining is not None:
            if now >= self._reset_at:
                self._remaining = None  # a new window: the next response reports what it allows
            else:
                self._remaining -= 1


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds of a Retry-After header, given as a number or an HTTP date; None where it is missing or unusable.

    `now` is Unix time in seconds.
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        date = _http_date(text)
        return None if date is None else max(date - now, 0.0)
    return seconds if 0 <= seconds < float("inf") else None


def _sent_at(headers: Mapping[str, str]) -> float:
    """Unix time of a response by the clock of the service, whose dates it is compared with; by ours without one."""
    date = _http_date(headers.get("date", ""))
    return time.time() if date is None else date


def _http_date(text: str) -> float | None:
    """Unix time of a date in a header; one without a zone is UTC, as HTTP dates are."""
    try:
        return as_utc(parsedate_to_datetime(text)).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _number(headers: Mapping[str, str], name: str) -> float | None:
    try:
        number = float(headers.get(f"x-ratelimit-{name}", ""))
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


@dataclass(frozen=True)
class OperationRequest:
    """A call of an operation of the interface; its text, for messages, names operation and subject.

    `if_lost` is added to the error if it is not known whether the request was carried out.
    """

    operation: str
    method: str
    path: str
    parameters: Mapping[str, str]
    subject: str = ""
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    is_report: bool = False
    if_lost: str = ""

    def __str__(self) -> str:
        return f"{self.operation}{f' ({self.subject})' if self.subject else ''}"


@dataclass(frozen=True)
class RetryPolicy:
    """Limits of a call, as in LedgerClient: seconds of an attempt and of the call, attempts, size of the response."""

    timeout: float
    deadline: float | Deadline
    max_attempts: int
    most_bytes: int | None = None

    def __post_init__(self) -> None:
        deadline = self.deadline.seconds if isinstance(self.deadline, Deadline) else self.deadline
        if not (self.timeout > 0 and deadline > 0 and self.max_attempts >= 1 and (self.most_bytes or 1) > 0):
            raise ConfigurationError("timeout, deadline, max_attempts and most_bytes must be positive")

    def start(self) -> Deadline:
        """Deadline of a call that starts now."""
        return self.deadline if isinstance(self.deadline, Deadline) else Deadline(self.deadline)

    def max_response_bytes(self, request: OperationRequest) -> int:
        """Largest response to a request."""
        return self.most_bytes or (_MAX_REPORT_BYTES if request.is_report else _MAX_BYTES)


class RetryingClient:
    """Sends requests of operations to one instance of a service."""

    def __init__(
        self,
        base_url: str,
        *,
        credentials: Credentials,
        instance_id: str,
        instance_header: str,
        transport: httpx.BaseTransport | None,
        requests_per_minute: float | None,
        retry_policy: RetryPolicy,
    ) -> None:
        self.base_url = check_url(base_url, "base_url")
        self._headers = {header_name(instance_header): header_value(instance_id, "the instance id")}
        self._credentials = credentials
        self._retry_policy = retry_policy
        self.rate_limiter = RateLimiter(requests_per_minute)
        self._sender = HttpSender(
            self.base_url, transport=transport, secrets=credentials.secrets, gate=self.rate_limiter
        )

    def with_retry_policy(self, **changes: Any) -> RetryingClient:  # noqa: ANN401 (attributes of RetryPolicy)
        """Return a client with a changed policy, over the same connections, credentials and rate limit."""
        other = object.__new__(RetryingClient)
        other.__dict__ |= self.__dict__
        other._retry_policy = replace(self._retry_policy, **changes)
        return other

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()
        self._credentials.close()

    def request(self, request: OperationRequest, kind: type[Decoded]) -> Decoded:
        """Send a request and decode the response."""
        return self._call(request, lambda response: self._decode(request, response, kind))

    def request_json(self, request: OperationRequest) -> bytes:
        """Send a request and return the body of the successful response without decoding it."""
        return self._call(request, lambda response: response.content)

    def _decode(self, request: OperationRequest, response: HttpResponse, kind: type[Decoded]) -> Decoded:
        """Wire record of a response; one that breaks the interface in any part is refused."""
        error_type: type[ProtocolError] = ProtocolError
        try:
            return decode(response.content, kind)
        except NotTheInterfaceError as error:
            problem = f"the response breaks the interface: {error}"
        except NotJSONError as error:
            problem, error_type = f"the response is not valid JSON: {error}", GarbledAnswerError
        raise error_type(f"{request}: {self._sender.masked(problem)}")

    def _call(self, request: OperationRequest, finish: Callable[[HttpResponse], Result]) -> Result:
        """Get a token, and send a request until it succeeds or fails finally."""
        deadline, most = self._retry_policy.start(), self._retry_policy.max_attempts
        self._repeat(lambda: self._credentials.token(deadline), most, deadline)
        most = most if request.method == "GET" else 1
        try:
            return self._repeat(lambda: self._attempt(request, finish, deadline), most, deadline)
        except ServiceError as error:
            problem = error
        was_sent = _is_temporary(problem) and not isinstance(problem, RateLimitedError | NoConnectionError)
        if request.if_lost and was_sent:
            problem = with_context(problem, request.if_lost)
        raise problem.with_traceback(None)  # the steps of an attempt tell the caller nothing

    def _repeat(self, attempt: Callable[[], Result], most: int, deadline: Deadline) -> Result:
        """Repeat attempts until one succeeds or fails finally, or until no time or attempt is left."""
        for number in itertools.count(1):
            try:
                return attempt()
            except ServiceError as error:
                failure = error
            asked = isinstance(failure, StatusError) and failure.status in _STATUSES_WITH_RETRY_AFTER
            wait = self.rate_limiter.quota.paused_for if asked else 0.0
            if wait > min(_MAX_WAIT, deadline.remaining()):
                failure = with_context(failure, f"the service asks to wait {wait:.0f} seconds: try again then")
                break
            # random, so that threads whose requests failed together do not retry together
            backoff = random.uniform(0.0, min(_MAX_BACKOFF, _FIRST_BACKOFF * 2**number))  # noqa: S311 (no secret)
            pause = 0.0 if wait else backoff  # the rate limiter waits for what the service asked
            allowed = min(most, _ATTEMPTS_TO_CONNECT) if isinstance(failure, NoConnectionError) else most
            is_too_late = max(pause, self.rate_limiter.wait()) >= deadline.remaining()
            if not _is_temporary(failure) or number >= allowed or is_too_late:
                break
            time.sleep(pause)
        failure = with_context(failure, f"no success after {number} attempts") if number > 1 else failure
        raise failure.with_traceback(None)

    def _attempt(
        self, request: OperationRequest, finish: Callable[[HttpResponse], Result], deadline: Deadline
    ) -> Result:
        """Send a request, and again with a new token if the first one has expired."""
        token = self._credentials.token(deadline)
        response = self._send(request, token, deadline)
        if response.status == HTTPStatus.UNAUTHORIZED and self._credentials.renew(token, deadline):
            response = self._send(request, self._credentials.token(deadline), deadline)
        return self._finish(request, response, finish)

    def _send(self, request: OperationRequest, token: Secret, deadline: Deadline) -> HttpResponse:
        """Send a request once, when the rate limit allows it, also when it is written to a connection."""
        while True:
            self.rate_limiter.acquire(deadline, request)
            try:
                return self._send_now(request, token, deadline.sooner(self._retry_policy.timeout))
            except SendingPausedError:
                self.rate_limiter.give_back()

    def _send_now(self, request: OperationRequest, token: Secret, deadline: Deadline) -> HttpResponse:
        started = time.monotonic()
        response: HttpResponse | None = None
        try:
            authorization = Authorization(token.prefixed("Bearer"))
            response = self._sender.send(self._http_request(request), authorization, deadline)
        finally:
            self.rate_limiter.update({} if response is None else response.headers)
            seconds = time.monotonic() - started
            result = f"{response.status}, {len(response.content)} bytes in" if response else "no response after"
            _log.debug("%s: %s %.3f s", request, result, seconds)
        return response

    def _http_request(self, request: OperationRequest) -> HttpRequest:
        content_type = {} if request.body is None else {"content-type": "application/json"}
        return HttpRequest(
            description=str(request),
            method=request.method,
            url=f"{self.base_url}{request.path}",
            parameters=request.parameters,
            headers=self._headers | dict(request.headers or {}) | content_type,
            content=None if request.body is None else msgspec.json.encode(request.body),
            max_response_bytes=self._retry_policy.max_response_bytes(request),
        )

    def _finish(
        self, request: OperationRequest, response: HttpResponse, finish: Callable[[HttpResponse], Result]
    ) -> Result:
        """Return the result of a successful response, or raise the error of any other."""
        status = response.status
        if status == HTTPStatus.OK or (request.method == "POST" and status == HTTPStatus.CREATED):
            if is_json(response):
                return finish(response)
            content_type = response.headers.get("content-type", "")[:60]
            raise GarbledAnswerError(
                f"{request}: the response is {content_type}, not JSON; is base_url the address of the service?"
            )
        if 200 <= status < 300:  # noqa: PLR2004 (what HTTP calls success)
            raise GarbledAnswerError(
                f"{request}: the service responded with status {status}, which the interface does not define"
            )
        raise status_error(request, response, self._sender.masked)


def _is_temporary(error: ServiceError) -> bool:
    """Whether another attempt may succeed."""
    if isinstance(error, StatusError):
        return error.status in _RETRYABLE_STATUSES
    is_of_network = isinstance(error, TransportError | DeadlineExceededError | GarbledAnswerError)
    return is_of_network and not isinstance(error, CertificateRefusedError)
