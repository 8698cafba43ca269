"""HTTP transport whose connections respect a deadline, and what a forked process must not share with its parent.

httpx limits each read, not their sum, so a server that sends one byte a second can hold a call indefinitely. Here each
connect, read and write may take only the time left until the deadline of the current request.

A child that writes to a connection of its parent may read the response to a request of the parent, or of another child.
A lock that another thread held during the fork stays locked in the child for ever.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.progress import show_notice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

State = TypeVar("State")

_CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=100)
CONNECT_SECONDS = 10.0
"""Longest time to connect, half of it to find the addresses of the host name, and to agree on encryption after it."""
NOTICE_SECONDS = 10.0
"""After so long without a byte of a response, a terminal or a notebook shows a notice."""
_HTTP_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


class PerProcess(Generic[State]):
    """A state that each process makes for itself when it first needs it, without a lock, which a fork might leave held.

    Threads that need it at the same time may each make one; all use the one that is stored first.
    """

    def __init__(self, make: Callable[[], State], first: State | None = None) -> None:
        self._make = make
        self._by_process: dict[int, State] = {} if first is None else {os.getpid(): first}

    @property
    def is_made(self) -> bool:
        """Whether this process has made its state."""
        return os.getpid() in self._by_process

    def get(self) -> State:
        """State of this process; that of the parent is dropped."""
        process = os.getpid()
        state = self._by_process.get(process)
        if state is None:
            state = self._by_process.setdefault(process, self._make())
            for parent in self._by_process.keys() - {process}:
                self._by_process.pop(parent, None)
        return state


class Deadline:
    """A time limit that starts when the object is created.

    One deadline may be given to many calls, and so limits a whole job:
    ``client.with_options(deadline=Deadline(600))``.

    Parameters
    ----------
    seconds : float
        Seconds from now; infinity sets no limit.
    """

    __slots__ = ("_expires_at", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = float(seconds)
        self._expires_at = time.monotonic() + self.seconds

    def __repr__(self) -> str:
        return f"Deadline({self.seconds:g}, {self.remaining():.1f} seconds left)"

    def remaining(self) -> float:
        """Seconds left; zero or negative when the deadline has passed."""
        return self._expires_at - time.monotonic()

    def sooner(self, seconds: float) -> Deadline:
        """Return this deadline, or one `seconds` from now if that is sooner."""
        return self if self.remaining() <= seconds else Deadline(seconds)


_current_deadline: ContextVar[Deadline | None] = ContextVar("deadline of the current request", default=None)


@contextmanager
def request_deadline(deadline: Deadline) -> Iterator[None]:
    """Apply a deadline to everything this thread sends and receives in the block."""
    token = _current_deadline.set(deadline)
    try:
        yield
    finally:
        _current_deadline.reset(token)


def keep_requests_out_of_http_logs() -> None:
    """Drop what httpx and httpcore log about requests of this package; other users of httpx keep their logs.

    Those records contain URLs and headers, at DEBUG also headers in which a service repeats the token.
    """
    for name in _HTTP_LOGGERS:
        logging.getLogger(name).addFilter(_is_foreign_request)  # adding it again has no effect


def _is_foreign_request(_: logging.LogRecord) -> bool:
    """Whether the current request, if any, was not sent by this package."""
    return _current_deadline.get() is None


class DeadlineTransport(httpx.HTTPTransport):
    """Connections that respect the deadline of the current request; `proxy` is its host and port, for messages."""

    def __init__(self, *, encrypted: bool = True, proxy: str | None = None) -> None:
        self.proxy = None if proxy is None else _host_and_port(httpx.URL(proxy))
        # loading certificates takes time, so it is skipped where no connection is encrypted
        super().__init__(verify=encrypted or proxy is not None, limits=_CONNECTIONS, proxy=proxy)
        self._pool._network_backend = _Backend(httpcore.SyncBackend())  # noqa: SLF001 (httpx has no parameter for it)


def transport_to(origin: httpx.URL) -> DeadlineTransport:
    """Transport to an origin, with the certificates and the proxy that the environment names."""
    try:
        return DeadlineTransport(encrypted=origin.scheme == "https", proxy=_proxy_to(origin))
    except (OSError, ssl.SSLError) as error:
        variables = " or ".join(name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name))
        reason = error.strerror or error
        raise ConfigurationError(
            f"the certificates that {variables or 'this machine'} names cannot be read: {reason}"
        ) from error
    except ImportError as error:
        raise ConfigurationError(
            f"the proxy that the environment names for {origin.scheme} is a SOCKS proxy (HTTP_PROXY, HTTPS_PROXY, "
            'ALL_PROXY), which needs another package: pip install "httpx[socks]"'
        ) from error
    except (ValueError, httpx.InvalidURL) as error:
        raise ConfigurationError(
            f"the proxy that the environment names for {origin.scheme} cannot be used (HTTP_PROXY, HTTPS_PROXY, "
            "ALL_PROXY); write it like http://proxy.example.org:3128"
        ) from error


def _proxy_to(origin: httpx.URL) -> str | None:
    """Proxy that the environment names for an origin; this machine itself is never reached through one."""
    proxies = getproxies()
    proxy = proxies.get(origin.scheme) or proxies.get("all")
    return None if proxy is None or _is_loopback(origin.host) or proxy_bypass(origin.host) else proxy


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine: ``localhost``, ``127.0.0.0/8`` or ``::1``."""
    name = host.casefold().rstrip(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _host_and_port(proxy: httpx.URL) -> str:
    """Address of a proxy for messages; what looks like a path may belong to a password with a slash."""
    return proxy.netloc.decode("ascii") if proxy.path in {"", "/"} else "that the environment names"


class _Backend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        last_error: httpcore.ConnectError | None = None
        limit = Deadline(CONNECT_SECONDS if timeout is None else min(timeout, CONNECT_SECONDS))
        for address in _resolve(host, port, _time_left(limit.remaining() / 2, httpcore.ConnectTimeout)):
            seconds = _time_left(limit.remaining(), httpcore.ConnectTimeout)
            try:
                stream = self._backend.connect_tcp(address, port, seconds, local_address, socket_options)
            except httpcore.ConnectError as error:
                last_error = error
            else:
                return _Stream(stream, f"{host}:{port}")
        raise last_error or httpcore.ConnectError("the host name has no address")


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, server: str) -> None:
        self._stream = stream
        self._server = server

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _time_left(timeout, httpcore.ReadTimeout)
        if left is None or left <= NOTICE_SECONDS:
            return self._stream.read(max_bytes, left)
        try:
            return self._stream.read(max_bytes, NOTICE_SECONDS)
        except httpcore.ReadTimeout:  # nothing was read, so reading may go on
            left = _time_left(timeout, httpcore.ReadTimeout)
        show_notice(f"waiting for {self._server} since {NOTICE_SECONDS:g} s; this attempt ends in {left:.0f} s")
        return self._stream.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _time_left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        limit = CONNECT_SECONDS if timeout is None else min(timeout, CONNECT_SECONDS)
        seconds = _time_left(limit, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._server)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 (httpcore's own)
        return self._stream.get_extra_info(info)


def _time_left(timeout: float | None, timeout_error: type[httpcore.TimeoutException]) -> float | None:
    """Seconds that one step may take; raises `timeout_error` when none are left."""
    deadline = _current_deadline.get()
    if deadline is None:
        return timeout
    left = deadline.remaining() if timeout is None else min(deadline.remaining(), timeout)
    if left <= 0:
        raise timeout_error
    return left


def _resolve(host: str, port: int, seconds: float | None) -> list[str]:
    """Addresses of a host name, resolved on another thread because the system call has no time limit."""
    addresses: list[str] = []
    errors: list[str] = []

    def resolve() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            errors.append(str(error))
        else:
            addresses.extend(dict.fromkeys(str(entry[4][0]) for entry in entries))

    thread = threading.Thread(target=resolve, name="resolve a host name", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise httpcore.ConnectError(errors[0])
    if not addresses:
        raise httpcore.ConnectTimeout
    return addresses
