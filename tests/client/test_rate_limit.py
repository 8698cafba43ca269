"""Rate limit: shared by all threads, taken from the service's headers, never early; waits that the service asks for."""

import threading
import time
from email.utils import formatdate

import httpcore
import httpx
import pytest

from accounting_analytics.core.errors import DeadlineExceededError

NOW = 1_762_862_400.0  # 2025-11-11 12:00:00 UTC, a Tuesday
DAYS = ("2025-03-01", "2025-03-31")
REPORT = {"cash_flow_ledgers": [], "starting_balances": [], "ending_balances": []}
REPORT |= {"starting_cash_balance": "10.05", "ending_cash_balance": "10.05"}
WAIT = 0.6


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that advances only by waiting for the rate limit."""

    class Clock:
        def __init__(self):
            self.now = 1000.0

        def monotonic(self):
            return self.now

        time = monotonic

        def sleep(self, seconds):
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr("accounting_analytics.client.rate_and_time_limits.time", clock)
    return clock


@pytest.fixture
def starts(connected, clock):
    """Return a function that requests reports, and returns when each request started; a response may be given."""

    def request(count, *responses, **options):
        times, given = [], iter(responses)

        def respond(_):
            times.append(clock.now)
            return next(given, None) or httpx.Response(200, json=REPORT)

        client = connected(respond, **options)
        for _ in range(count):
            client.retrieve_cash_flow_report(*DAYS)
        return times, client.quota

    return request


def rate(limit, remaining, reset):
    """Return a response with a rate limit, whose clock is not ours."""
    numbers = {"limit": limit, "remaining": remaining, "reset": reset}
    headers = {f"x-ratelimit-{name}": str(number) for name, number in numbers.items()}
    return httpx.Response(200, json=REPORT, headers=headers | {"date": formatdate(NOW, usegmt=True)})


@pytest.mark.parametrize("per_minute", [1, 7, 60])
def test_no_minute_exceeds_the_maximum(starts, per_minute):
    times, _ = starts(9 * per_minute // 2, requests_per_minute=per_minute)
    assert max(sum(first <= start < first + 59.999 for start in times) for first in times) <= per_minute
    assert times[-1] - times[0] <= 300


def test_threads_share_one_rate(connected, clock):
    client = connected(lambda _: httpx.Response(200, json=REPORT), requests_per_minute=120)
    threads = [
        threading.Thread(target=lambda: [client.retrieve_cash_flow_report(*DAYS) for _ in range(5)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # a burst of 12, then evenly: 40 starts take at least 28 gaps
    assert clock.now - 1000 >= 27 * 60 / 109


@pytest.mark.parametrize("reset", [20, NOW + 20])
def test_an_empty_quota_waits_for_the_next_window(starts, reset):
    times, quota = starts(1, rate(320, 2, reset))
    assert (quota.limit, quota.remaining, quota.reset_in, quota.sent) == (320, 2, 20, 1)
    times, quota = starts(4, rate(320, 2, reset))
    assert times == [1000, 1000, 1000, 1020]
    assert quota.remaining is None


def test_requests_in_flight_count(connected, clock):
    """Requests without a response may not be counted by the service yet."""
    arrived, allowed = threading.Semaphore(0), threading.Event()

    def respond(request):
        if "2025-03-02" in str(request.url):
            arrived.release()
            assert allowed.wait(20)
        return rate(320, 3, 30)

    client = connected(respond)
    threads = [threading.Thread(target=client.retrieve_cash_flow_report, args=("2025-03-02",) * 2) for _ in range(3)]
    for thread in threads:
        thread.start()
        assert arrived.acquire(timeout=20)
    client.retrieve_cash_flow_report(*DAYS)
    assert client.quota.remaining == 0
    client.retrieve_cash_flow_report(*DAYS)
    assert clock.now == 1030
    allowed.set()
    for thread in threads:
        thread.join(20)


@pytest.mark.parametrize("limit", [("many", "x", ""), ("nan", "-1", "inf"), ("", 5, "")])
def test_invalid_headers_are_ignored(starts, limit):
    times, quota = starts(2, rate(*limit))
    assert (times, quota.remaining) == ([1000, 1000], None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("0.25", 0.25),
        (" 3 ", 3.0),
        ("0", 0.0),
        ("Tue, 11 Nov 2025 12:00:30 GMT", 30.0),
        ("Tue, 11 Nov 2025 12:00:30", 30.0),
        ("Tue, 11 Nov 2025 13:00:30 +0100", 30.0),
        ("Tue, 11 Nov 2025 11:00:00 GMT", 0.0),
        ("-5", 0.1),
        ("soon", 0.1),
        ("nan", 0.1),
        ("inf", 0.1),
        ("", 0.1),
        ("Tue, 99 Nov 2025 12:00:30 GMT", 0.1),
        (None, 0.1),
    ],
)
def test_the_wait_that_a_response_asks_for(starts, monkeypatch, text, seconds):
    monkeypatch.setenv("TZ", "Asia/Kolkata")  # dates are not those of this machine
    time.tzset()
    headers = {"date": formatdate(NOW, usegmt=True)} | ({} if text is None else {"retry-after": text})
    try:
        times, _ = starts(1, httpx.Response(429, headers=headers))
        assert times == [1000, 1000 + seconds]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_wait_beyond_the_deadline_is_refused(starts, clock):
    with pytest.raises(DeadlineExceededError, match=r"60 seconds.*nothing was sent"):
        starts(2, requests_per_minute=1, deadline=10.0)
    assert clock.now == 1000


class SlowFirstConnection(httpcore.SyncBackend):
    """A network whose first connection is made only when the test allows it."""

    def __init__(self):
        self.reached, self.allowed = threading.Event(), threading.Event()

    def connect_tcp(self, *arguments, **options):
        if not self.reached.is_set():
            self.reached.set()
            assert self.allowed.wait(20)
        return super().connect_tcp(*arguments, **options)


def list_lines(client):
    return client.list_line_entries("led_1", *DAYS)


def recategorize(client):
    return client.recategorize_transaction("led_1", "txn_1", updated_category_ledger_id="led_2")


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize(("call", "status"), [(recategorize, "429 Slow"), (list_lines, "503 Busy")])
def test_a_request_that_is_about_to_be_sent_waits(fault_server, across, call, status):
    times = []
    limit = {"x_ratelimit_limit": 10, "x_ratelimit_remaining": 2, "x_ratelimit_reset": 60}

    def ask_to_wait(number, *_):
        times.append(time.monotonic())
        return (lambda sender, _: sender.send(b"{}", status, retry_after=str(WAIT), **limit)) if number == 1 else None

    fault_server.fault = ask_to_wait
    network = SlowFirstConnection()
    transport = httpx.HTTPTransport()
    transport._pool._network_backend = network
    client = across(transport=transport, timeout=10.0, deadline=15.0)
    slow = threading.Thread(target=call, args=(client,))
    slow.start()
    assert network.reached.wait(20)
    refused = threading.Thread(target=list_lines, args=(client,))
    refused.start()
    until(lambda: client.quota.paused_for > 0)
    network.allowed.set()
    for thread in (slow, refused):
        thread.join(20)
    assert len(times) == 3  # of the two requests that are still allowed, none is lost to the one that waited
    assert [later - times[0] > WAIT - 0.05 for later in times[1:]] == [True, True]
    methods = [method for method, *_ in fault_server.requests]
    assert methods.count("PUT") == (call is recategorize)


def test_wait_begins_with_the_headers_not_the_body(fault_server, across):
    body_allowed = threading.Event()

    def headers_first(number, *_):
        def send(sender, _):
            sender.send(b"{", "429 Slow", length=2, retry_after=str(WAIT))
            assert body_allowed.wait(20)
            sender.socket.sendall(b"}")

        return send if number == 1 else None

    fault_server.fault = headers_first
    client = across(timeout=10.0)
    thread = threading.Thread(target=list_lines, args=(client,))
    thread.start()
    until(lambda: client.quota.paused_for > 0)
    assert not body_allowed.is_set()
    body_allowed.set()
    thread.join(20)
    assert len(fault_server.requests) == 2
