"""Reports in flight: those that nobody reads are bounded in number and in time."""

import re
import socket
import time
from contextlib import ExitStack, suppress

import pytest

from accounting_analytics.service.web import app, connection_limits
from accounting_analytics.service.web.server import running

LINES = 20_000
DAYS = "start_date=2025-01-01&end_date=2025-12-31"


@pytest.fixture
def stalled(tmp_path, make_own_books):
    """Return books with a report of megabytes, and a function that asks for it and reads nothing."""
    path = tmp_path / "books.db"
    with running(path) as service, make_own_books(path, service.base_url) as books, ExitStack() as held:
        bank, rent = books.bank(), books.category()
        books.post("2025-03-01T12:00:00Z", (bank, -LINES), *[(rent, 1)] * LINES, description="a line " * 20)
        host, port = re.fullmatch(r"http://(.+):(\d+)", service.base_url).groups()
        lines = [f"GET /v0/reports/cash-flow?{DAYS} HTTP/1.1", "host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in books.headers.items()]

        def ask():
            connection = held.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.connect((host, int(port)))
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            return connection

        yield books, ask


def test_reports_in_flight_are_counted(stalled, monkeypatch):
    """With every place taken by a report that nobody reads, the next is told when to come back; then it is served."""
    monkeypatch.setattr(app, "_REPORT_TURN", 0.2)
    books, ask = stalled
    taken = [ask() for _ in range(16)]
    time.sleep(4)
    answer = books.request("GET", f"/v0/reports/cash-flow?{DAYS}")
    assert (answer.status_code, answer.json()["error_code"], answer.headers["retry-after"]) == (503, "busy", "1")
    for connection in taken:
        connection.close()
    monkeypatch.setattr(app, "_REPORT_TURN", 10)
    assert books.request("GET", f"/v0/reports/cash-flow?{DAYS}").status_code == 200


def test_a_trickle_of_reading_is_cut(stalled, monkeypatch):
    """Whoever reads a report slower than the least rate is cut, though something is always taken."""
    monkeypatch.setattr(connection_limits, "READ_DEADLINE", 1)
    monkeypatch.setattr(connection_limits, "LEAST_RATE", 4 * 1024 * 1024)
    _, ask = stalled
    connection, read = ask(), 0
    began = time.monotonic()
    with suppress(ConnectionResetError):
        while time.monotonic() - began < 30 and (chunk := connection.recv(16 * 1024)):
            read += len(chunk)
            time.sleep(0.02)
    assert 0 < read < 3 * 1024 * 1024
    assert time.monotonic() - began < 20
