"""Connections: none may hold its place by sending or reading slowly, or by doing nothing.

The server waits for a request as long as it takes, and closes idle connections only after an answer. On an open network
that lets a few hundred silent connections keep everybody else out; these are the deadlines it lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from accounting_analytics.service.web.request_guard import SECURITY_HEADERS
from accounting_analytics.service.wire.rendering import encode, error_fields

if TYPE_CHECKING:
    import asyncio

    import h11

MAX_CONNECTIONS = 512
MAX_HEAD = 64 * 1024
"""Bytes of a request's head that are read before it is refused."""

HEAD_DEADLINE = 10
"""Seconds from connecting, or from the first byte of a request, to the end of its head."""

KEEP_ALIVE = 5
"""Seconds that a connection stays open after an answer."""

READ_DEADLINE = 60
"""Seconds that a client may take to read what is buffered for it, besides the time that :data:`LEAST_RATE` gives it."""

LEAST_RATE = 64 * 1024
"""Bytes a second that a client must read in the long run: each one it took earns it back so much of its patience."""

MAX_AHEAD = 64 * 1024
"""Bytes of further requests that may wait on a connection before nothing more is read from it."""

SEND_BUFFER = 256 * 1024
"""Bytes that the system keeps of answers that a client has not taken yet; it would keep megabytes."""


class _BoundedFlow(FlowControl):
    """Reads on only where few bytes wait to be understood: what waits for an answer asks for more, again and again."""

    def __init__(self, transport: asyncio.Transport, conn: h11.Connection) -> None:
        super().__init__(transport)
        self._conn = conn

    def pause_reading(self) -> None:
        """Stop reading, also where something else than this has begun it."""
        self.read_paused = True
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on reading, unless there is too much ahead already."""
        waiting, _ = self._conn.trailing_data
        if len(waiting) <= MAX_AHEAD:
            super().resume_reading()


class GuardedConnection(H11Protocol):
    """One connection of the server, with a deadline for every wait.

    When there are too many connections, the one whose client is waited for since the longest time makes room, and none
    is answered twice in a row.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        self._deadline: asyncio.TimerHandle | None = None
        self._since = self.loop.time()
        self.timeout_keep_alive = KEEP_ALIVE
        # whatever handlers there are: the server's own log line has whole paths and queries
        self.access_log = False
        self._patience: float = READ_DEADLINE
        self._settled = self._since
        self._unread: int | None = None
        super().connection_made(transport)  # type: ignore[arg-type] # always one that reads and writes
        self.flow = _BoundedFlow(self.transport, self.conn)
        # what plays a broken network must be able to cut this very connection
        self.app_state = {**self.app_state, "transport": transport}
        self._wait(HEAD_DEADLINE)
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; the end of a head ends the wait for it."""
        self._unset_keepalive_if_required()
        if self._idle and self._deadline is None:
            self._wait(HEAD_DEADLINE)
        super().data_received(data)
        if not self._idle and not self.flow.write_paused:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request; one that is here already has to come again where others wait for a place."""
        self._since = self.loop.time()
        if not self.transport.get_write_buffer_size():
            self._patience = READ_DEADLINE
        if len(self.connections) >= MAX_CONNECTIONS and self.conn.trailing_data[0]:
            self._close()
        elif self.transport.is_closing() and self._deadline is None:
            self._wait(READ_DEADLINE)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for a client that reads slower than it is written to, but not for ever."""
        super().pause_writing()
        self._since = self._settled = self.loop.time()
        self._unread = self.transport.get_write_buffer_size()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """Go on writing."""
        self._settle()
        self._unread = None
        self._stop_waiting()
        if self.transport.is_closing():
            self._wait(READ_DEADLINE)
        elif self._idle:
            self._wait(HEAD_DEADLINE)
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection."""
        self._close()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (what was wrong is nobody else's business)
        """Refuse what is not HTTP, or is too much of it, in the form of every other error."""
        if self._idle or not self.cycle.response_started:
            self._refuse(b"400 Bad Request", "this is not a request that can be read", "bad_request")
        self.transport.close()

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def _waits_for_client(self) -> bool:
        return self._idle or self.cycle.more_body or self.flow.write_paused

    def _close(self) -> None:
        """Close when everything is read that was answered, or when that takes too long."""
        super().timeout_keep_alive_handler()
        self._wait(READ_DEADLINE)

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _wait_for_reader(self) -> None:
        """Cut the client when its patience is used up, with all that it took meanwhile counted in."""
        self._stop_waiting()
        self._deadline = self.loop.call_later(self._patience, self._reader_is_late)

    def _reader_is_late(self) -> None:
        self._settle()
        if self._patience > 0:
            self._wait_for_reader()
        else:
            self.transport.abort()

    def _settle(self) -> None:
        """Take the time that was waited off the client's patience, and give it that of the bytes it took."""
        if self._unread is None:
            return
        moment, left = self.loop.time(), self.transport.get_write_buffer_size()
        earned = (self._unread - left) / LEAST_RATE - (moment - self._settled)
        self._patience = min(READ_DEADLINE, self._patience + earned)
        self._settled, self._unread = moment, left

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _make_room(self) -> None:
        """Cut the connection whose client is waited for since the longest time; with none, this one is too much."""
        others = [other for other in self.connections if isinstance(other, GuardedConnection) and other is not self]
        waiting = [other for other in others if other._waits_for_client]  # noqa: SLF001 (of the same class)
        if waiting:
            longest = min(waiting, key=lambda other: other._since)  # noqa: SLF001
            longest.transport.abort()
        else:
            self._refuse(b"503 Service Unavailable", "too many requests are under way; ask again", "busy")
            self.transport.close()

    def _refuse(self, status: bytes, message: str, error_code: str) -> None:
        """Write an answer of the connection itself, which no request belongs to."""
        body = encode(error_fields(message, error_code))
        head = [
            b"HTTP/1.1 " + status,
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"connection: close",
            *([b"retry-after: 1"] if status.startswith(b"503") else []),
            *(name + b": " + value for name, value in SECURITY_HEADERS),
        ]
        self.transport.write(b"\r\n".join(head) + b"\r\n\r\n" + body)
