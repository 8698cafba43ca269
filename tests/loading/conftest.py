"""Ledgers of a fake service, as a handler of httpx requests."""

import bisect
import datetime as dt
import threading
from collections import Counter
from zoneinfo import ZoneInfo

import httpx
import pytest


def page_of(lines, next_page_token=None):
    return httpx.Response(200, json={"records": lines, "next_page_token": next_page_token, "prev_page_token": None})


class Ledgers:
    """Ledgers of a fake service, which counts the requests for each page.

    Lines are served by local day in order of time, at most `page_size` a page; replace `order` or `within` to fake a
    service that differs.
    """

    def __init__(self, lines, *, page_size=1000):
        self.lines = list(lines)
        self.page_size = page_size
        self.order = list
        self._by_day = {}
        self.requested = Counter()
        self._lock = threading.RLock()

    def __call__(self, request):
        params = request.url.params
        page = (
            request.url.path.split("/")[3],
            params["start_date"],
            params["end_date"],
            params.get("time_zone", "UTC"),
            params.get("page_token"),
        )
        with self._lock:
            self.requested[page] += 1
        return self.page(*page, limit=int(params["limit"]))

    def page(self, ledger_id, start_date, end_date, time_zone, page_token, *, limit):
        lines = self.within(ledger_id, time_zone, start_date, end_date)
        size = min(limit, self.page_size)
        start = int(page_token.removeprefix("at-")) if page_token else 0
        return page_of(lines[start : start + size], f"at-{start + size}" if start + size < len(lines) else None)

    def within(self, ledger_id, time_zone, start_date, end_date):
        """Return the ledger's lines of these days, in the order of the service."""
        with self._lock:
            by_day = self._days_of(ledger_id, time_zone)
        first = bisect.bisect_left(by_day, start_date, key=lambda one: one[0])
        last = bisect.bisect_right(by_day, end_date, key=lambda one: one[0])
        return self.order([line for _, line in by_day[first:last]])

    def _days_of(self, ledger_id, time_zone):
        if (ledger_id, time_zone) not in self._by_day:
            zone = ZoneInfo(time_zone)
            self._by_day[ledger_id, time_zone] = [
                (dt.datetime.fromisoformat(line["datetime"]).astimezone(zone).date().isoformat(), line)
                for line in sorted(self.lines, key=lambda line: (line["datetime"], line["id"]))
                if line["ledger_id"] == ledger_id
            ]
        return self._by_day[ledger_id, time_zone]

    def change(self, change):
        """Change the books while they are served."""
        with self._lock:
            change(self.lines)
            self._by_day.clear()

    @property
    def requests(self):
        """Number of requests in all."""
        return sum(self.requested.values())


@pytest.fixture
def make_ledgers():
    return Ledgers


@pytest.fixture
def spread(line):
    """Return a function that spreads lines over days: `{ledger: {day: lines that day}}`, in order of time."""

    def spread(ledgers):
        lines = []
        for ledger_id, days in ledgers.items():
            for day, count in days.items():
                midnight = dt.datetime.fromisoformat(f"{day}T00:00:00+00:00")
                for at in range(count):
                    when = midnight + dt.timedelta(days=1) * at / count
                    number = f"{ledger_id}_{day}_{at}"
                    lines.append(
                        line(
                            number,
                            ledger_id=ledger_id,
                            datetime=when.isoformat(timespec="microseconds"),
                            amount=f"{at % 1000}.{at % 100:02}",
                        )
                    )
        return lines

    return spread


@pytest.fixture
def interleaved(make_ledgers, spread):
    """Return three ledgers whose windows interleave, of the first quarter of 2025."""
    days = [f"2025-{month:02}-{day:02}" for month in (1, 2, 3) for day in range(1, 29)]
    return make_ledgers(
        spread({"led_1": dict.fromkeys(days, 40), "led_2": dict.fromkeys(days, 3), "led_3": {"2025-02-03": 30}}),
        page_size=100,
    )
