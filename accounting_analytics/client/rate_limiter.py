"""Rate limiting of requests, shared by all threads of a client; follows the limits that the service reports."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from accounting_analytics.errors import DeadlineExceededError
from accounting_analytics.periods import as_utc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.client.transport import Deadline

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


class RateLimiter:
    """Spreads requests below a maximum rate, respects waits that the service asks for, and stays within its quota.

    A tenth of the requests per minute may start in one burst.
    """

    def __init__(self, requests_per_minute: float | None) -> None:
        self._burst, self._gap = 1, 0.0
        if requests_per_minute is not None:
            self._burst = max(1, int(requests_per_minute / _BURST_SHARE))
            self._gap = _MINUTE / (requests_per_minute - self._burst + 1)
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
                wait = self._wait()
                if wait <= 0:
                    self._start()
                    return
            if wait > deadline.remaining():
                raise DeadlineExceededError(
                    f"{request}: the service's rate limit allows the next request in {wait:.0f} seconds, after the "
                    f"deadline of {deadline.seconds:g} seconds; nothing was sent, try again later"
                )
            time.sleep(wait)

    def update(self, headers: Mapping[str, str], now: float) -> None:
        """End a request and read the limit from the headers of its response; `now` is Unix time in seconds."""
        limit, remaining, reset = (_number(headers, name) for name in ("limit", "remaining", "reset"))
        with self._lock:
            self._in_flight -= 1
            self._date = headers.get("date", self._date)
            if limit is not None:
                self._limit = int(limit)
            if remaining is None or reset is None:
                return
            seconds = max(0.0, reset - now if reset > _SINCE_1970 else reset)
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
        wait = requested_wait(status, headers, time.time())
        if wait is not None or status == HTTPStatus.TOO_MANY_REQUESTS:
            self.pause(_SHORT_PAUSE if wait is None else wait)

    def _wait(self) -> float:
        """Seconds until a request may start."""
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


def requested_wait(status: int, headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a response asks to wait; None where it does not. Other statuses than 429 and 503 cannot ask."""
    return retry_after(headers, now) if status in _STATUSES_WITH_RETRY_AFTER else None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds of a Retry-After header, given as a number or an HTTP date; None where it is missing or unusable.

    A date without a zone is UTC, as HTTP dates are. `now` is Unix time in seconds.
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = as_utc(parsedate_to_datetime(text)).timestamp() - now
        except (TypeError, ValueError, IndexError, OverflowError):
            return None
        return max(seconds, 0.0)
    return seconds if 0 <= seconds < float("inf") else None


def _number(headers: Mapping[str, str], name: str) -> float | None:
    try:
        number = float(headers.get(f"x-ratelimit-{name}", ""))
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
