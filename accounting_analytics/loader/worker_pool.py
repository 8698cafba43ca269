"""A small pool of threads for work that may split into smaller pieces of work."""

from __future__ import annotations

import heapq
import threading
import time
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from accounting_analytics.errors import AccountingAnalyticsError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Work = TypeVar("Work")
Result = TypeVar("Result")

DEFAULT_IN_FLIGHT = 8
_JOIN_TIMEOUT = 4.0
"""Seconds to wait for threads after a failure; a call that hangs ends by its own deadline."""


def check_in_flight(in_flight: int) -> int:
    """Return `in_flight` if it is a number of requests that can be sent in parallel."""
    if isinstance(in_flight, bool) or not isinstance(in_flight, int) or in_flight < 1:
        raise InputError(f"in_flight must be a whole number of at least 1, not {in_flight!r}")
    return in_flight


def _complete(future: Future[Any], function: Callable[..., Any], *arguments: Any) -> None:  # noqa: ANN401 (any function)
    try:
        future.set_result(function(*arguments))
    except BaseException as error:  # noqa: BLE001 (raised again by Future.result)
        future.set_exception(error)


class WorkerPool(Generic[Work, Result]):
    """Runs pieces of work on several threads, the largest first; a piece may return smaller pieces instead of a result.

    The threads are daemons: an interrupted program does not wait for the last response of a slow service. `stop` is set
    when the pool fails or is interrupted, so that `function` can end early.
    """

    def __init__(
        self,
        function: Callable[[Work], Result | list[Work]],
        *,
        size: Callable[[Work], float],
        threads: int,
        stop: threading.Event | None = None,
    ) -> None:
        self._function = function
        self._size = size
        self._max_threads = threads
        self._stop = stop or threading.Event()
        self._queue: list[tuple[float, int, Work]] = []
        self._queue_changed = threading.Condition()
        self._completed: SimpleQueue[Future[Result | list[Work]]] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._queued_count = 0
        self._closed = False

    def results(self, pieces: Iterable[Work]) -> Iterator[Result]:
        """Yield results in the order of completion; the first error stops all work and is raised."""
        pending = self._add(pieces)
        try:
            while pending:
                result = self._completed.get().result()
                pending -= 1
                if isinstance(result, list):
                    pending += self._add(result)
                else:
                    yield result
        except AccountingAnalyticsError as error:
            self._stop.set()
            raise error.with_traceback(None)  # noqa: B904 (its frames on other threads would fill a notebook)
        except BaseException:  # also when interrupted: the other threads must send no further requests
            self._stop.set()
            raise
        finally:
            self._close()

    def _add(self, pieces: Iterable[Work]) -> int:
        """Queue pieces of work and start threads for them; return how many there are."""
        added = 0
        with self._queue_changed:
            for piece in pieces:
                self._queued_count += 1
                added += 1
                heapq.heappush(self._queue, (-self._size(piece), self._queued_count, piece))
            self._queue_changed.notify_all()
        while len(self._threads) < min(self._max_threads, self._queued_count):
            thread = threading.Thread(target=self._run, name=f"loader-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return added

    def _run(self) -> None:
        """Do queued work until the pool is closed."""
        while True:
            with self._queue_changed:
                while not self._queue:
                    if self._closed:
                        return
                    self._queue_changed.wait()
                if self._stop.is_set():
                    return
                *_, piece = heapq.heappop(self._queue)
            future: Future[Any] = Future()
            _complete(future, self._function, piece)
            self._completed.put(future)

    def _close(self) -> None:
        with self._queue_changed:
            self._closed = True
            if self._stop.is_set():
                self._queue.clear()
            self._queue_changed.notify_all()
        deadline = time.monotonic() + _JOIN_TIMEOUT
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
