"""Estimate of the remaining requests of a load, announced once if there are many."""

from __future__ import annotations

import datetime as dt
import math
import threading
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.periods import DAY, Period, local_date, zone
from accounting_analytics.core.progress import show_notice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.loading.request import LoadRequest, Window

DOCUMENTED_RATE = 320.0
"""Requests per minute that the service allows an instance, according to its documentation."""
_MANY_REQUESTS = 1000
"""More requests than this number are announced."""
_SAMPLE, _FEWEST = 16, 3
"""With this many requests, and windows with a page, the median of these windows is the estimate for all others.

The notice appears by the 20th page, while other threads send their requests.
"""
_SHORTEST = 0.5
"""Least number of read days: a few hours do not show how many lines a day has."""
_SPARE_REQUESTS = 1.1
"""Factor for windows that end within a page, and for the newest days, which are read again."""


class DensityEstimate(NamedTuple):
    """Estimated lines in the rest of a window, from one page.

    `rest` are the unread days, if the service continues in order of time. `read_days` is the number of days that were
    read from the start of the window. The service may put fewer lines on a page than requested.
    """

    lines_per_day: float
    lines_per_page: int
    rest: Period
    read_days: float = 1

    @classmethod
    def from_page(cls, instants: pa.ChunkedArray, window: Period, last_day: dt.date = dt.date.max) -> Self | None:
        """Estimate from the instants of a page, or return None if they are not in order.

        After `last_day` few lines are expected, although the window may have later days.
        """
        count = len(instants)
        if count < 2 or not pc.all(pc.less_equal(instants[:-1], instants[1:])).as_py():  # noqa: PLR2004 (no interval)
            return None
        start, end = instants[0].as_py(), instants[-1].as_py()
        lines_per_day = count / max((end - start) / DAY, 1)  # a few hours of a day do not predict the next day
        days = zone(window.time_zone)
        last_read = local_date(end, days)
        first_unread = min(max(last_read, window.start_date), window.end_date)
        read_days = (end - dt.datetime.combine(window.start_date, dt.time(), days)) / DAY
        last = max(first_unread, min(window.end_date, last_day))
        return cls(lines_per_day, count, Period(first_unread, last, window.time_zone), read_days)

    @property
    def pages(self) -> float:
        """Expected pages of the unread days."""
        return self.rest.days * self.lines_per_day / self.lines_per_page

    def pages_after(self, number: int) -> float:
        """Estimate the remaining pages of a window after `number` pages.

        The estimate uses the density of this page, or of all read pages if that is higher.
        """
        return max(self.pages, 1, self.rest.days * number / max(self.read_days, _SHORTEST))


class RequestsToCome:
    """The remaining requests of a load, estimated from its pages. Any thread may add pages.

    The load begins with `windows`. A page shows how many pages of its window remain, even if the window is split. The
    windows of a split show how wrong that estimate was.
    """

    def __init__(self, request: LoadRequest, windows: Iterable[Window]) -> None:
        self._request = request
        self._pages: dict[Window, float | None] = dict.fromkeys(windows)
        self._expected: dict[Window, float] = {}
        self._read = 0
        self._is_announced = False
        self._lock = threading.Lock()

    def add_windows(self, windows: Iterable[Window]) -> None:
        """Add windows to read."""
        with self._lock:
            self._pages |= dict.fromkeys(windows)

    def add_page(self, window: Window, number: int, density: DensityEstimate | None, *, is_last: bool) -> None:
        """Add a page of a window. If many requests remain, announce them once."""
        with self._lock:
            self._read += 1
            more = 0 if is_last else 1 if density is None else density.pages_after(number)
            if window in self._pages:
                self._pages[window] = number + more
            elif window.expected_pages is not None:
                self._expected[window] = number + more
            if self._is_announced or (count := self._count()) <= _MANY_REQUESTS:
                return
            self._is_announced = True
        rate = self._request.client.quota.limit or DOCUMENTED_RATE
        show_notice(
            f"about {count:,} requests or more are to come, {math.ceil(count / rate):,} minutes at {rate:g} a minute; "
            "fewer days (a later start_date or since) take fewer, and local books (sync) continue where they were "
            "stopped, and then read only what is new"
        )

    def _count(self) -> int:
        known = [pages for pages in self._pages.values() if pages is not None]
        sent = self._read + self._request.in_flight
        each = median(known) if sent >= _SAMPLE and len(known) >= _FEWEST else 1
        estimated = sum(window.expected_pages or 0 for window in self._expected)
        denser = sum(self._expected.values()) / estimated if len(self._expected) >= _FEWEST else 1
        pages = sum(known) * max(denser, 1) + (len(self._pages) - len(known)) * each
        verified = self._request.verified
        readings = 1 if verified is None else 1 + verified.days / self._request.period.days
        return math.ceil(pages * _SPARE_REQUESTS * readings) - self._read
