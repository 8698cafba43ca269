"""Reports in flight: unread ones are limited in number and in time."""

import re
import socket
import time
from contextlib import ExitStack, suppress

import pytest

from accounting_analytics.service.web import connection_limits, request_limits
from accounting_analytics.service.web.server import running

LINES = 20_000
DAYS = "start_date=2025-01-01&end_date=2025-12-31"


@pytest.fixture
def stalled(tmp_path, make_own_books):
    """Return books with a report of megabytes, and a function that requests it and reads nothing."""
    path = tmp_path / "books.db"
    with running(path) as service, make_own_books(path, service.base_url) as books, ExitStack() as held:
        bank, rent = books.bank(), books.category()
        books.post("2025-03-01T12:00:00Z", (bank, -LINES), *[(rent, 1)] * LINES, description="a line " * 20)
        host, port = re.fullmatch(r"http://(.+):(\d+)", service.base_url).groups()
        lines = [f"GET /v0/reports/cash-flow?{DAYS} HTTP/1.1", "host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in books.headers.items()]

        def request_report():
            connection = held.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.connect((host, int(port)))
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            return connection

        yield books, request_report


@pytest.fixture
def other_books(stalled, make_own_books):
    """Return books of another instance of the same service."""
    books, _ = stalled
    with make_own_books(books.store.path, str(books.http.base_url)) as other:
        bank, rent = other.bank(id="bank"), other.category()
        other.post("2025-03-01T12:00:00Z", (bank, -1), (rent, 1))
        yield other


def take_all_places(books, request_report):
    """Request reports that are not read until the next one is refused; return their connections and the refusal.

    Each try requests another one: the report of the try before may have had the last place meanwhile.
    """
    taken = [request_report() for _ in range(request_limits.MAX_REPORTS)]
    for _ in range(200):
        taken.append(request_report())
        response = books.request("GET", f"/v0/reports/cash-flow?{DAYS}")
        if response.status_code != 200:
            return taken, response
    return pytest.fail("no report was refused")


def test_unread_reports_stop_no_other_instance(stalled, other_books, monkeypatch):
    """While reports of one instance take all its places, another instance gets its reports and lists at once."""
    monkeypatch.setattr(request_limits, "REPORT_WAIT", 0.2)
    books, request_report = stalled
    taken, response = take_all_places(books, request_report)
    assert response.status_code == 503
    for _ in range(5):
        assert other_books.report()["ending_cash_balance"] == -1
        assert len(other_books.lines("bank")["records"]) == 1
    for connection in taken:
        connection.close()


def test_reports_in_flight_are_counted(stalled, monkeypatch):
    """If unread reports take the places of their instance, the next one gets 503 and retry-after; then it is served."""
    monkeypatch.setattr(request_limits, "REPORT_WAIT", 0.2)
    books, request_report = stalled
    taken, response = take_all_places(books, request_report)
    assert (response.status_code, response.json()["error_code"], response.headers["retry-after"]) == (503, "busy", "1")
    for connection in taken:
        connection.close()
    monkeypatch.setattr(request_limits, "REPORT_WAIT", 10)
    assert books.request("GET", f"/v0/reports/cash-flow?{DAYS}").status_code == 200


def test_a_slow_reader_is_cut(stalled, monkeypatch):
    """A client that reads a report more slowly than the least rate is cut, though it reads all the time."""
    monkeypatch.setattr(connection_limits, "READ_DEADLINE", 1)
    monkeypatch.setattr(connection_limits, "MIN_RATE", 4 * 1024 * 1024)
    _, request_report = stalled
    connection, read = request_report(), 0
    with suppress(ConnectionResetError):
        while read < 3 * 1024 * 1024 and (chunk := connection.recv(16 * 1024)):
            read += len(chunk)
            time.sleep(0.02)
    assert 0 < read < 3 * 1024 * 1024
