"""Connections: silent, slow and too many clients lock no other client out; bytes that are not HTTP are refused."""

import json
import re
import socket
import time
from contextlib import ExitStack, closing, suppress
from threading import Thread

import httpx
import pytest

from accounting_analytics.service.auth import issue_token
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web import connection_limits, request_guard
from accounting_analytics.service.web.server import running

HEAD = b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n"


def connect(service):
    """Return a socket that is connected to a service."""
    host, port = re.fullmatch(r"http://(.+):(\d+)", service.base_url).groups()
    return closing(socket.create_connection((host, int(port)), timeout=20))


def read_all(connection):
    """Return all bytes until the service closes the connection, in whatever way."""
    read = b""
    try:
        while chunk := connection.recv(65536):
            read += chunk
    except ConnectionResetError:
        pass
    return read


def is_serving(service):
    """Whether another client is served."""
    return httpx.get(f"{service.base_url}/openapi.json", timeout=20).status_code == 200


@pytest.fixture
def service(tmp_path, monkeypatch):
    """Return a running service with short deadlines."""
    monkeypatch.setattr(connection_limits, "HEAD_DEADLINE", 0.4)
    monkeypatch.setattr(connection_limits, "READ_DEADLINE", 0.4)
    monkeypatch.setattr(connection_limits, "KEEP_ALIVE", 0.4)
    monkeypatch.setattr(connection_limits, "MAX_CONNECTIONS", 20)
    monkeypatch.setattr(request_guard, "BODY_DEADLINE", 0.4)
    with running(tmp_path / "books.db") as running_service:
        yield running_service


def test_silent_connections_are_cut(service):
    """A connection that sends nothing, or only half a head, is cut; so is one that goes silent after a response."""
    for sent in (b"", b"G", HEAD, HEAD + b"x: "):
        with connect(service) as connection:
            connection.sendall(sent)
            assert read_all(connection) == b""
    with connect(service) as connection:
        connection.sendall(HEAD + b"\r\n" + b"GET /half")
        assert b"200 OK" in read_all(connection)
    assert is_serving(service)


def test_a_slow_head_is_cut(service):
    """Single bytes do not extend the deadline of a head."""
    with connect(service) as connection, pytest.raises((BrokenPipeError, ConnectionResetError)):  # noqa: PT012 (a loop)
        for _ in range(100):
            connection.sendall(b"G")
            time.sleep(0.1)


def test_a_body_that_does_not_come_is_408(service, tmp_path):
    """A body that does not arrive in time is refused, and nothing is written."""
    with Store.open(tmp_path / "books.db") as store:
        instance = create_instance(store)
        token = issue_token(store, instance)
        head = (
            f"POST /v0/ledgers HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n"
            f"service-instance-id: {instance}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
        )
        with connect(service) as connection:
            connection.sendall(head.encode())
            response = connection.recv(65536)
            assert response.startswith(b"HTTP/1.1 408 ")
            assert b"request_timeout" in response + connection.recv(65536)
        assert len(store.ledgers(instance)) == 4
    assert is_serving(service)


def test_half_open_connections_lock_no_client_out(service):
    """With far more silent connections than the limit, the oldest make room and other clients are served."""
    with ExitStack() as held:
        for number in range(100):
            connection = held.enter_context(connect(service))
            connection.sendall(HEAD)
            if number % 10 == 0:
                assert is_serving(service)
    assert is_serving(service)


def test_half_sent_bodies_lock_no_client_out(service, monkeypatch):
    """Clients that never send their body make room for others, oldest first, like silent ones."""
    monkeypatch.setattr(request_guard, "BODY_DEADLINE", 30)
    head = b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/x-www-form-urlencoded\r\n"
    with ExitStack() as held:
        for number in range(60):
            connection = held.enter_context(connect(service))
            connection.sendall(head + b"content-length: 10\r\n\r\na")
            if number % 10 == 0:
                assert is_serving(service)
    assert is_serving(service)


