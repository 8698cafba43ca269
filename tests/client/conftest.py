"""Pages of lines, and servers on raw sockets: a service with injected faults, encrypted or not, and a proxy."""

import contextlib
import email
import io
import json
import socket
import ssl
import struct
import threading
import time

import httpx
import pytest

import accounting_analytics as aa

TOKEN = "canary-token-value"


LINES = [
    {"id": f"lin_{at}", "amount": f"{at}.05", "debit_credit": "debit", "datetime": "2025-03-10T12:00:00Z"}
    | {"ledger_id": "led_1", "journal_entry_id": f"ent_{at}", "description": "x" * 40}
    for at in range(9)
]
LEDGER = {"id": "led_1", "name": "Bank", "debit_credit": "debit", "type": "asset", "sub_type": "current_assets"}
LEDGER |= {"sort_code": "1", "report_cash_flow": True}
REPORT = {"cash_flow_ledgers": [], "starting_balances": [], "ending_balances": []}
REPORT |= {"starting_cash_balance": "10.05", "ending_cash_balance": "10.05"}


class Connection:
    """A connection of the fault server, and ways to send bad responses on it."""

    def __init__(self, socket, server):
        self.socket, self._server, self.base_url = socket, server, server.base_url

    def send(self, content=b"", status="200 OK", length=None, **headers):
        """Send a response, complete unless `length` is larger than the content."""
        lines = {"content-type": "application/json", "content-length": len(content) if length is None else length}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        self.socket.sendall(f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + content)

    def hold(self):
        """Send nothing more until the client disconnects."""
        while self.socket.recv(4096):
            pass

    def drip(self, content, gap=0.05):
        """Send byte by byte, until the client disconnects."""
        for at in range(len(content)):
            self.socket.sendall(content[at : at + 1])
            time.sleep(gap)
        self._server.drips_completed += 1

    def reset(self):
        """Reset the connection instead of closing it."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def carry(source, target, carried):
    """Forward what arrives until it ends, and store it."""
    with contextlib.suppress(OSError):
        while content := source.recv(65536):
            carried.append(content)
            target.sendall(content)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class FaultServer:
    """A ledger of nine lines on raw sockets, which is also a proxy; `fault` may respond to any request instead."""

    def __init__(self, certificate=None):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.base_url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        self._context = None
        if certificate:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self.requests, self.carried = [], []
        self.connections = 0
        self.drips_completed = 0
        self.fault = None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def _accept(self):
        with contextlib.suppress(OSError):  # closed at the end of the test
            while True:
                connection, _ = self.socket.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:  # the client may disconnect
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            stack.enter_context(connection)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(20)
            sender, reader = Connection(connection, self), stack.enter_context(connection.makefile("rb"))
            while line := reader.readline():
                if not line.isascii():  # encrypted, which is not what is spoken here
                    sender.send(b"", "400 Bad Request")
                    return
                method, target, _ = line.decode().split()
                received = email.message_from_binary_file(io.BytesIO(b"".join(iter(reader.readline, b"\r\n"))))
                headers = {name.lower(): value for name, value in received.items()}
                content = reader.read(int(headers.get("content-length", 0)))
                self.requests.append((method, target, headers, content))
                if method == "CONNECT":
                    self._forward(connection, int(target.rpartition(":")[2]))
                    return
                fault = self.fault and self.fault(len(self.requests), method, target, headers)
                if fault:
                    fault(sender, self.correct_body(method, target))
                    return
                sender.send(self.correct_body(method, target))

    def _forward(self, connection, port):
        """Forward bytes in both directions, to a port of this machine whatever the name, and store the client's."""
        with socket.create_connection(("127.0.0.1", port)) as there:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=carry, args=(there, connection, []))
            back.start()
            carry(connection, there, self.carried)
            back.join()

    def correct_body(self, method, target):
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
def serving():
    """Return a function that starts a server, encrypted if a certificate is given."""
    with contextlib.ExitStack() as stack:

        def serve(certificate=None):
            server = FaultServer(certificate)
            stack.callback(server.close)
            return server

        yield serve


@pytest.fixture
def fault_server(serving):
    """Return a server with faults chosen by the test."""
    return serving()


@pytest.fixture
def across(fault_server):
    """Return a function that makes a client of the fault server, which does not wait between attempts."""
    with contextlib.ExitStack() as stack:

        def connect(**options):
            given = {"token": TOKEN, "instance_id": "ins_1", "timeout": 0.4, "deadline": 20.0} | options
            base_url = given.pop("base_url", fault_server.base_url)
            return stack.enter_context(aa.LedgerClient(base_url, **given))

        yield connect
