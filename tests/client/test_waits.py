"""A wait that the service asks for stops the requests of all threads at once, also those that are about to be sent."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpcore
import httpx
import pytest

DAYS = ("2025-03-01", "2025-03-31")
WAIT = 0.6


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
    """Read a page."""
    return client.list_line_entries("led_1", *DAYS)


def recategorize(client):
    """Change a category."""
    return client.recategorize_transaction("led_1", "txn_1", updated_category_ledger_id="led_2")


def until(condition):
    """Wait until something holds."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("status", ["429 Slow", "503 Busy"])
@pytest.mark.parametrize("call", [list_lines, recategorize])
def test_a_request_that_is_about_to_be_sent_waits(fault_server, across, call, status):
    """A thread that has its turn, but no connection yet, sends nothing until the wait of another one is over."""
    times = []

    def ask_to_wait(number, *_):
        times.append(time.monotonic())
        return (lambda sender, _: sender.send(b"{}", status, retry_after=str(WAIT))) if number == 1 else None

    fault_server.fault = ask_to_wait
    network = SlowFirstConnection()
    transport = httpx.HTTPTransport()
    transport._pool._network_backend = network
    client = across(transport=transport, timeout=10.0)
    slow = threading.Thread(target=call, args=(client,))
    slow.start()
    assert network.reached.wait(20)
    refused = threading.Thread(target=list_lines, args=(client,))
    refused.start()
    until(lambda: client.quota.paused_for > 0)
    network.allowed.set()
    for thread in (slow, refused):
        thread.join(20)
    assert len(times) == 3
    assert [later - times[0] > WAIT - 0.05 for later in times[1:]] == [True, True]
    methods = [method for method, *_ in fault_server.requests]
    assert methods.count("PUT") == (call is recategorize)


def test_a_request_that_is_held_back_uses_up_no_quota(fault_server, across):
    """Of two requests that the service still allows, none is lost to the one that had its turn and was not sent."""
    limit = {"x_ratelimit_limit": 10, "x_ratelimit_remaining": 2, "x_ratelimit_reset": 60}
    fault_server.fault = lambda number, *_: (
        (lambda sender, _: sender.send(b"{}", "429 Slow", retry_after="0.1", **limit)) if number == 1 else None
    )
    network = SlowFirstConnection()
    transport = httpx.HTTPTransport()
    transport._pool._network_backend = network
    client = across(transport=transport, timeout=10.0, deadline=15.0)
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(list_lines, client)
        assert network.reached.wait(20)
        refused = threads.submit(list_lines, client)
        until(lambda: client.quota.paused_for > 0)
        network.allowed.set()
        assert slow.result(20).records == refused.result(20).records
    assert len(fault_server.requests) == 3


def test_the_wait_begins_with_the_headers(fault_server, across):
    """No thread waits for the body of the response that asks for the wait."""
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


def test_a_429_without_a_time_stops_all_threads_for_a_moment(fault_server, across):
    """Without Retry-After, too, no thread starts a request just after a 429."""
    fault_server.fault = lambda number, *_: number == 1 and (lambda sender, _: sender.send(b"{}", "429 Slow"))
    client = across(timeout=10.0)
    started = time.monotonic()
    list_lines(client)
    assert time.monotonic() - started > 0.05
    assert len(fault_server.requests) == 2
