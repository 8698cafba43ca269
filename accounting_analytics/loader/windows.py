"""How the days of a ledger are cut into windows that are read at the same time.

A page says how dense its ledger is where it stands: so many lines in so many days. Whether the service sends lines in
order of time is its own affair, so order is used only to guess how much is to come; what makes the lines of a window
complete is the window's own query, read to its end.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.loader.query import Window
from accounting_analytics.periods import LOCALTIME, Period, local_date, zone

if TYPE_CHECKING:
    from collections.abc import Iterable

_DAY = dt.timedelta(days=1)
MOST_PAGES = 10
"""A window is planned for at most so many pages."""
_MOST_PAGES_AT_ONCE = 160
"""The windows in flight hold at most so many together: that, not the books, is what memory holds."""
_MOST_WINDOWS = 4
"""A window is cut into at most so many for each request in flight."""
_WORTH_OF_A_REQUEST = 4
"""How much a request counts against a turn of one of those in flight: the service may count requests."""
_MOST_CHOICES = 200
WORTH_SPLITTING = 5
"""Fewer pages than these to come are read one after the other."""


class Outlook(NamedTuple):
    """What a page says about the rest of its window.

    Attributes
    ----------
    lines_a_day : float
        How dense the lines are where the page stands.
    lines_a_page : int
        How many lines the service puts on a page, which may be fewer than it was asked for.
    first, last : datetime.date
        Days of the window that are not yet read, if the service goes on in the same order.
    backwards : bool
        Whether the newest lines come first.
    """

    lines_a_day: float
    lines_a_page: int
    first: dt.date
    last: dt.date
    backwards: bool

    @classmethod
    def of(cls, instants: pa.ChunkedArray, window: Period) -> Self | None:
        """Outlook of a page's instants; None where the lines come in no order of time."""
        if len(instants) < 2:  # noqa: PLR2004 (one line has no direction)
            return None
        earlier, later = instants[:-1], instants[1:]
        if pc.all(pc.less_equal(earlier, later)).as_py():
            backwards = False
        elif pc.all(pc.greater_equal(earlier, later)).as_py():
            backwards = True
        else:
            return None
        ends = sorted(instants[at].as_py() for at in (0, len(instants) - 1))
        oldest, newest = (_local(end, window) for end in ends)
        days = max((ends[1] - ends[0]) / _DAY, 1)  # lines come by day: hours of one say nothing of the next
        if backwards:
            return cls(
                len(instants) / days, len(instants), window.start_date, min(oldest, window.end_date), backwards=True
            )
        return cls(
            len(instants) / days, len(instants), max(newest, window.start_date), window.end_date, backwards=False
        )

    @property
    def pages(self) -> float:
        """How many pages to expect in the days not yet read."""
        return ((self.last - self.first).days + 1) * self.lines_a_day / self.lines_a_page


def split(window: Window, outlook: Outlook, in_flight: int) -> list[Window]:
    """Cut a window that turned out dense: windows of a few pages each, enough of them to be read at the same time.

    Days that the page already covered are one window more. Of a very long window only so much is cut; the rest of it is
    one window of which nothing is known, because further on the lines may lie otherwise.
    """
    rest = Period(outlook.first, outlook.last, window.period.time_zone)
    read = [one.period for one in gaps(window.ledger_id, window.period, [rest])]
    days = _days_a_window(rest.days, outlook, in_flight)
    near, far = _near_and_far(rest, min(days * _MOST_WINDOWS * in_flight, rest.days), backwards=outlook.backwards)
    expected = days * outlook.lines_a_day / outlook.lines_a_page
    return [
        *(Window(window.ledger_id, period, 1) for period in read),
        *(Window(window.ledger_id, period, expected) for period in near.windows(days)),
        *([] if far is None else [Window(window.ledger_id, far)]),
    ]


def _days_a_window(days: int, outlook: Outlook, in_flight: int) -> int:
    """Days of lines that nearly fill whole pages: few requests for the last few lines, few turns of waiting."""
    page = outlook.lines_a_page / outlook.lines_a_day
    most = min(max(math.ceil(outlook.pages / in_flight), 1), MOST_PAGES, max(_MOST_PAGES_AT_ONCE // in_flight, 2))
    fewest, longest = max(int(page * most / 2), 1), max(min(int(page * most), days), 1)

    def cost(of_window: int) -> float:
        windows = math.ceil(days / of_window)
        asked = _requests(of_window * outlook.lines_a_day, outlook.lines_a_page)
        turns = math.ceil(windows / in_flight) * math.ceil(asked)
        return _WORTH_OF_A_REQUEST * days / of_window * asked + turns * in_flight

    return min(range(fewest, longest + 1, max((longest - fewest) // _MOST_CHOICES, 1)), key=cost, default=longest)


def _requests(lines: float, lines_a_page: int) -> float:
    """How many pages lines take on average, if they come as independently as customers do."""
    whole = max(math.ceil(lines / lines_a_page), 1)
    spread = math.sqrt(2 * lines)
    too_many = math.erfc((whole * lines_a_page - lines) / spread) / 2
    too_few = math.erfc((lines - (whole - 1) * lines_a_page) / spread) / 2 if whole > 1 else 0
    return whole + too_many - too_few


def _near_and_far(rest: Period, days: int, *, backwards: bool) -> tuple[Period, Period | None]:
    """Cut off some days next to the page from those beyond, if there are any."""
    if days >= rest.days:
        return rest, None
    if backwards:
        turn = rest.end_date - days * _DAY
        return Period(turn + _DAY, rest.end_date, rest.time_zone), Period(rest.start_date, turn, rest.time_zone)
    turn = rest.start_date + days * _DAY
    return Period(rest.start_date, turn - _DAY, rest.time_zone), Period(turn, rest.end_date, rest.time_zone)


def turned_out_dense(window: Window, outlook: Outlook, pages: int) -> bool:
    """Whether so much is to come after `pages` pages that cutting the window is worth reading these again."""
    unexpected = window.pages is None or pages + outlook.pages > 2 * window.pages
    return unexpected and outlook.pages >= max(WORTH_SPLITTING, 4 * pages)


def halves(window: Window) -> list[Window]:
    """Both halves of a window of at least two days."""
    days = (window.period.days + 1) // 2
    return [Window(window.ledger_id, period) for period in window.period.windows(days)]


def gaps(ledger_id: str, period: Period, finished: Iterable[Period]) -> list[Window]:
    """Windows that the finished ones leave open."""
    open_windows = []
    at: dt.date | None = period.start_date
    for done in sorted(finished):
        if at is not None and done.start_date > at:
            open_windows.append(Window(ledger_id, Period(at, done.start_date - _DAY, period.time_zone)))
        at = None if done.end_date >= period.end_date else done.end_date + _DAY
    if at is not None:
        open_windows.append(Window(ledger_id, Period(at, period.end_date, period.time_zone)))
    return open_windows


def _local(instant: dt.datetime, period: Period) -> dt.date:
    """Calendar date of an instant; the service's own local time is near enough to UTC for a guess."""
    date = local_date(instant, zone("UTC" if period.time_zone == LOCALTIME else period.time_zone))
    return min(max(date, period.start_date), period.end_date)
