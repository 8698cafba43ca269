"""Windows: parts of a ledger's days, read in parallel, each page by page.

Pages can only be followed one after the other, so a ledger of many pages is read as several windows of days. The number
of days in a window is estimated from the lines per day on the first page. The order in which the service sends lines
only helps this estimate; a window is complete because its own query is read to its end. The threads that read windows
run any work that may split into smaller pieces of work.
"""

from __future__ import annotations

import datetime as dt
import math
import threading
import time
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

import msgspec
import pyarrow as pa

from accounting_analytics.client.ledger_client import restart_on_expired_token
from accounting_analytics.client.records import Ledger
from accounting_analytics.core.day_ranges import DayRange, subtract_days
from accounting_analytics.core.errors import (
    AccountingAnalyticsError,
    ExpiredPageTokenError,
    InvalidRequestError,
    ProtocolError,
)
from accounting_analytics.core.periods import DAY, Period
from accounting_analytics.loading.arrow_lines import line_schema, remove_repeats, require_in_period, sort_lines
from accounting_analytics.loading.estimate import DensityEstimate, RequestsToCome
from accounting_analytics.loading.page_decoding import DECODING_THREADS, decode_page
from accounting_analytics.loading.request import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from accounting_analytics.loading.page_decoding import DecodedPage
    from accounting_analytics.loading.request import LoadRequest

Work = TypeVar("Work")
Completed = TypeVar("Completed")

MIN_PAGES_TO_SPLIT = 5
"""A window with fewer remaining pages is not split."""
_ATTEMPTS = 3
_JOIN_TIMEOUT = 4.0
"""Seconds to wait for threads after a failure. A call that hangs ends at its own deadline."""
_MAX_PAGES_PER_WINDOW = 10
_MAX_WINDOWS = 4
"""Largest number of windows of a split for each request in flight."""
_LEFT_EMPTY = 0.1
"""Share of a window's last page that is planned to stay empty, because one line too many costs another page."""


class WindowCounts(msgspec.Struct, frozen=True):
    """Numbers of lines, pages and normalized values of a window."""

    lines: int
    pages: int
    noise_removed: int
    repeats_removed: int
    characters_replaced: int


@dataclass(frozen=True, eq=False)
class FinishedWindow:
    """A window that was read to its end, beginning at `read_at`. `read_table` returns its lines by (datetime, id).

    `shown` are the fields of its ledger, if its pages show them.
    """

    window: Window
    counts: WindowCounts
    read_at: dt.datetime
    read_table: Callable[[], pa.Table]
    path: Path | None = None
    shown: Ledger | None = None


def group_by_ledger(windows: Iterable[FinishedWindow]) -> defaultdict[str, list[FinishedWindow]]:
    """Group finished windows by ledger."""
    by_ledger: defaultdict[str, list[FinishedWindow]] = defaultdict(list)
    for finished in windows:
        by_ledger[finished.window.ledger_id].append(finished)
    return by_ledger


def should_split(window: Window, density: DensityEstimate, pages_read: int) -> bool:
    """Return whether splitting a window is worth reading its first pages again."""
    unexpected = window.expected_pages is None or pages_read + density.pages > 2 * window.expected_pages
    return unexpected and density.pages >= max(MIN_PAGES_TO_SPLIT, 4 * pages_read)


def split(window: Window, density: DensityEstimate, in_flight: int) -> list[Window]:
    """Split a dense window into windows of a few pages, to read in parallel.

    Each new window has a fair share of the pages, few enough to balance the threads, and its last page is not quite
    full, so that few windows need another page. The days of the page that was read are one more window. Of a very long
    window, only the days next to this page are split. All later days are one window of unknown size, because they may
    have more or fewer lines a day.
    """
    rest = density.rest
    fair_share = min(max(math.ceil(density.pages / in_flight), 1), _MAX_PAGES_PER_WINDOW)
    lines = (fair_share - _LEFT_EMPTY) * density.lines_per_page
    days = min(max(int(lines / density.lines_per_day), 1), rest.days)
    near_days = min(days * _MAX_WINDOWS * in_flight, rest.days)
    near = Period(rest.start_date, rest.start_date + (near_days - 1) * DAY, rest.time_zone)
    pages = days * density.lines_per_day / density.lines_per_page
    return [
        *gaps(window.ledger_id, window.period, [near]),
        *(Window(window.ledger_id, period, pages) for period in near.windows(days)),
    ]


