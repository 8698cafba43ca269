"""Running the service, in the background of this process or in the foreground."""

from __future__ import annotations

import logging
import shlex
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from accounting_analytics.core.errors import BooksDoNotTieError, ConfigurationError
from accounting_analytics.service.app import ServiceOptions, create_app
from accounting_analytics.service.database import Store, find_damage
from accounting_analytics.service.how_to_connect import connection_lines
from accounting_analytics.service.instances import NewInstance, first_instance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.types import ASGIApp


_DEFAULTS = ServiceOptions()
_log = logging.getLogger(__name__)
_GRACE = 2
"""Seconds in which requests may finish, and clients may read the responses, when the service stops."""
_KEEP_ALIVE = 5
"""Seconds for which a connection stays open after a response."""
_MAX_CONNECTIONS = 256
_MAX_HEAD = 64 * 1024
_BACKLOG = 1024
_REMOTE = (
    "other machines can reach this service, which speaks plain HTTP and trusts every client to read its responses: "
    "put a reverse proxy in front of it, which speaks TLS and limits connections (--public-host)"
)


class RunningService:
    """A service that runs in a thread of this process, and its URL."""

    def __init__(self, app: ASGIApp, options: ServiceOptions = _DEFAULTS) -> None:
        listener = _listen(options)
        self.base_url = _url(listener)
        self._server = _server(app)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="accounting-analytics-service", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Finish requests in progress and stop. A second call does nothing."""
        self._server.should_exit = True
        self._thread.join()


@contextmanager
def running(database: str | Path, options: ServiceOptions = _DEFAULTS) -> Iterator[RunningService]:
    """Serve a database in the background of the block. A missing database is created."""
    with Store.open(database) as store:
        service = RunningService(create_app(store, options), options)
        try:
            yield service
        finally:
            service.stop()


def serve(database: str | Path, options: ServiceOptions = _DEFAULTS, *, echo: Callable[[str], object] = print) -> None:
    """Serve a database until interrupted. Messages, which contain no tokens, go to `echo`.

    A database without an instance gets one, and a token in a file beside the database that only its owner can read. If
    other machines can reach the service, neither is created.
    """
    with Store.open(database) as store:
        with store.reading() as connection:
            damage = find_damage(connection)
        if damage:
            reason = damage.splitlines()[-1]
            raise BooksDoNotTieError(
                f"{store.name} is damaged: {reason}; it was not served, replace it by a copy of it"
            )
        is_new = not store.instances()
        if is_new and options.is_remote:
            raise ConfigurationError(
                f"{store.name} has no instance, and none is created while other machines can reach the service: create "
                "one first with 'accounting-analytics service instances create', or import books into it"
            )
        if is_new:
            with first_instance(store, NewInstance()):
                pass
        app = create_app(store, options)
        with _listen(options) as listener, suppress(KeyboardInterrupt):
            _announce(store, _url(listener), new=is_new, echo=echo)
            if options.is_remote:
                _log.warning(_REMOTE)
            _server(app).run(sockets=[listener])


def _announce(store: Store, base_url: str, *, new: bool, echo: Callable[[str], object]) -> None:
    """Print the served instances, and lines of code that connect a client."""
    instances = store.instances()
    created = ", new: an instance and its access token were created" if new else ""
    echo(f"Serving {store.name} at {base_url} (stop with Ctrl-C{created})")
    for instance in instances:
        name, days = instance.company or instance.name, instance.localtime or "a zone that nothing states yet"
        echo(f"instance {instance.id} ({name}), tier {instance.tier}, scale {instance.scale}, days in {days}")
    if new:
        file = shlex.quote(store.name)
        echo(
            "Its books are new and empty; to fill them: "
            f"accounting-analytics import FILE --database {file} --time-zone ZONE"
        )
    for line in connection_lines(store, instances[0], base_url):
        echo(line)


class _Protocol(H11Protocol):
    """HTTP/1.1 protocol that responds only once to a malformed body."""

    def send_400_response(self, msg: str) -> None:
        """Refuse the request, and drop the response of the application."""
        cycle = self.cycle
        is_in_body = cycle is not None and cycle.more_body
        if is_in_body and cycle.response_started:
            self.transport.close()
        else:
            super().send_400_response(msg)
        if is_in_body:
            cycle.disconnected = True
            cycle.message_event.set()


class _Server(uvicorn.Server):
    """A server that closes the remaining connections after it has stopped."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish the requests in progress within a limited time."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            if isinstance(connection, H11Protocol):
                connection.transport.abort()


def _server(app: ASGIApp) -> uvicorn.Server:
    # access logs would have whole paths and queries, and appear if the program has a log handler
    logging.getLogger("uvicorn.access").disabled = True
    config = uvicorn.Config(
        app,
        http=_Protocol,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE,
        h11_max_incomplete_event_size=_MAX_HEAD,
        timeout_graceful_shutdown=_GRACE,
    )
    return _Server(config)


def _listen(options: ServiceOptions) -> socket.socket:
    """Return a listening socket before the server runs.

    Clients can then connect immediately.
    """
    host, port = options.host, options.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigurationError(f"host {host!r} cannot be used: {error.strerror}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: {error.strerror}; use another port, or 0 for any free one"
        ) from error
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
