"""How many requests a minute an instance may make, and what its answers say about it."""

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
"""Requests a minute and instance that the documentation names as the ceiling."""

_WINDOW = 60.0


@dataclass(frozen=True)
class Quota:
    """What is left after a request.

    Attributes
    ----------
    allowed : bool
        Whether the request may go on.
    limit, remaining : int
        Requests a minute, and how many are left of this one.
    reset : int
        Whole seconds, rounded up, until all of them are there again.
    """

    allowed: bool
    limit: int
    remaining: int
    reset: int

    def headers(self) -> dict[str, str]:
        """Headers of the answer."""
        shown = {
            "x-ratelimit-limit": str(self.limit),
            "x-ratelimit-remaining": str(self.remaining),
            "x-ratelimit-reset": str(self.reset),
        }
        return shown if self.allowed else shown | {"retry-after": str(self.reset)}


class Quotas:
    """Counts the requests of every instance, a minute at a time; may be used from any thread.

    An instance's minute begins with its first request. Refused requests do not count: whoever waits as long as told is
    served.

    Parameters
    ----------
    requests_per_minute : int
        Requests a minute and instance.
    clock : callable
        Monotonic seconds.
    """

    def __init__(self, requests_per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        if requests_per_minute < 1:
            msg = f"requests per minute must be 1 or more, not {requests_per_minute}; leave it out for no limit"
            raise ConfigurationError(msg)
        self._limit = requests_per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._minutes: dict[int, tuple[float, int]] = {}

    def take(self, instance_pk: int) -> Quota:
        """Count one request of an instance, if there is one left."""
        with self._lock:
            moment = self._clock()
            ends, used = self._minutes.get(instance_pk, (0.0, 0))
            if moment >= ends:
                ends, used = moment + _WINDOW, 0
            allowed = used < self._limit
            used += allowed
            self._minutes[instance_pk] = (ends, used)
        return Quota(allowed, self._limit, self._limit - used, math.ceil(ends - moment))
