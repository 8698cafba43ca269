"""A few threads that do work which may turn out to be more work."""

from __future__ import annotations

import heapq
import threading
import time
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Work = TypeVar("Work")
Done = TypeVar("Done")

_PATIENCE = 4.0
"""Seconds to wait for threads when a job is given up; a call that hangs ends by its own deadline."""


def begun(do: Callable[[], Done], name: str) -> Future[Done]:
    """Do one thing on a thread of its own, a daemon like those of a crew."""
    outcome: Future[Done] = Future()
    threading.Thread(target=_settle, args=(outcome, do), name=name, daemon=True).start()
    return outcome


def _settle(outcome: Future[Any], do: Callable[..., Any], *arguments: Any) -> None:  # noqa: ANN401 (those of `do`)
    try:
        outcome.set_result(do(*arguments))
    except BaseException as error:  # noqa: BLE001 (raised again where the outcome is asked for)
        outcome.set_exception(error)


class Crew(Generic[Work, Done]):
    """Does pieces of work on several threads, the largest first; a piece may come back as smaller pieces.

    The threads are daemons: an interrupted program need not wait for the last answer of a slow service.

    Parameters
    ----------
    do : callable
        Does one piece: its outcome, or a list of pieces to do instead.
    size : callable
        How large a piece is.
    threads : int
        How many at once.
    stop : threading.Event
        Set when the crew gives up, for `do` to look at.
    """

    def __init__(
        self,
        do: Callable[[Work], Done | list[Work]],
        *,
        size: Callable[[Work], float],
        threads: int,
        stop: threading.Event,
    ) -> None:
        self._do = do
        self._size = size
        self._most = threads
        self._stop = stop
        self._waiting: list[tuple[float, int, Work]] = []
        self._ready = threading.Condition()
        self._done: SimpleQueue[Future[Done | list[Work]]] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._put = 0

    def outcomes(self, pieces: Iterable[Work]) -> Iterator[Done]:
        """Yield outcomes as they come; the first error ends all work and is raised."""
        open_pieces = self._add(pieces)
        try:
            while open_pieces:
                outcome = self._done.get().result()
                open_pieces -= 1
                if isinstance(outcome, list):
                    open_pieces += self._add(outcome)
                else:
                    yield outcome
        except BaseException:  # interrupted too: the other threads must stop asking
            self._stop.set()
            raise
        finally:
            self._dismiss()

    def _add(self, pieces: Iterable[Work]) -> int:
        added = 0
        with self._ready:
            for piece in pieces:
                self._put += 1
                added += 1
                heapq.heappush(self._waiting, (-self._size(piece), self._put, piece))
            self._ready.notify_all()
        while len(self._threads) < min(self._most, self._put):
            thread = threading.Thread(target=self._work, name=f"crew-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return added

    def _work(self) -> None:
        while True:
            with self._ready:
                while not self._waiting:
                    if self._most == 0:
                        return
                    self._ready.wait()
                if self._stop.is_set():
                    return
                *_, piece = heapq.heappop(self._waiting)
            outcome: Future[Any] = Future()
            _settle(outcome, self._do, piece)
            self._done.put(outcome)

    def _dismiss(self) -> None:
        with self._ready:
            self._most = 0
            if self._stop.is_set():
                self._waiting.clear()
            self._ready.notify_all()
        until = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0))
