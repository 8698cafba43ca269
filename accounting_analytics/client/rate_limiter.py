"""The rate of requests: one governor for all threads of a client, taught by the service."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accounting_analytics.errors import DeadlineExceededError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.client.deadline import Deadline

_MINUTE = 60.0
_BURST_SHARE = 10
_SINCE_1970 = 1e9
"""A reset larger than this is a moment, a smaller one a number of seconds: both are in use."""


@dataclass(frozen=True)
class Quota:
    """What the service last said of its rate limit, and what is known to be used since; None where it said nothing.

    Attributes
    ----------
    limit : int or None
        Requests allowed in one window of time.
    remaining : int or None
        Requests left in this window.
    reset_in : float or None
        Seconds until the next window.
    paused_for : float
        Seconds for which no request starts, because the service asked for it.
    """

    limit: int | None
    remaining: int | None
    reset_in: float | None
    paused_for: float


class Governor:
    """Lets requests start: evenly under a ceiling, never while the service asked to wait, never beyond its quota.

    Parameters
    ----------
    requests_per_minute : float, optional
        No minute sees more requests than this; a tenth of them may start at once.
    """

    def __init__(self, requests_per_minute: float | None) -> None:
        self._lock = threading.Lock()
        self._burst, self._gap = 1, 0.0
        if requests_per_minute is not None:
            self._burst = max(1, int(requests_per_minute / _BURST_SHARE))
            self._gap = _MINUTE / (requests_per_minute - self._burst + 1)
        self._even_turn = 0.0  # when the next request would start if all were spread evenly
        self._paused_until = 0.0
        self._limit: int | None = None
        self._remaining: int | None = None
        self._reset_at = 0.0
        self._unanswered = 0

    @property
    def quota(self) -> Quota:
        """What is left, for whoever watches."""
        with self._lock:
            now = time.monotonic()
            known = self._remaining is not None and now < self._reset_at
            return Quota(
                self._limit,
                self._remaining if known else None,
                self._reset_at - now if known else None,
                max(0.0, self._paused_until - now),
            )

    def turn(self, deadline: Deadline, what: object) -> None:
        """Wait for this caller's turn; one :meth:`answered` must follow.

        Raises
        ------
        DeadlineExceededError
            The turn comes after the deadline; nothing was sent.
        """
        while True:
            with self._lock:
                wait = self._wait()
                if wait <= 0:
                    self._take()
                    return
            if wait > deadline.remaining():
                msg = (
                    f"{what}: the service's rate limit allows the next request in {wait:.0f} seconds, after the "
                    f"deadline of {deadline.seconds:g} seconds; nothing was sent, try again later"
                )
                raise DeadlineExceededError(msg)
            time.sleep(wait)

    def answered(self, headers: Mapping[str, str], now: float) -> None:
        """Learn from the headers of an answer; `now` is the present as seconds since 1970."""
        limit, remaining, reset = (_number(headers, name) for name in ("limit", "remaining", "reset"))
        with self._lock:
            self._unanswered -= 1
            if limit is not None:
                self._limit = int(limit)
            if remaining is None or reset is None:
                return
            present = time.monotonic()
            self._reset_at = present + min(max(0.0, reset - now if reset > _SINCE_1970 else reset), _MINUTE)
            # requests on their way may not be counted in this answer yet
            self._remaining = max(0, int(remaining) - self._unanswered)

    def pause(self, seconds: float) -> None:
        """Let no request of any thread start for some seconds."""
        with self._lock:
            self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def _wait(self) -> float:
        """Seconds until a request may start."""
        now = time.monotonic()
        until = max(self._paused_until, self._even_turn - (self._burst - 1) * self._gap)
        if self._remaining == 0 and now < self._reset_at:
            until = max(until, self._reset_at)
        return until - now

    def _take(self) -> None:
        now = time.monotonic()
        self._even_turn = max(self._even_turn, now) + self._gap
        self._unanswered += 1
        if self._remaining is not None:
            if now >= self._reset_at:
                self._remaining = None  # a new window: what it holds, the next answer says
            else:
                self._remaining -= 1


def _number(headers: Mapping[str, str], name: str) -> float | None:
    try:
        number = float(headers.get(f"x-ratelimit-{name}", ""))
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
