"""Windows: the days of a ledger, split so that they can be read in parallel.

Pages can only be followed one after the other, so a ledger of many pages is read as several windows of days. How many
days make a window is estimated from how many lines lie on the days of the first page. The order in which the service
sends lines only helps this estimate; a window is complete because its own query is read to its end.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.load_metadata import DayRange, subtract_days
from accounting_analytics.periods import LOCALTIME, Period, local_date, zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

PAGE_SIZE = 1000
MIN_PAGES_TO_SPLIT = 5
"""Fewer remaining pages than these are read one after the other."""
_DAY = dt.timedelta(days=1)
_MAX_PAGES_PER_WINDOW = 10
_MAX_PAGES_IN_FLIGHT = 160
"""Pages that the windows in flight hold together at most, which bounds the memory of a load."""
_MAX_WINDOWS = 4
"""Windows for each request in flight that one split makes at most."""
_LEFT_EMPTY = 0.1
"""Share of the last page of a window that stays empty on average: one line too many costs another page."""


@dataclass(frozen=True)
class Window:
    """Some days of one ledger, read page by page; `expected_pages` is None where nothing is known yet."""

    ledger_id: str
    period: Period
    expected_pages: float | None = None

    @property
    def size(self) -> float:
        """Expected pages, infinite where nothing is known: what may be large is read first."""
        return math.inf if self.expected_pages is None else self.expected_pages

    @property
    def expected_lines(self) -> float:
        """Expected lines, 0 where nothing is known."""
        return (self.expected_pages or 0) * PAGE_SIZE

    def __str__(self) -> str:
        return f"ledger {self.ledger_id}, {self.period}"


@dataclass(frozen=True)
class FinishedWindow:
    """A window that was read to its end, from `read_at` on; `read_table` returns its lines by (datetime, id)."""

    window: Window
    lines: int
    pages: int
    noise_removed: int
    repeats_removed: int
    newest: dt.datetime | None
    read_table: Callable[[], pa.Table]
    characters_replaced: int
    read_at: dt.datetime
    path: Path | None = None


def group_by_ledger(windows: Iterable[FinishedWindow]) -> defaultdict[str, list[FinishedWindow]]:
    """Finished windows of each ledger."""
    by_ledger: defaultdict[str, list[FinishedWindow]] = defaultdict(list)
    for one in windows:
        by_ledger[one.window.ledger_id].append(one)
    return by_ledger


class DensityEstimate(NamedTuple):
    """How many lines the rest of a window has, estimated from one page.

    `first` and `last` are the days that are not read yet, if the service continues in the same order; `backwards` is
    whether the newest lines come first. The service may put fewer lines on a page than requested.
    """

    lines_per_day: float
    lines_per_page: int
    first: dt.date
    last: dt.date
    backwards: bool

    @classmethod
    def from_page(cls, instants: pa.ChunkedArray, window: Period) -> Self | None:
        """Estimate from the instants of a page; None where they are in no order."""
        count = len(instants)
        if count < 2:  # noqa: PLR2004 (one line has no direction)
            return None
        earlier, later = instants[:-1], instants[1:]
        if pc.all(pc.less_equal(earlier, later)).as_py():
            backwards = False
        elif pc.all(pc.greater_equal(earlier, later)).as_py():
            backwards = True
        else:
            return None
        start, end = sorted(instants[at].as_py() for at in (0, count - 1))
        oldest, newest = (_local_day(instant, window) for instant in (start, end))
        lines_per_day = count / max((end - start) / _DAY, 1)  # hours of one day do not predict the next day
        if backwards:
            return cls(lines_per_day, count, window.start_date, min(oldest, window.end_date), backwards=True)
        return cls(lines_per_day, count, max(newest, window.start_date), window.end_date, backwards=False)

    @property
    def pages(self) -> float:
        """Pages to expect on the days that are not read yet."""
        return ((self.last - self.first).days + 1) * self.lines_per_day / self.lines_per_page


def should_split(window: Window, density: DensityEstimate, pages_read: int) -> bool:
    """Whether so many pages remain that splitting the window is worth reading its first pages again."""
    unexpected = window.expected_pages is None or pages_read + density.pages > 2 * window.expected_pages
    return unexpected and density.pages >= max(MIN_PAGES_TO_SPLIT, 4 * pages_read)


def split(window: Window, density: DensityEstimate, in_flight: int) -> list[Window]:
    """Split a dense window into windows of a few pages, enough of them to be read in parallel.

    The days that the page covers are one more window. Of a very long window only the days next to the page are split;
    the days beyond are one window of unknown size, because lines may be denser or sparser there.
    """
    rest = Period(density.first, density.last, window.period.time_zone)
    covered = [one.period for one in gaps(window.ledger_id, window.period, [rest])]
    days = _days_per_window(rest.days, density, in_flight)
    near, far = _near_and_far(rest, min(days * _MAX_WINDOWS * in_flight, rest.days), backwards=density.backwards)
    pages = days * density.lines_per_day / density.lines_per_page
    return [
        *(Window(window.ledger_id, period, 1) for period in covered),
        *(Window(window.ledger_id, period, pages) for period in near.windows(days)),
        *([] if far is None else [Window(window.ledger_id, far)]),
    ]


def halve(window: Window) -> list[Window]:
    """Both halves of a window of at least two days."""
    days = (window.period.days + 1) // 2
    return [Window(window.ledger_id, period) for period in window.period.windows(days)]


def gaps(ledger_id: str, period: Period, finished: Iterable[Period]) -> list[Window]:
    """Windows of the days of a period that are not finished."""
    left = subtract_days([DayRange.of_period(period)], map(DayRange.of_period, finished))
    return [Window(ledger_id, Period(first, last, period.time_zone)) for first, last in left]


def unread_windows(ledger_ids: Iterable[str], period: Period, finished: Iterable[FinishedWindow]) -> list[Window]:
    """Windows of the days of each ledger that are not finished."""
    by_ledger = group_by_ledger(finished)
    return [
        window
        for ledger_id in ledger_ids
        for window in gaps(ledger_id, period, [one.window.period for one in by_ledger[ledger_id]])
    ]


def _days_per_window(days: int, density: DensityEstimate, in_flight: int) -> int:
    """Days a window: a fair share of the pages, few enough to balance, and not quite full, so that few spill over."""
    fair_share = max(math.ceil(density.pages / in_flight), 1)
    pages = min(fair_share, _MAX_PAGES_PER_WINDOW, max(_MAX_PAGES_IN_FLIGHT // in_flight, 2))
    lines = (pages - _LEFT_EMPTY) * density.lines_per_page
    return min(max(int(lines / density.lines_per_day), 1), days)


def _near_and_far(rest: Period, days: int, *, backwards: bool) -> tuple[Period, Period | None]:
    """Days next to the page, and those beyond if there are any."""
    if days >= rest.days:
        return rest, None
    if backwards:
        border = rest.end_date - days * _DAY
        return Period(border + _DAY, rest.end_date, rest.time_zone), Period(rest.start_date, border, rest.time_zone)
    border = rest.start_date + days * _DAY
    return Period(rest.start_date, border - _DAY, rest.time_zone), Period(border, rest.end_date, rest.time_zone)


def _local_day(instant: dt.datetime, period: Period) -> dt.date:
    """Day of an instant within the period; UTC is near enough to the service's own zone for an estimate."""
    date = local_date(instant, zone("UTC" if period.time_zone == LOCALTIME else period.time_zone))
    return min(max(date, period.start_date), period.end_date)
