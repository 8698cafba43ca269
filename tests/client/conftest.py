"""Line entries as a service sends them, and a server on raw sockets that fails in every way."""

import contextlib
import email
import io
import json
import socket
import struct
import threading
import time

import httpx
import pytest
import stamina

import accounting_analytics as aa

TOKEN = "canary-token-value"


@pytest.fixture
def line():
    """Return a function that makes a line entry as the service sends it."""

    def line(number=1, **fields):
        return {
            "id": f"lin_{number}",
            "amount": "12.50",
            "debit_credit": "debit",
            "datetime": "2025-03-10T12:00:00Z",
            "ledger_id": "led_1",
            "journal_entry_id": f"ent_{number}",
        } | fields

    return line


@pytest.fixture
def pages():
    """Return a function that answers with pages of lines, by token."""

    def pages(*each):
        def answer(request):
            at = int(request.url.params.get("page_token", "0"))
            following = str(at + 1) if at + 1 < len(each) else None
            return httpx.Response(
                200, json={"records": each[at], "next_page_token": following, "prev_page_token": None}
            )

        return answer

    return pages


LINES = [
    {"id": f"lin_{at}", "amount": f"{at}.05", "debit_credit": "debit", "datetime": "2025-03-10T12:00:00Z"}
    | {"ledger_id": "led_1", "journal_entry_id": f"ent_{at}", "description": "x" * 40}
    for at in range(9)
]
LEDGER = {"id": "led_1", "name": "Bank", "debit_credit": "debit", "type": "asset", "sub_type": "current_assets"}
LEDGER |= {"sort_code": "1", "report_cash_flow": True}
REPORT = {"cash_flow_ledgers": [], "starting_balances": [], "ending_balances": []}
REPORT |= {"starting_cash_balance": "10.05", "ending_cash_balance": "10.05"}


class Road:
    """One connection of the fault server, and the ways to answer badly on it."""

    def __init__(self, connection, base_url):
        self.connection, self.base_url = connection, base_url

    def send(self, content=b"", status="200 OK", length=None, **headers):
        """Send an answer, whole unless `length` says more than there is."""
        lines = {"content-type": "application/json", "content-length": len(content) if length is None else length}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        self.connection.sendall(f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + content)

    def hold(self):
        """Say nothing more until the client goes away."""
        while self.connection.recv(4096):
            pass

    def drip(self, content, gap=0.05):
        """Send one byte after the other, until the client goes away."""
        for at in range(len(content)):
            self.connection.sendall(content[at : at + 1])
            time.sleep(gap)

    def reset(self):
        """Reset the connection instead of closing it."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class FaultServer:
    """A ledger of nine lines on raw sockets; `fault` may answer any request in place of it."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.requests = []
        self.fault = None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Listen no more."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def _accept(self):
        with contextlib.suppress(OSError):  # closed: the test is over
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:  # the client may go away
            stack.enter_context(connection)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(20)
            road, reader = Road(connection, self.base_url), stack.enter_context(connection.makefile("rb"))
            while line := reader.readline():
                method, target, _ = line.decode().split()
                headers = email.message_from_binary_file(io.BytesIO(b"".join(iter(reader.readline, b"\r\n"))))
                content = reader.read(int(headers.get("content-length", 0)))
                self.requests.append((method, target, dict(headers), content))
                fault = self.fault and self.fault(len(self.requests), method, target, dict(headers))
                if fault:
                    fault(road, self.truth(method, target))
                    return
                road.send(self.truth(method, target))

    def truth(self, method, target):
        """Return the body of the right answer."""
        url = httpx.URL(target)
        if method == "PUT":
            answer = {"transaction": {"id": "t"}, "categories": [{"ledger_id": "new"}], "ledger": LEDGER}
        elif method == "POST":
            answer = LEDGER
        elif "reports" in url.path:
            answer = REPORT
        else:
            first, size = int(url.params.get("page_token", 0)), int(url.params.get("limit", 50))
            more = str(first + size) if first + size < len(LINES) else None
            answer = {"records": LINES[first : first + size], "next_page_token": more, "prev_page_token": None}
        return json.dumps(answer).encode()


@pytest.fixture
def fault_server():
    """Return a server whose faults a test chooses."""
    server = FaultServer()
    yield server
    server.close()


@pytest.fixture
def across(fault_server):
    """Return a function that makes a client of the fault server; between attempts it does not wait."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(stamina.set_testing(testing=True, attempts=10, cap=True))

        def connect(**options):
            given = {"token": TOKEN, "instance_id": "ins_1", "timeout": 0.4, "deadline": 20.0} | options
            return stack.enter_context(aa.LedgerClient(fault_server.base_url, **given))

        yield connect
