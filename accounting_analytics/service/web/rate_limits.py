"""How many requests an instance may make in a minute."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accounting_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENTED_RATE = 320
"""Requests per minute and instance: the limit in the documentation of the interface."""

_WINDOW = 60.0


@dataclass(frozen=True)
class RateLimitStatus:
    """Whether a request is within the limit, how many are left, and the seconds, rounded up, until the minute ends."""

    allowed: bool
    limit: int
    remaining: int
    reset: int

    def headers(self) -> dict[str, str]:
        """Headers of the response."""
        headers = {
            "x-ratelimit-limit": str(self.limit),
            "x-ratelimit-remaining": str(self.remaining),
            "x-ratelimit-reset": str(self.reset),
        }
        return headers if self.allowed else headers | {"retry-after": str(self.reset)}


class RateLimits:
    """Counts the requests of every instance by the minute, which begins with its first; safe to use from any thread.

    Refused requests do not count, so a client that waits for ``reset`` seconds is served.
    """

    def __init__(self, requests_per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        if requests_per_minute < 1:
            raise ConfigurationError(
                f"requests per minute must be 1 or more, not {requests_per_minute}; omit it for no limit"
            )
        self._limit = requests_per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._minutes: dict[int, tuple[float, int]] = {}

    def acquire(self, instance_pk: int) -> RateLimitStatus:
        """Count a request of an instance, if one is left."""
        with self._lock:
            moment = self._clock()
            ends, used = self._minutes.get(instance_pk, (0.0, 0))
            if moment >= ends:
                ends, used = moment + _WINDOW, 0
            allowed = used < self._limit
            used += allowed
            self._minutes[instance_pk] = (ends, used)
        return RateLimitStatus(allowed, self._limit, self._limit - used, math.ceil(ends - moment))
