"""Limits on requests: how many an instance has a minute, and how many run in parallel, shared fairly by instances."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar, TypeVarTuple

import anyio
from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from accounting_analytics.errors import ConfigurationError, OperationRefusedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

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


MAX_RATIO = 3
"""Places that one holder may have for each place that stays free."""


class _Waiter(NamedTuple):
    holder: Hashable
    granted: anyio.Event


class FairLimiter:
    """Limits how many places are taken; to be used in one event loop.

    A holder that has no place gets any that is free. One that has some gets another only while, afterwards, it has at
    most :data:`MAX_RATIO` times as many as are free: alone it can take three quarters of them. Waiters are served in
    order, except that one who may not have a place delays no other.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._taken: Counter[Hashable] = Counter()
        self._waiting: list[_Waiter] = []

    @asynccontextmanager
    async def place(self, holder: Hashable, seconds: float = math.inf) -> AsyncIterator[None]:
        """Hold a place during the block; 503 if none is free in time."""
        await self.acquire(holder, seconds)
        try:
            yield
        finally:
            self.release(holder)

    async def acquire(self, holder: Hashable, seconds: float = math.inf) -> None:
        """Wait for a place; 503 if none is free in time."""
        waiter = _Waiter(holder, anyio.Event())
        self._waiting.append(waiter)
        self._grant()
        with anyio.move_on_after(seconds) as waiting:
            try:
                await waiter.granted.wait()
            except BaseException:  # also when cancelled: a place that is not in use must be free
                if waiter.granted.is_set():
                    self.release(holder)
                else:
                    self._waiting.remove(waiter)
                raise
        if waiting.cancelled_caught:
            raise OperationRefusedError(
                "the books are busy; nothing was changed, try again",
                status=503,
                error_code="busy",
                headers={"retry-after": "1"},
            )

    def release(self, holder: Hashable) -> None:
        """Free a place of a holder."""
        self._free += 1
        self._taken[holder] -= 1
        if not self._taken[holder]:
            del self._taken[holder]
        self._grant()

    def _grant(self) -> None:
        """Give free places to those who may have one, first come first served."""
        for waiter in self._waiting.copy():
            if self._may_have(waiter.holder):
                self._waiting.remove(waiter)
                self._free -= 1
                self._taken[waiter.holder] += 1
                waiter.granted.set()

    def _may_have(self, holder: Hashable) -> bool:
        taken = self._taken[holder]
        return self._free > 0 and (taken == 0 or taken + 1 <= MAX_RATIO * (self._free - 1))


MAX_ADMISSIONS = 8
MAX_READERS = 40
MAX_WRITERS = 4
MAX_PROBES = 1
MAX_REPORTS = 16
"""Reports that are made or being sent: each keeps a file that may be large."""

MAX_CALCULATIONS = 4
"""Reports that are calculated at the same time: each needs tens of megabytes, and more of them are not faster."""

REPORT_WAIT = 10
"""Seconds that a report waits for one of these."""

WRITE_WAIT = 30
"""Seconds that a change waits for the changes before it."""

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


class ConcurrencyLimits:
    """Runs work in threads; waiting changes never take the threads of readers.

    The `holder` of work is its instance: none of them can take every place.
    """

    def __init__(self) -> None:
        self._admissions = CapacityLimiter(MAX_ADMISSIONS)
        self._reader_threads = CapacityLimiter(MAX_READERS)
        self._probes = CapacityLimiter(MAX_PROBES)
        self._calculations = FairLimiter(MAX_CALCULATIONS)
        self._readers = FairLimiter(MAX_READERS)
        self._writers = FairLimiter(MAX_WRITERS)
        self._reports = FairLimiter(MAX_REPORTS)

    async def admit(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Run the short check of who sends a request, before its holder is known."""
        return await run_sync(work, *arguments, limiter=self._admissions)

    async def probe(self, work: Callable[[], Result]) -> Result:
        """Run a probe of the service: it waits for nothing but other probes."""
        return await run_sync(work, limiter=self._probes)

    async def read(self, holder: Hashable, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Run work that only reads."""
        async with self._readers.place(holder):
            return await run_sync(work, *arguments, limiter=self._reader_threads)

    async def write(self, holder: Hashable, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Run a change of the books; 503 if the changes before it take too long."""
        async with self._writers.place(holder, WRITE_WAIT):
            return await run_sync(work, *arguments)

    async def calculate(self, holder: Hashable, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Calculate a report whose place is reserved."""
        async with self._calculations.place(holder):
            return await run_sync(work, *arguments)

    async def reserve_report(self, holder: Hashable) -> Callable[[], None]:
        """Reserve a place for a report and return the function that frees it; 503 if none is free in time."""
        await self._reports.acquire(holder, REPORT_WAIT)
        return partial(self._reports.release, holder)