def test_a_client_that_does_not_read_is_cut(service):
    """Unread responses are not kept for ever, and delay no other client."""
    with connect(service) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            for _ in range(200):
                connection.sendall((HEAD + b"\r\n") * 20)
                time.sleep(0.02)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            pass
        else:
            pytest.fail("the connection was never cut")
    assert is_serving(service)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100 + b"\r\n\r\n",  # a TLS hello
        b"GET\r\n\r\n",
        b"GET /openapi.json\r\n\r\n",
        b"GET /openapi.json HTTP/9.9\r\nhost: 127.0.0.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /openapi.json HTTP/1.1\r\n\r\n",
        b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example\r\n\r\n",
        b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\nno colon\r\n\r\n",
        b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\nbad name: x\r\n\r\n",
        b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\nx: a\x00b\r\n\r\n",
        b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n folded: x\r\n\r\n",
        b"GET /open\x80api HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET /" + b"a" * 200_000,
        HEAD + b"x: " + b"a" * 200_000,
        HEAD + b"".join(b"x%d: y\r\n" % number for number in range(20_000)) + b"\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1e3\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcde",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99999999999999999999999\r\n\r\nabcde",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    ],
    ids=lambda sent: repr(sent[:60]),
)
def test_what_is_not_http_is_refused(service, sent):
    """Requests that cannot be read are 4xx as JSON without internals, or cut; then others are served."""
    with connect(service) as connection:
        connection.settimeout(20)
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        response = read_all(connection)
    if response:
        head, _, body = response.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 4"), response
        assert b"content-type: application/json" in head
        assert b"x-content-type-options: nosniff" in head
        assert set(json.loads(body)) in (
            {"message", "data", "display_message", "error_code"},
            {"error", "error_description"},  # of the token endpoint
        )
    assert is_serving(service)


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding:\x0bchunked\r\ncontent-length: 4\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding : chunked\r\ncontent-length: 4\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 4\r\ncontent-length: 90\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: +4\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"transfer-encoding: chunked\r\n" * 2 + b"\r\n",
        b"GET /openapi.json HTTP/1.1\nhost: 127.0.0.1\ntransfer-encoding: identity\ncontent-length: 4\n\n",
    ],
    ids=lambda sent: repr(sent[45:]),
)
def test_nothing_is_smuggled(service, sent):
    """A request whose end is ambiguous is refused, and the rest is not read as another request."""
    with connect(service) as connection:
        connection.sendall(sent + b"0\r\n\r\nGET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        response = read_all(connection)
    assert response.count(b"HTTP/1.1 ") == 1
    assert response.startswith(b"HTTP/1.1 400 ")
    assert is_serving(service)


def send_without_reading(service, requests, *, received=2048):
    """Return a socket that has sent many requests, and reads no response."""
    host, port = re.fullmatch(r"http://(.+):(\d+)", service.base_url).groups()
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, received)
    connection.connect((host, int(port)))
    connection.setblocking(False)  # noqa: FBT003 (of the standard library)
    with suppress(BlockingIOError):
        connection.send(requests)
    return closing(connection)


def test_unread_responses_lock_no_client_out(service, monkeypatch):
    """Clients that pipeline hundreds of requests and read no response make room for others."""
    monkeypatch.setattr(connection_limits, "READ_DEADLINE", 60)
    with ExitStack() as held:
        for number in range(60):
            held.enter_context(send_without_reading(service, (HEAD + b"\r\n") * 400))
            if number % 10 == 0:
                assert is_serving(service)
        assert is_serving(service)


def send_all(connection, sent):
    """Send until it is all sent, or the connection is closed."""
    with suppress(OSError):
        connection.sendall(sent)


def test_requests_ahead_are_bounded(service, monkeypatch):
    """Beyond a limit, pipelined requests stay in the buffers of the operating system."""
    monkeypatch.setattr(connection_limits, "READ_DEADLINE", 60)
    waiting = []
    received = connection_limits.LimitedConnection.data_received

    def watched(self, sent):
        received(self, sent)
        waiting.append(len(self.conn.trailing_data[0]))

    monkeypatch.setattr(connection_limits.LimitedConnection, "data_received", watched)
    body = b"grant_type=client_credentials&client_id=x&client_secret=y"
    head = b"POST /oauth/token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/x-www-form-urlencoded\r\n"
    one = head + b"content-length: %d\r\n\r\n" % len(body) + body
    with connect(service) as connection:
        Thread(target=send_all, args=(connection, one * 20_000), daemon=True).start()
        responses = b""
        while responses.count(b"invalid_client") < 30:
            responses += connection.recv(65536)
    assert max(waiting) <= connection_limits.MAX_AHEAD + 256 * 1024
    assert is_serving(service)