def halve(window: Window) -> list[Window]:
    """Split a window of at least two days into halves."""
    days = (window.period.days + 1) // 2
    return [Window(window.ledger_id, period) for period in window.period.windows(days)]


def gaps(ledger_id: str, period: Period, finished: Iterable[Period]) -> list[Window]:
    """Return windows for the days of a period that no finished window has."""
    left = subtract_days([DayRange.of_period(period)], map(DayRange.of_period, finished))
    return [Window(ledger_id, Period(first, last, period.time_zone)) for first, last in left]


def unread_windows(ledger_ids: Iterable[str], period: Period, finished: Iterable[FinishedWindow]) -> list[Window]:
    """Return windows for the days of each ledger that no finished window has."""
    by_ledger = group_by_ledger(finished)
    return [
        window
        for ledger_id in ledger_ids
        for window in gaps(ledger_id, period, [read_window.window.period for read_window in by_ledger[ledger_id]])
    ]


class LoadStoppedError(Exception):
    """The load failed in another window while this window was read."""


class WindowReader:
    """Reader of the windows of one request. Several threads may use it in parallel.

    Dense windows are split into at least as many windows as are read in parallel. When `stop` is set, no further page
    is requested. The load begins with the windows `unread`. Few lines are expected after `last_day`. `shown` are the
    ledgers that windows have shown, by id.
    """

    def __init__(
        self,
        request: LoadRequest,
        unread: Iterable[Window] = (),
        *,
        last_day: dt.date = dt.date.max,
    ) -> None:
        self.request = request
        self.requests_to_come = RequestsToCome(request, unread)
        self.shown: dict[str, Ledger] = {}
        self.last_day, self._with_parents = last_day, True
        self.stop = threading.Event()
        self._decoding_threads = ThreadPoolExecutor(DECODING_THREADS, "decode")
        self._began = dt.datetime.now(dt.UTC)

    def read(self, window: Window) -> FinishedWindow | list[Window]:
        """Read a window to its end, or return smaller windows instead."""
        may_split = self.request.in_flight > 1 and window.period.days > 1
        pages = []
        try:
            for page in self._pages(window):
                pages.append(page)
                is_last = page.next_page_token is None
                density = None
                if not is_last:
                    density = DensityEstimate.from_page(page.table["datetime"], window.period, self.last_day)
                self.requests_to_come.add_page(window, len(pages), density, is_last=is_last)
                if may_split and density is not None and should_split(window, density, len(pages)):
                    return split(window, density, self.request.in_flight)
        except ExpiredPageTokenError:
            # half a window has half the pages, so it may succeed
            return halve(window) if window.period.days > 1 else self.read_whole(window)
        return self._join(window, pages)

    def read_whole(self, window: Window) -> FinishedWindow:
        """Read a window to its end, whatever its size."""
        try:
            pages = restart_on_expired_token(lambda: list(self._pages(window)), attempts=_ATTEMPTS)
        except ExpiredPageTokenError as error:
            raise ProtocolError(
                f"list line entries ({window}): the service refused its own page token in each of {_ATTEMPTS} attempts "
                f"to read all pages of these days; the last refusal: {error}"
            ) from None
        return self._join(window, pages)

    def _pages(self, window: Window) -> Iterator[DecodedPage]:
        """Request and decode page after page. All threads share a wait for the rate limit."""

        def decoder_of_page(number: int) -> Callable[[bytes], DecodedPage]:
            self._require_running()
            return partial(self._decode, window, f"list line entries ({window}, page {number})")

        client, options = self.request.client, self.request.page_options()
        if not window.with_ledger:
            return client.iter_decoded_pages(window.ledger_id, window.period, decoder_of_page, **options)
        with_parents = self._with_parents
        shown = ("ledger", "ledger.parent", "ledger.parent.parent") if with_parents else ("ledger",)
        options["expand"] = [*options["expand"], *shown]
        pages = client.iter_decoded_pages(window.ledger_id, window.period, decoder_of_page, **options)
        try:
            first = next(pages)
        except InvalidRequestError as error:
            if not with_parents or isinstance(error, ExpiredPageTokenError):
                raise
            self._with_parents = False  # the service shows no parents, or refuses the request for another reason
            return self._pages(window)
        return chain([first], pages)

    def _decode(self, window: Window, where: str, content: bytes) -> DecodedPage:
        page = decode_page(
            content,
            where,
            threads=self._decoding_threads,
            ledger_id=window.ledger_id,
            expand=self.request.expand,
            scale=self.request.scale,
        )
        require_in_period(page.table, window.period, where)
        if page.ledger is not None and window.ledger_id not in self.shown:
            # a copy, because the ledger holds the memory of its page
            self.shown[window.ledger_id] = msgspec.json.decode(msgspec.json.encode(page.ledger), type=Ledger)
        return page._replace(ledger=None)

    def _require_running(self) -> None:
        if self.stop.is_set():
            raise LoadStoppedError

    def _join(self, window: Window, pages: list[DecodedPage]) -> FinishedWindow:
        self._require_running()  # a window that was read after the end of its load is not saved
        schema = line_schema(self.request.expand, self.request.scale)
        unique, repeats = remove_repeats(pa.concat_tables([schema.empty_table(), *(page.table for page in pages)]))
        table = sort_lines(unique)
        counts = WindowCounts(
            lines=table.num_rows,
            pages=len(pages),
            noise_removed=sum(page.noise_removed for page in pages),
            repeats_removed=repeats,
            characters_replaced=sum(page.characters_replaced for page in pages),
        )
        return FinishedWindow(window, counts, self._began, lambda: table, shown=self.shown.get(window.ledger_id))


