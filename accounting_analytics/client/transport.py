"""The road to the service: connections that no slow sender holds beyond a deadline.

httpx bounds each read, not their sum: a sender of one byte a second holds it for ever. Here each read and write gets
what is left until the deadline of the transfer that the thread is in.
"""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator

    from accounting_analytics.client.deadline import Deadline

_CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=100)
_TALKATIVE = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))
_deadline: ContextVar[Deadline | None] = ContextVar("deadline of the transfer", default=None)


@contextmanager
def transfer_until(deadline: Deadline) -> Iterator[None]:
    """Bound everything this thread sends and receives meanwhile, and keep addresses and headers out of logs."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def _not_ours(_: logging.LogRecord) -> bool:
    """Whether a log record is not about a transfer of ours: theirs tell addresses and headers."""
    return _deadline.get() is None


for _name in _TALKATIVE:
    logging.getLogger(_name).addFilter(_not_ours)


class DeadlineTransport(httpx.HTTPTransport):
    """Connections that keep the deadline of the transfer they are used in.

    Attributes
    ----------
    proxy : str or None
        Host and port of the proxy they go through, for messages.
    """

    def __init__(self, *, encrypted: bool = True, proxy: str | None = None) -> None:
        self.proxy = None if proxy is None else _host_and_port(httpx.URL(proxy))
        # certificates take a moment to load: not for an address that never meets any
        super().__init__(verify=encrypted or proxy is not None, limits=_CONNECTIONS, proxy=proxy)
        self._pool._network_backend = _Backend(httpcore.SyncBackend())  # noqa: SLF001 (httpx passes none through)


def transport_to(url: httpx.URL) -> DeadlineTransport:
    """Transport to an address, through the proxy that the environment names for it."""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if proxy is not None and proxy_bypass(url.host):
        proxy = None
    return DeadlineTransport(encrypted=url.scheme == "https", proxy=proxy)


def _host_and_port(proxy: httpx.URL) -> str:
    """Address of a proxy for messages; one with a path may be a password with a slash."""
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
        problem: httpcore.ConnectError | None = None
        for address in _addresses(host, port, _left(timeout, httpcore.ConnectTimeout)):
            left = _left(timeout, httpcore.ConnectTimeout)
            try:
                stream = self._backend.connect_tcp(address, port, left, local_address, socket_options)
            except httpcore.ConnectError as error:
                problem = error
            else:
                return _Stream(stream)
        raise problem or httpcore.ConnectError("the name has no address")


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 (httpcore's own)
        return self._stream.get_extra_info(info)


def _left(timeout: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    """Seconds that one step may take; raises when there is none left."""
    deadline = _deadline.get()
    if deadline is None:
        return timeout
    left = deadline.remaining()
    if left <= 0:
        raise late
    return left if timeout is None else min(left, timeout)


def _addresses(host: str, port: int, seconds: float | None) -> list[str]:
    """Addresses of a name; looked up beside, because the system's look-up knows no time limit."""
    found: list[str] = []
    problems: list[str] = []

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            problems.append(str(error))
        else:
            found.extend(dict.fromkeys(str(entry[4][0]) for entry in entries))

    thread = threading.Thread(target=look_up, name="look up an address", daemon=True)
    thread.start()
    thread.join(seconds)
    if problems:
        raise httpcore.ConnectError(problems[0])
    if not found:
        raise httpcore.ConnectTimeout
    return found
