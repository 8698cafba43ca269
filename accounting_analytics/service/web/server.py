"""Running the service: in the background of this process, or in the foreground until stopped."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import shlex
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.periods import zone
from accounting_analytics.service.auth.secret_files import token_path
from accounting_analytics.service.bookkeeping.instances import create_first_instance
from accounting_analytics.service.faults.fault_plan import FaultDial
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.app import create_app
from accounting_analytics.service.web.connection_limits import MAX_HEAD, SEND_BUFFER, GuardedConnection
from accounting_analytics.service.web.request_guard import Hosts
from accounting_analytics.service.web.token_endpoint import DEFAULT_LIFETIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from starlette.types import ASGIApp

_log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
_GRACE = 2
"""Seconds that requests under way have to finish, and their clients to read the answers, once the service stops."""
_BACKLOG = 1024
_MAX_PORT = 65535


class RunningService:
    """A service that answers in a thread of this process.

    Attributes
    ----------
    base_url : str
        Where it answers; paths such as ``/v0/ledgers`` follow it.
    faults : FaultDial or None
        Faults that are played on purpose; its ``played`` counts them.
    """

    def __init__(self, app: ASGIApp, host: str, port: int, faults: FaultDial | None = None) -> None:
        self.faults = faults
        listener = _listener(host, port)
        self.base_url = _url(listener)
        self._server = _server(app)
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
    database: str | Path,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    allow_remote: bool = False,
    requests_per_minute: int | None = None,
    token_lifetime: float = DEFAULT_LIFETIME,
    public_hosts: Sequence[str] = (),
    faults: str | None = None,
    seed: int = 1,
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
    requests_per_minute : int, optional
        How often a minute an instance may ask; as often as it likes when left out.
    token_lifetime : float
        Seconds that a token lives that a client gets from ``/oauth/token``.
    public_hosts : sequence of str
        Names that requests may call the service by, besides those of loopback.
    faults : str, optional
        Faults that are played on purpose, see :mod:`accounting_analytics.service.faults.fault_plan`; on loopback only.
    seed : int
        Which of the requests they hit.

    Yields
    ------
    RunningService
        With ``base_url``, ``stop()`` and ``faults``. It answers when the block starts.
    """
    hosts = _hosts(host, public_hosts, allow_remote=allow_remote)
    dial = _dial(faults, seed, host)
    with Store.open(database) as store:
        app = create_app(
            store, requests_per_minute=requests_per_minute, token_lifetime=token_lifetime, hosts=hosts, faults=dial
        )
        service = RunningService(app, host, port, dial)
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
    requests_per_minute: int | None = None,
    token_lifetime: float = DEFAULT_LIFETIME,
    public_hosts: Sequence[str] = (),
    faults: str | None = None,
    seed: int = 1,
    echo: Callable[[str], object] = print,
) -> None:
    """Serve the books of a database until interrupted.

    A database without an instance gets one, and a token in a file beside it that only its owner may read; not so where
    other machines reach the service.

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
    requests_per_minute : int, optional
        How often a minute an instance may ask; as often as it likes when left out.
    token_lifetime : float
        Seconds that a token lives that a client gets from ``/oauth/token``.
    public_hosts : sequence of str
        Names that requests may call the service by, besides those of loopback.
    faults : str, optional
        Faults that are played on purpose, see :mod:`accounting_analytics.service.faults.fault_plan`; on loopback only.
    seed : int
        Which of the requests they hit.
    echo : callable
        Prints a line: where the service answers and how to reach it; never a token.
    """
    hosts = _hosts(host, public_hosts, allow_remote=allow_remote)
    dial = _dial(faults, seed, host)
    if localtime is not None:
        zone(localtime)
    with Store.open(database) as store:
        made = None if _is_remote(host) else create_first_instance(store, localtime=localtime or "UTC")
        if not store.instances():
            msg = (
                f"{store.name} has no instance, and none is made where other machines reach it: make one first with "
                "'accounting-analytics instances create', or import books into it"
            )
            raise ConfigurationError(msg)
        app = create_app(
            store,
            localtime=localtime,
            requests_per_minute=requests_per_minute,
            token_lifetime=token_lifetime,
            hosts=hosts,
            faults=dial,
        )
        with _listener(host, port) as listener, suppress(KeyboardInterrupt):
            _announce(store, _url(listener), new=made is not None, echo=echo)
            if dial is not None:
                echo(f"FAULTS ARE ON, answers are wrong on purpose: {dial}")
            _server(app).run(sockets=[listener])


def _announce(store: Store, base_url: str, *, new: bool, echo: Callable[[str], object]) -> None:
    token_file = token_path(store.path).absolute() if store.path else None
    instances = store.instances()
    made = ", new: one instance and its access token were made" if new else ""
    echo(f"Serving {store.name} at {base_url} (stop with Ctrl-C{made})")
    for instance in instances:
        echo(f"instance {instance.id} ({instance.name}), tier {instance.tier}, scale {instance.scale}")
    if new:
        file = shlex.quote(store.name)
        echo(f"Its books are new and empty; to fill them: accounting-analytics import FILE --database {file}")
    echo("To use it from another terminal:")
    echo(f"  export ACCOUNTING_ANALYTICS_BASE_URL={shlex.quote(base_url)}")
    echo(f"  export ACCOUNTING_ANALYTICS_INSTANCE_ID={shlex.quote(instances[0].id)}")
    if token_file and token_file.exists():
        echo(f"  export ACCOUNTING_ANALYTICS_TOKEN_FILE={shlex.quote(str(token_file))}")


class _Server(uvicorn.Server):
    """A server that waits for no client when it stops."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, finish what is under way, and cut whoever is still connected when the grace is over."""
        end = asyncio.get_running_loop().call_later(_GRACE, self._cut)
        try:
            await super().shutdown(sockets)
        finally:
            end.cancel()
            self._cut()

    def _cut(self) -> None:
        for connection in list(self.server_state.connections):
            if isinstance(connection, GuardedConnection):
                connection.transport.abort()


def _server(app: ASGIApp) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=GuardedConnection,
        h11_max_incomplete_event_size=MAX_HEAD,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=_GRACE + 1,
    )
    return _Server(config)


def _hosts(host: str, public: Sequence[str], *, allow_remote: bool) -> Hosts:
    """Names the service answers to; refuses to listen where other machines reach it unless that is allowed."""
    remote = _is_remote(host)
    if remote and not allow_remote:
        msg = (
            f"host {host!r} can be reached by other machines, and this service speaks plain HTTP: "
            f"use {LOOPBACK}, or allow it with allow_remote (--allow-remote)"
        )
        raise ConfigurationError(msg)
    return Hosts(public, any_address=remote)


def _dial(faults: str | None, seed: int, host: str) -> FaultDial | None:
    """Faults to play; never where other machines reach them, and never quietly."""
    if faults is None:
        return None
    if _is_remote(host):
        msg = f"faults are played on loopback only, not on {host!r}, where other machines reach the service"
        raise ConfigurationError(msg)
    dial = FaultDial(faults, seed)
    _log.warning("FAULTS ARE ON, answers are wrong on purpose: %s", dial)
    return dial


def _is_remote(host: str) -> bool:
    """Whether other machines may reach an address to bind to."""
    try:
        return host != "localhost" and not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True


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
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # of every connection it accepts
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        msg = f"cannot listen on {host} port {port}: {error.strerror}; give another, or port 0 for any free one"
        raise ConfigurationError(msg) from error
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
