"""Reports that are requested at the same time: few are calculated at once, and no instance takes all places."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from accounting_analytics.service import operations
from accounting_analytics.service.web.request_limits import MAX_REPORTS, ConcurrencyLimits

MOST_AT_ONCE = 3
OF_ONE_INSTANCE = MAX_REPORTS * 3 // 4
PROBES = 20
SECONDS = 60


class HeldReports:
    """Calculations of reports, each of which waits until it is let go."""

    def __init__(self, calculate):
        self._calculate = calculate
        self._lock = threading.Lock()
        self._running = 0
        self.most = 0
        self.arrived, self.started = threading.Semaphore(0), {}
        self.ended = threading.Event()

    def started_by(self, instance_id):
        """Return the semaphore of the calculations of an instance that were started."""
        with self._lock:
            return self.started.setdefault(instance_id, threading.Semaphore(0))

    def __call__(self, connection, instance, query):
        """Calculate a report when it may end."""
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        self.started_by(instance.id).release()
        try:
            assert self.ended.wait(SECONDS)
            return self._calculate(connection, instance, query)
        finally:
            with self._lock:
                self._running -= 1


@pytest.fixture
def held(monkeypatch):
    """Return the calculations of the service, which wait."""
    held = HeldReports(operations.retrieve_cash_flow_report)
    calculate = ConcurrencyLimits.calculate

    async def arrive(limits, *arguments, **named):
        held.arrived.release()
        return await calculate(limits, *arguments, **named)

    monkeypatch.setattr(operations, "retrieve_cash_flow_report", held)
    monkeypatch.setattr(ConcurrencyLimits, "calculate", arrive)
    return held


@contextmanager
def requested(books, held):
    """Request as many reports as one instance may have in flight, and give them when all wait to be calculated."""
    with ThreadPoolExecutor(OF_ONE_INSTANCE + 1) as threads:
        reports = [threads.submit(books.report) for _ in range(OF_ONE_INSTANCE)]
        try:
            assert all(held.arrived.acquire(timeout=SECONDS) for _ in reports)
            yield threads, reports
        finally:
            held.ended.set()


def test_few_reports_are_calculated_at_once(books, held):
    """Of many reports that are requested at the same time only some are calculated, and all of them are answered."""
    with requested(books, held) as (_, reports):
        for _ in range(PROBES):  # meanwhile any calculation that may start is started
            assert books.http.get("/health").status_code == 200
        held.ended.set()
        bodies = [report.result(SECONDS) for report in reports]
    assert held.most == MOST_AT_ONCE < OF_ONE_INSTANCE
    assert all(body == bodies[0] for body in bodies)


def test_no_instance_takes_all_calculations(books, make_books, held):
    """The report of another instance is calculated while those of the first wait."""
    other = make_books()
    with requested(books, held) as (threads, reports):
        report = threads.submit(other.report)
        assert held.started_by(other.instance_id).acquire(timeout=SECONDS)
        assert not any(one.done() for one in reports)
        held.ended.set()
        assert report.result(SECONDS)
