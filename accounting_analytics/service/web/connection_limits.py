"""Connections: a deadline for every wait on a client, and a limit on how many there are.

The server by itself waits for a request without limit, and closes idle connections only after a response. On an open
network a few hundred silent connections would lock all other clients out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from accounting_analytics.service.web.request_guard import SECURITY_HEADERS
from accounting_analytics.service.wire.response_models import Error, encode

if TYPE_CHECKING:
    import asyncio

    import h11

MAX_CONNECTIONS = 512
MAX_HEAD = 64 * 1024
"""Bytes of a request's head that are read before it is refused."""

HEAD_DEADLINE = 10
"""Seconds from connecting, or from the first byte of a request, to the end of its head."""

KEEP_ALIVE = 5
"""Seconds that a connection stays open after a response."""

READ_DEADLINE = 60
"""Seconds that a client may take to read what is buffered for it, besides the time that :data:`MIN_RATE` adds."""

MIN_RATE = 64 * 1024
"""Bytes per second that a client must read on average: reading this many adds a second to its time."""

MAX_AHEAD = 64 * 1024
"""Bytes of further requests that may wait on a connection before reading from it pauses."""

SEND_BUFFER = 256 * 1024
"""Bytes of unread responses that the operating system buffers; its own default is megabytes."""


class _ReadAheadLimit(FlowControl):
    """Flow control that reads on only if few bytes wait to be parsed: pipelined requests resume it again and again."""

    def __init__(self, transport: asyncio.Transport, conn: h11.Connection) -> None:
        super().__init__(transport)
        self._conn = conn

    def pause_reading(self) -> None:
        """Pause reading, even if something else resumed it."""
        self.read_paused = True
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading, unless too much waits already."""
        waiting, _ = self._conn.trailing_data
        if len(waiting) <= MAX_AHEAD:
            super().resume_reading()


class LimitedConnection(H11Protocol):
    """A connection of the server with a deadline for every wait.

    If there are too many connections, the one that has waited for its client longest is closed, and no connection gets
    a second response while others wait for a place.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        self._deadline: asyncio.TimerHandle | None = None
        self._waiting_since = self.loop.time()
        self.timeout_keep_alive = KEEP_ALIVE
        # whatever handlers are configured: the server's own log line has whole paths and queries
        self.access_log = False
        self._read_time: float = READ_DEADLINE
        self._read_time_updated = self._waiting_since
        self._unread: int | None = None
        super().connection_made(transport)  # type: ignore[arg-type] # always one that reads and writes
        self.flow = _ReadAheadLimit(self.transport, self.conn)
        # injected faults cut this very connection
        self.app_state = {**self.app_state, "transport": transport}
        self._set_deadline(HEAD_DEADLINE)
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Continue reading; a complete head cancels its deadline."""
        self._unset_keepalive_if_required()
        if self._idle and self._deadline is None:
            self._set_deadline(HEAD_DEADLINE)
        super().data_received(data)
        if not self._idle and not self.flow.write_paused:
            self._cancel_deadline()

    def on_response_complete(self) -> None:
        """Wait for the next request; if others wait for a place, a client that pipelined it must connect again."""
        self._waiting_since = self.loop.time()
        if not self.transport.get_write_buffer_size():
            self._read_time = READ_DEADLINE
        if len(self.connections) >= MAX_CONNECTIONS and self.conn.trailing_data[0]:
            self._close()
        elif self.transport.is_closing() and self._deadline is None:
            self._set_deadline(READ_DEADLINE)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for a client that reads more slowly than the service writes, but not for ever."""
        super().pause_writing()
        self._waiting_since = self._read_time_updated = self.loop.time()
        self._unread = self.transport.get_write_buffer_size()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """Continue to write."""
        self._update_read_time()
        self._unread = None
        self._cancel_deadline()
        if self.transport.is_closing():
            self._set_deadline(READ_DEADLINE)
        elif self._idle:
            self._set_deadline(HEAD_DEADLINE)
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection."""
        self._close()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (the parser's message is not for clients)
        """Refuse bytes that are not HTTP, or too many of them, in the form of every other error."""
        if self._idle or not self.cycle.response_started:
            self._refuse(b"400 Bad Request", "this request cannot be read as HTTP/1.1", "bad_request")
        self.transport.close()

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def _waits_for_client(self) -> bool:
        return self._idle or self.cycle.more_body or self.flow.write_paused

    def _close(self) -> None:
        """Close when all responses are read, or when that takes too long."""
        super().timeout_keep_alive_handler()
        self._set_deadline(READ_DEADLINE)

    def _set_deadline(self, seconds: float) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _wait_for_reader(self) -> None:
        """Cut the client when its time to read is used up, including what it earns until then."""
        self._cancel_deadline()
        self._deadline = self.loop.call_later(self._read_time, self._check_reader)

    def _check_reader(self) -> None:
        self._update_read_time()
        if self._read_time > 0:
            self._wait_for_reader()
        else:
            self.transport.abort()

    def _update_read_time(self) -> None:
        """Subtract the time that passed from the client's time to read, and add that of the bytes it read."""
        if self._unread is None:
            return
        moment, unread = self.loop.time(), self.transport.get_write_buffer_size()
        earned = (self._unread - unread) / MIN_RATE - (moment - self._read_time_updated)
        self._read_time = min(READ_DEADLINE, self._read_time + earned)
        self._read_time_updated, self._unread = moment, unread

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _make_room(self) -> None:
        """Cut the connection that has waited for its client longest; if none waits, refuse this one."""
        others = [other for other in self.connections if isinstance(other, LimitedConnection) and other is not self]
        waiting = [other for other in others if other._waits_for_client]  # noqa: SLF001 (of the same class)
        if waiting:
            longest = min(waiting, key=lambda other: other._waiting_since)  # noqa: SLF001
            longest.transport.abort()
        else:
            self._refuse(b"503 Service Unavailable", "too many requests are in progress; try again", "busy")
            self.transport.close()

    def _refuse(self, status: bytes, message: str, error_code: str) -> None:
        """Write a response of the connection itself, which belongs to no request."""
        body = encode(Error.from_message(message, error_code))
        head = [
            b"HTTP/1.1 " + status,
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"connection: close",
            *([b"retry-after: 1"] if status.startswith(b"503") else []),
            *(name + b": " + value for name, value in SECURITY_HEADERS),
        ]
        self.transport.write(b"\r\n".join(head) + b"\r\n\r\n" + body)
