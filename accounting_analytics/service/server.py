"""Running the service: in the background of this process, or in the foreground until stopped."""

from __future__ import annotations

import ipaddress
import shlex
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.periods import zone
from accounting_analytics.service.app import create_app
from accounting_analytics.service.credentials import first_instance, token_path
from accounting_analytics.service.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOOPBACK = "127.0.0.1"
_GRACE = 2
_BACKLOG = 1024
_MAX_PORT = 65535


class RunningService:
    """A service that answers in a thread of this process.

    Attributes
    ----------
    base_url : str
        Where it answers; paths such as ``/v0/ledgers`` follow it.
    """

    def __init__(self, store: Store, host: str, port: int) -> None:
        listener = _listener(host, port)
        self.base_url = _url(listener)
        self._server = _server(store)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="accounting-analytics-service", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop answering; requests under way are finished first. Stopping twice is fine."""
        self._server.should_exit = True
        self._thread.join()


@contextmanager
def running(
    database: str | Path, *, host: str = LOOPBACK, port: int = 0, allow_remote: bool = False
) -> Iterator[RunningService]:
    """Serve the books of a database in the background while the block runs.

    Parameters
    ----------
    database : str or Path
        SQLite file; made when there is none.
    host : str
        Address to bind to; one that other machines reach needs `allow_remote`.
    port : int
        Port; 0 takes a free one.
    allow_remote : bool
        Whether other machines may reach the service.

    Yields
    ------
    RunningService
        With ``base_url`` and ``stop()``. It answers when the block starts.
    """
    _check_host(host, allow_remote=allow_remote)
    with Store.open(database) as store:
        service = RunningService(store, host, port)
        try:
            yield service
        finally:
            service.stop()


def serve(
    database: str | Path,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    localtime: str | None = None,
    allow_remote: bool = False,
    echo: Callable[[str], object] = print,
) -> None:
    """Serve the books of a database until interrupted.

    A database without an instance gets one, and a token in a file beside it that only its owner may read.

    Parameters
    ----------
    database : str or Path
        SQLite file; made when there is none.
    host : str
        Address to bind to; one that other machines reach needs `allow_remote`.
    port : int
        Port; 0 takes a free one.
    localtime : str, optional
        Time zone that ``localtime`` means in every instance, instead of the one it was created with.
    allow_remote : bool
        Whether other machines may reach the service.
    echo : callable
        Prints a line: where the service answers and how to reach it; never a token.
    """
    _check_host(host, allow_remote=allow_remote)
    if localtime is not None:
        zone(localtime)
    with Store.open(database) as store:
        made = first_instance(store, localtime=localtime or "UTC")
        with _listener(host, port) as listener, suppress(KeyboardInterrupt):
            _announce(store, _url(listener), new=made is not None, echo=echo)
            _server(store, localtime).run(sockets=[listener])


def _announce(store: Store, base_url: str, *, new: bool, echo: Callable[[str], object]) -> None:
    token_file = token_path(store.path).absolute() if store.path else None
    instances = store.instances()
    made = ", new: one instance and its access token were made" if new else ""
    echo(f"Serving {store.name} at {base_url} (stop with Ctrl-C{made})")
    for instance in instances:
        echo(f"instance {instance.id} ({instance.name}), tier {instance.tier}, scale {instance.scale}")
    echo("To use it from another terminal:")
    echo(f"  export ACCOUNTING_ANALYTICS_BASE_URL={shlex.quote(base_url)}")
    echo(f"  export ACCOUNTING_ANALYTICS_INSTANCE_ID={shlex.quote(instances[0].id)}")
    if token_file and token_file.exists():
        echo(f"  export ACCOUNTING_ANALYTICS_TOKEN_FILE={shlex.quote(str(token_file))}")


def _server(store: Store, localtime: str | None = None) -> uvicorn.Server:
    config = uvicorn.Config(
        create_app(store, localtime=localtime),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=_GRACE,
    )
    return uvicorn.Server(config)


def _check_host(host: str, *, allow_remote: bool) -> None:
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback and not allow_remote:
        msg = (
            f"host {host!r} can be reached by other machines, and this service speaks plain HTTP: "
            f"use {LOOPBACK}, or allow it explicitly"
        )
        raise ConfigurationError(msg)


def _listener(host: str, port: int) -> socket.socket:
    """Listen before the server runs, so that whoever connects at once is not turned away."""
    if not 0 <= port <= _MAX_PORT:
        msg = f"port {port} is not a port; give one from 0 (any free one) to {_MAX_PORT}"
        raise ConfigurationError(msg)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        msg = f"host {host!r} cannot be used: {error.strerror}"
        raise ConfigurationError(msg) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        msg = f"cannot listen on {host} port {port}: {error}"
        raise ConfigurationError(msg) from error
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
