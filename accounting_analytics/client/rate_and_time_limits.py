"""Limits on the time and attempts of a call, and on the rate of calls."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from accounting_analytics.core.errors import ConfigurationError, DeadlineExceededError
from accounting_analytics.core.periods import as_utc

if TYPE_CHECKING:
    from collections.abc import Mapping

_MINUTE = 60.0
_BURST_SHARE = 10
_SHORT_PAUSE = 0.1
_SINCE_1970 = 1e9
"""A reset above this number is a Unix time, below it a number of seconds. Services use both."""
STATUSES_WITH_RETRY_AFTER = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


class Deadline:
    """A time limit that starts when the object is created.

    One deadline may be given to many calls, and so limits a whole job:
    ``client.with_options(deadline=Deadline(600))``.

    Parameters
    ----------
    seconds : float
        Seconds from now; infinity sets no limit.
    """

    __slots__ = ("_expires_at", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = float(seconds)
        self._expires_at = time.monotonic() + self.seconds

    def __repr__(self) -> str:
        return f"Deadline({self.seconds:g}, {self.remaining():.1f} seconds left)"

    def remaining(self) -> float:
        """Seconds until the deadline, zero or negative after it has passed."""
        return self._expires_at - time.monotonic()

    def sooner(self, seconds: float) -> Deadline:
        """Return this deadline, or a deadline `seconds` from now if that is sooner."""
        return self if self.remaining() <= seconds else Deadline(seconds)


@dataclass(frozen=True)
class CallLimits:
    """Limits of a call, as in LedgerClient: times, attempts, response size."""

    timeout: float
    deadline: float | Deadline
    max_attempts: int
    most_bytes: int | None = None

    def __post_init__(self) -> None:
        seconds = self.start().seconds
        if not (self.timeout > 0 and seconds > 0 and self.max_attempts >= 1 and (self.most_bytes or 1) > 0):
            raise ConfigurationError("timeout, deadline, max_attempts and most_bytes must be positive")

    def start(self) -> Deadline:
        """Start the deadline of a call."""
        return self.deadline if isinstance(self.deadline, Deadline) else Deadline(self.deadline)


@dataclass(frozen=True)
class Quota:
    """Rate limit that the service last reported, less the requests sent since. It is None if not reported.

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


class RateLimiter:
    """Limiter that spreads requests below a maximum rate, and respects waits and quota of the service.

    A tenth of the requests per minute may start in one burst.
    """

    def __init__(self, requests_per_minute: float | None) -> None:
        self._burst, self._gap = 1, 0.0
        if requests_per_minute is not None:
            self._burst = max(1, int(requests_per_minute / _BURST_SHARE))
            self._gap = _MINUTE / (requests_per_minute - self._burst + 1)
        self._lock = threading.Lock()
        self._next_even_start = 0.0  # when the next request would start if all requests were spread evenly
        self._paused_until = self._reset_at = 0.0
        self._limit: int | None = None
        self._remaining: int | None = None
        self._in_flight = self._sent = 0
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

    def acquire(self, deadline: Deadline, request: object, *, has_started: bool = False) -> None:
        """Wait until a request may start. One :meth:`end` must follow for each request.

        A request that `has_started`, but is not sent yet, waits only if the service has asked for a wait since.
        """
        while True:
            with self._lock:
                wait = self._paused_until - time.monotonic() if has_started else self._seconds()
                if wait <= 0:
                    if not has_started:
                        self._start()
                    return
            if wait > deadline.remaining():
                raise DeadlineExceededError(
                    f"{request}: the service's rate limit allows the next request in {wait:.0f} seconds, after the "
                    f"deadline of {deadline.seconds:g} seconds; nothing was sent, try again later"
                )
            time.sleep(wait)

    def update(self, status: int, headers: Mapping[str, str]) -> None:
        """Read waits and quota from a response. After status 429, wait at least a short time."""
        now, sent_at = time.monotonic(), _http_date(headers.get("date", ""))
        sent_at = time.time() if sent_at is None else sent_at  # dates are compared with the clock of the service
        wait = retry_after(headers, sent_at) if status in STATUSES_WITH_RETRY_AFTER else None
        if wait is None and status == HTTPStatus.TOO_MANY_REQUESTS:
            wait = _SHORT_PAUSE
        limit, remaining, reset = (
            _number(headers.get(f"x-ratelimit-{name}")) for name in ("limit", "remaining", "reset")
        )
        with self._lock:
            self._date = headers.get("date", self._date)
            self._paused_until = max(self._paused_until, now + (wait or 0.0))
            self._limit = self._limit if limit is None else int(limit)
            if remaining is not None and reset is not None:
                seconds = max(0.0, reset - sent_at if reset > _SINCE_1970 else reset)
                self._reset_at = now + min(seconds, _MINUTE)
                # the service may not have counted requests whose responses have not arrived
                self._remaining = max(0, int(remaining) - max(0, self._in_flight - 1))

    def end(self) -> None:
        """End a request."""
        with self._lock:
            self._in_flight -= 1

    def wait(self) -> float:
        """Return the seconds until a request may start."""
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
            # the rate window has ended: the next response reports the new quota
            self._remaining = None if now >= self._reset_at else self._remaining - 1


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Read a Retry-After header, which is a number or a date, or return None if it is neither.

    `now` is Unix time in seconds.
    """
    text = headers.get("retry-after", "").strip()
    date = _http_date(text)
    return _number(text) if date is None else max(date - now, 0.0)


def _http_date(text: str) -> float | None:
    """Convert a date of a header to Unix time. A date without a zone is in UTC."""
    try:
        return as_utc(parsedate_to_datetime(text)).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    """Read a finite number from a header, or return None."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