def run_in_parallel(
    function: Callable[[Work], Completed | list[Work]],
    pieces: Iterable[Work],
    *,
    threads: int,
    stop: threading.Event | None = None,
) -> Iterator[Completed]:
    """Yield results in order of completion. A piece of work may return smaller pieces.

    The first error stops all work and is raised. `stop` is then set, so that `function` can end early. The threads are
    daemons, so that an interrupted program does not wait for the last response of a slow service.
    """
    stop = stop or threading.Event()
    work: SimpleQueue[Work | None] = SimpleQueue()
    completed: SimpleQueue[Future[Completed | list[Work]]] = SimpleQueue()

    def run() -> None:
        while (next_piece := work.get()) is not None and not stop.is_set():
            completed.put(_call(function, next_piece))

    completed.put(_call(list, pieces))  # the first piece of work splits into all others
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
    except BaseException:  # also after an interrupt: the other threads must send no further requests
        stop.set()
        raise
    finally:
        _end(workers, work)


def _call(function: Callable[[Work], Completed], piece: Work) -> Future[Completed]:
    """Run a piece of work, and return its result or error."""
    future: Future[Completed] = Future()
    try:
        future.set_result(function(piece))
    except BaseException as error:  # noqa: BLE001 (raised again by Future.result)
        future.set_exception(error)
    return future


def _end(workers: list[threading.Thread], work: SimpleQueue[Work | None]) -> None:
    """End the threads, which have no more work."""
    for _ in workers:
        work.put(None)
    deadline = time.monotonic() + _JOIN_TIMEOUT
    for worker in workers:
        worker.join(max(deadline - time.monotonic(), 0))
