"""Work on several threads that may split into smaller pieces of work."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from accounting_analytics.core.errors import AccountingAnalyticsError, InputError

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


def run_in_parallel(
    function: Callable[[Work], Result | list[Work]],
    pieces: Iterable[Work],
    *,
    threads: int,
    stop: threading.Event | None = None,
) -> Iterator[Result]:
    """Yield the results of pieces of work in the order of completion; a piece may return smaller pieces instead.

    The first error stops all work and is raised; `stop` is set then, so that `function` can end early. The threads are
    daemons: an interrupted program does not wait for the last response of a slow service.
    """
    stop = stop or threading.Event()
    work: SimpleQueue[Work | None] = SimpleQueue()
    completed: SimpleQueue[Future[Result | list[Work]]] = SimpleQueue()

    def run() -> None:
        while (next_piece := work.get()) is not None and not stop.is_set():
            completed.put(_call(function, next_piece))

    completed.put(_call(list, pieces))  # all of the work splits into these
    pending = 1
    workers = [threading.Thread(target=run, name=f"loader-{number}", daemon=True) for number in range(threads)]
    for worker in workers:
        worker.start()
    try:
        while pending:
            result = completed.get().result()
            pending -= 1
            if isinstance(result, list):
                for piece in result:
                    work.put(piece)
                pending += len(result)
            else:
                yield result
    except AccountingAnalyticsError as error:
        stop.set()
        raise error.with_traceback(None)  # noqa: B904 (its frames on other threads would fill a notebook)
    except BaseException:  # also when interrupted: the other threads must send no further requests
        stop.set()
        raise
    finally:
        _end(workers, work)


def _call(function: Callable[[Work], Result], piece: Work) -> Future[Result]:
    """Return the result or the error of a piece of work."""
    future: Future[Result] = Future()
    try:
        future.set_result(function(piece))
    except BaseException as error:  # noqa: BLE001 (raised again by Future.result)
        future.set_exception(error)
    return future


def _end(workers: list[threading.Thread], work: SimpleQueue[Work | None]) -> None:
    """Let threads end that have nothing to do any more."""
    for _ in workers:
        work.put(None)
    deadline = time.monotonic() + _JOIN_TIMEOUT
    for worker in workers:
        worker.join(max(deadline - time.monotonic(), 0))
