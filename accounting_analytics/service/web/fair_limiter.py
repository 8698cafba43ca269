"""A limit on what runs in parallel that is shared fairly: no holder takes the last places."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable

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
