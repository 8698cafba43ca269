"""The governor of the rate: one for all threads, taught by the service, never early, never idle in a loop."""

import threading
import time

import pytest

from accounting_analytics.client import rate_limiter
from accounting_analytics.client.deadline import Deadline
from accounting_analytics.client.rate_limiter import Governor
from accounting_analytics.errors import DeadlineExceededError

NOW = 1_762_862_400.0
LATER = Deadline(1e9)


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that only sleeping moves on, and that notes the sleeps."""

    class Clock:
        def __init__(self):
            self.now, self.sleeps = 1000.0, []

        def monotonic(self):
            return self.now

        def sleep(self, seconds):
            self.sleeps.append(seconds)
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr(rate_limiter, "time", clock)
    return clock


def rate(limit, remaining, reset):
    """Return the headers of a rate limit."""
    return {"x-ratelimit-limit": str(limit), "x-ratelimit-remaining": str(remaining), "x-ratelimit-reset": str(reset)}


@pytest.mark.parametrize("per_minute", [1, 7, 60, 320, 1000])
def test_no_minute_sees_more_than_the_ceiling(clock, per_minute):
    """Whichever minute is looked at, it has at most so many starts; and the ceiling is used."""
    starts, paced = [], Governor(per_minute)
    while clock.now < 1000 + 300:
        paced.turn(LATER, "test")
        starts.append(clock.now)
        paced.answered({}, NOW)
    most = max(sum(first <= start < first + 59.999 for start in starts) for first in starts)
    assert most <= per_minute
    assert len(starts) >= 4.5 * per_minute


def test_without_a_ceiling_nothing_waits(clock):
    """No ceiling, no headers, no wait."""
    free = Governor(None)
    for _ in range(100):
        free.turn(LATER, "test")
    assert clock.sleeps == []


def test_a_pause_holds_everybody(clock):
    """After Retry-After nobody starts before it is over; the longest of several counts."""
    paused = Governor(None)
    paused.pause(5)
    paused.pause(2)
    assert paused.quota.paused_for == 5
    paused.turn(LATER, "test")
    assert clock.now == 1005
    assert len(clock.sleeps) == 1


@pytest.mark.parametrize("reset", [20, NOW + 20])
def test_an_empty_quota_waits_for_the_next_window(clock, reset):
    """The last request of a window is followed by the first of the next, whether reset is a moment or a span."""
    taught = Governor(None)
    taught.turn(LATER, "test")
    taught.answered(rate(320, 2, reset), NOW)
    assert (taught.quota.limit, taught.quota.remaining, taught.quota.reset_in) == (320, 2, 20)
    for _ in range(2):
        taught.turn(LATER, "test")
        taught.answered({}, NOW)
    assert clock.now == 1000
    taught.turn(LATER, "test")
    assert clock.now == 1020
    assert taught.quota.remaining is None


def test_requests_on_their_way_count(clock):
    """What is not answered yet may not be counted by the service yet either."""
    busy = Governor(None)
    for _ in range(4):
        busy.turn(LATER, "test")
    busy.answered(rate(320, 3, 30), NOW)
    assert busy.quota.remaining == 0
    busy.turn(LATER, "test")
    assert clock.now == 1030


def test_a_turn_after_the_deadline_is_refused_at_once(clock, monkeypatch):
    """Who would wait beyond the deadline is told so, and sends nothing."""
    monkeypatch.setattr("accounting_analytics.client.deadline.time.monotonic", clock.monotonic)
    paused = Governor(None)
    paused.pause(100)
    with pytest.raises(DeadlineExceededError, match=r"100 seconds.*nothing was sent"):
        paused.turn(Deadline(10), "test")
    assert clock.sleeps == []


@pytest.mark.parametrize("headers", [rate("many", "x", ""), rate("nan", "-1", "inf"), {}, rate("", 5, "")])
def test_garbled_headers_teach_nothing(clock, headers):
    """A header that is no number is passed over."""
    taught = Governor(None)
    taught.turn(LATER, "test")
    taught.answered(headers, NOW)
    taught.turn(LATER, "test")
    assert clock.sleeps == []
    assert taught.quota.remaining is None


def test_threads_share_one_rate():
    """Eight threads together start no more than one would."""
    shared, starts = Governor(1200), []

    def work():
        for _ in range(20):
            shared.turn(LATER, "test")
            starts.append(time.monotonic())
            shared.answered({}, NOW)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    starts.sort()
    # a burst of 120, then evenly: 160 starts take at least 40 gaps
    assert starts[-1] - starts[0] >= 39 * 60 / 1081
