"""Limits on what runs in parallel: lists, reports, changes and tokens, each shared fairly by the instances."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

import anyio
from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from accounting_analytics.errors import OperationRefusedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

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

    Parameters
    ----------
    places : int
        How many places there are.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._taken: Counter[Hashable] = Counter()
        self._waiting: list[_Waiter] = []

    @asynccontextmanager
    async def place(self, holder: Hashable) -> AsyncIterator[None]:
        """Hold a place during the block."""
        await self.acquire(holder)
        try:
            yield
        finally:
            self.release(holder)

    async def acquire(self, holder: Hashable) -> None:
        """Wait for a place."""
        waiter = _Waiter(holder, anyio.Event())
        self._waiting.append(waiter)
        self._grant()
        try:
            await waiter.granted.wait()
        except BaseException:  # also when cancelled: a place that is not in use must be free
            if waiter.granted.is_set():
                self.release(holder)
            else:
                self._waiting.remove(waiter)
            raise

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
MAX_TOKEN_WRITERS = 2
MAX_PROBES = 1
MAX_REPORTS = 16
"""Reports that are made or being sent: each keeps a file that may be large."""

MAX_CALCULATIONS = 4
"""Reports that are calculated at the same time: each needs tens of megabytes, and more of them are not faster."""

REPORT_WAIT = 10
"""Seconds that a report waits for one of these."""

WRITE_WAIT = 30
"""Seconds that a change waits for the changes before it."""

RETRY_AFTER = 1
"""Seconds to wait before the next attempt."""

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class ConcurrencyLimits:
    """Runs work in threads; waiting changes never take the threads of readers.

    The `holder` of work is its instance, or its OAuth client: none of them can take every place.
    """

    def __init__(self) -> None:
        self._admissions = CapacityLimiter(MAX_ADMISSIONS)
        self._reader_threads = CapacityLimiter(MAX_READERS)
        self._probes = CapacityLimiter(MAX_PROBES)
        self._calculations = FairLimiter(MAX_CALCULATIONS)
        self._readers = FairLimiter(MAX_READERS)
        self._writers = FairLimiter(MAX_WRITERS)
        self._token_writers = FairLimiter(MAX_TOKEN_WRITERS)
        self._reports = FairLimiter(MAX_REPORTS)

    async def admit(
        self, work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Run the short check of who sends a request, before its holder is known."""
        return await run_sync(partial(work, *arguments, **named), limiter=self._admissions)

    async def probe(self, work: Callable[[], Result]) -> Result:
        """Run a probe of the service: it waits for nothing but other probes."""
        return await run_sync(work, limiter=self._probes)

    async def read(
        self, holder: Hashable, work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Run work that only reads."""
        async with self._readers.place(holder):
            return await run_sync(partial(work, *arguments, **named), limiter=self._reader_threads)

    async def write(
        self, holder: Hashable, work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Run a change of the books; 503 if the changes before it take too long."""
        async with _place(self._writers, holder):
            return await run_sync(partial(work, *arguments, **named))

    async def write_token(
        self, holder: Hashable, work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Run the issue of a token; 503 if those before it take too long."""
        async with _place(self._token_writers, holder):
            return await run_sync(partial(work, *arguments, **named))

    async def calculate(
        self, holder: Hashable, work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Calculate a report whose place is reserved."""
        async with self._calculations.place(holder):
            return await run_sync(partial(work, *arguments, **named))

    async def reserve_report(self, holder: Hashable) -> Callable[[], None]:
        """Reserve a place for a report and return the function that frees it; 503 if none is free in time."""
        await _acquire(self._reports, holder, REPORT_WAIT)
        return partial(self._reports.release, holder)


@asynccontextmanager
async def _place(limiter: FairLimiter, holder: Hashable) -> AsyncIterator[None]:
    await _acquire(limiter, holder, WRITE_WAIT)
    try:
        yield
    finally:
        limiter.release(holder)


async def _acquire(limiter: FairLimiter, holder: Hashable, seconds: float) -> None:
    with anyio.move_on_after(seconds) as waiting:
        await limiter.acquire(holder)
    if waiting.cancelled_caught:
        msg = "the books are busy; nothing was changed, try again"
        raise OperationRefusedError(msg, status=503, error_code="busy", headers={"retry-after": str(RETRY_AFTER)})
