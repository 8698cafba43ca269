"""Rate limiting: shared by all threads, taken from the service's headers, never early, never a busy loop."""

import threading
from email.utils import formatdate

import pytest

from accounting_analytics.client import Deadline, retries
from accounting_analytics.client.retries import RateLimiter
from accounting_analytics.core.errors import DeadlineExceededError

NOW = 1_762_862_400.0
LATER = Deadline(1e9)


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that advances only by sleeping, and stores the sleeps."""

    class Clock:
        def __init__(self):
            self.now, self.sleeps = 1000.0, []

        def monotonic(self):
            return self.now

        time = monotonic

        def sleep(self, seconds):
            self.sleeps.append(seconds)
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr(retries, "time", clock)
    return clock


def rate(limit, remaining, reset):
    """Return the headers of a rate limit, in a response whose clock is not ours."""
    numbers = {"limit": limit, "remaining": remaining, "reset": reset}
    return {f"x-ratelimit-{name}": str(number) for name, number in numbers.items()} | {
        "date": formatdate(NOW, usegmt=True)
    }


def test_what_was_not_sent_is_given_back(clock):
    """A request that was held back uses up neither the quota of the service nor the own rate."""
    limiter = RateLimiter(60)
    limiter.acquire(LATER, "test")
    limiter.update(rate(100, 5, 30))
    for _ in range(20):
        limiter.acquire(LATER, "test")
        limiter.update({})
        limiter.give_back()
    assert (limiter.quota.remaining, limiter.quota.sent, clock.sleeps) == (5, 1, [])


@pytest.mark.parametrize("per_minute", [1, 7, 60, 320, 1000])
def test_no_minute_exceeds_the_maximum(clock, per_minute):
    """Any 60 seconds contain at most `per_minute` starts, and the maximum is used."""
    starts, limiter = [], RateLimiter(per_minute)
    while clock.now < 1000 + 300:
        limiter.acquire(LATER, "test")
        starts.append(clock.now)
        limiter.update({})
    most = max(sum(first <= start < first + 59.999 for start in starts) for first in starts)
    assert most <= per_minute
    assert len(starts) >= 4.5 * per_minute


def test_without_a_maximum_nothing_waits(clock):
    """No maximum, no headers, no wait."""
    limiter = RateLimiter(None)
    for _ in range(100):
        limiter.acquire(LATER, "test")
    assert clock.sleeps == []


def test_a_pause_applies_to_all_requests(clock):
    """After Retry-After nothing starts before it has passed; the longest of several pauses counts."""
    limiter = RateLimiter(None)
    limiter.pause(5)
    limiter.pause(2)
    assert limiter.quota.paused_for == 5
    limiter.acquire(LATER, "test")
    assert clock.now == 1005
    assert len(clock.sleeps) == 1


@pytest.mark.parametrize("reset", [20, NOW + 20])
def test_an_empty_quota_waits_for_the_next_window(clock, reset):
    """The last request of a window is followed by the first of the next, whether reset is a time or a duration."""
    limiter = RateLimiter(None)
    limiter.acquire(LATER, "test")
    limiter.update(rate(320, 2, reset))
    assert (limiter.quota.limit, limiter.quota.remaining, limiter.quota.reset_in) == (320, 2, 20)
    for _ in range(2):
        limiter.acquire(LATER, "test")
        limiter.update({})
    assert clock.now == 1000
    limiter.acquire(LATER, "test")
    assert clock.now == 1020
    assert limiter.quota.remaining is None


def test_requests_in_flight_count(clock):
    """Requests without a response may not be counted by the service yet."""
    limiter = RateLimiter(None)
    for _ in range(4):
        limiter.acquire(LATER, "test")
    limiter.update(rate(320, 3, 30))
    assert limiter.quota.remaining == 0
    limiter.acquire(LATER, "test")
    assert clock.now == 1030


def test_a_wait_beyond_the_deadline_is_refused(clock, monkeypatch):
    """A request that would have to wait beyond its deadline raises without waiting, and nothing is sent."""
    monkeypatch.setattr("accounting_analytics.client.http.time.monotonic", clock.monotonic)
    limiter = RateLimiter(None)
    limiter.pause(100)
    with pytest.raises(DeadlineExceededError, match=r"100 seconds.*nothing was sent"):
        limiter.acquire(Deadline(10), "test")
    assert clock.sleeps == []


@pytest.mark.parametrize("headers", [rate("many", "x", ""), rate("nan", "-1", "inf"), {}, rate("", 5, "")])
def test_invalid_headers_are_ignored(clock, headers):
    """A header that is not a number changes nothing."""
    limiter = RateLimiter(None)
    limiter.acquire(LATER, "test")
    limiter.update(headers)
    limiter.acquire(LATER, "test")
    assert clock.sleeps == []
    assert limiter.quota.remaining is None


def test_threads_share_one_rate(clock):
    """Eight threads together start no more requests than one would."""
    limiter = RateLimiter(1200)

    def work():
        for _ in range(20):
            limiter.acquire(LATER, "test")
            limiter.update({})

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # a burst of 120, then evenly: 160 starts take at least 40 gaps
    assert clock.now - 1000 >= 39 * 60 / 1081
