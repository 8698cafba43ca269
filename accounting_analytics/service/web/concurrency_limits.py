"""Limits on what runs in parallel: readers, changes, tokens and reports each have their own."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import anyio
from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from accounting_analytics.errors import OperationRefusedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

MAX_READERS = 40
MAX_WRITERS = 4
MAX_TOKEN_WRITERS = 2
MAX_PROBES = 1
MAX_REPORTS = 16
"""Reports that are made or being sent: each keeps a file that may be large."""

REPORT_WAIT = 10
"""Seconds that a report waits for one of these."""

WRITE_WAIT = 30
"""Seconds that a change waits for the changes before it."""

RETRY_AFTER = 1
"""Seconds to wait before the next attempt."""

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class ConcurrencyLimits:
    """Runs work in threads; waiting changes never take the threads of readers."""

    def __init__(self) -> None:
        self._readers = CapacityLimiter(MAX_READERS)
        self._writers = CapacityLimiter(MAX_WRITERS)
        self._token_writers = CapacityLimiter(MAX_TOKEN_WRITERS)
        self._probes = CapacityLimiter(MAX_PROBES)
        self._reports = CapacityLimiter(MAX_REPORTS)

    async def read(
        self, work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Run work that only reads."""
        return await run_sync(partial(work, *arguments, **named), limiter=self._readers)

    async def probe(self, work: Callable[[], Result]) -> Result:
        """Run a probe of the service: it waits for nothing but other probes."""
        return await run_sync(work, limiter=self._probes)

    async def write(
        self, work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Run a change of the books; 503 if the changes before it take too long."""
        async with _slot(self._writers):
            return await run_sync(partial(work, *arguments, **named))

    async def write_token(
        self, work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Run the issue of a token; 503 if those before it take too long."""
        async with _slot(self._token_writers):
            return await run_sync(partial(work, *arguments, **named))

    async def reserve_report(self) -> Callable[[], None]:
        """Reserve a place for a report and return the function that frees it; 503 if none is free in time."""
        borrower = object()
        await _acquire(self._reports, borrower, REPORT_WAIT)
        return partial(self._reports.release_on_behalf_of, borrower)


@asynccontextmanager
async def _slot(limiter: CapacityLimiter) -> AsyncIterator[None]:
    borrower = object()
    await _acquire(limiter, borrower, WRITE_WAIT)
    try:
        yield
    finally:
        limiter.release_on_behalf_of(borrower)


async def _acquire(limiter: CapacityLimiter, borrower: object, seconds: float) -> None:
    with anyio.move_on_after(seconds) as waiting:
        await limiter.acquire_on_behalf_of(borrower)
    if waiting.cancelled_caught:
        msg = "the books are busy; nothing was changed, try again"
        raise OperationRefusedError(msg, status=503, error_code="busy", headers={"retry-after": str(RETRY_AFTER)})
