"""Deadlines, the transport to a service, and what a forked process must not share with its parent.

A child that writes to a connection of its parent may read the response to a request of the parent, or of another child.
A lock that another thread held during the fork stays locked in the child for ever.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import ssl
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx

from accounting_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

State = TypeVar("State")

_CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=100)
CONNECT_SECONDS = 10.0
"""Longest time to connect, and to agree on encryption after it."""
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


_is_sending: ContextVar[bool] = ContextVar("this package is sending a request", default=False)


@contextmanager
def sending() -> Iterator[None]:
    """Mark that this thread sends a request of this package in the block."""
    token = _is_sending.set(True)
    try:
        yield
    finally:
        _is_sending.reset(token)


def keep_requests_out_of_http_logs() -> None:
    """Drop what httpx and httpcore log about requests of this package; other users of httpx keep their logs.

    Those records contain URLs and headers, at DEBUG also headers in which a service repeats the token.
    """
    for name in _HTTP_LOGGERS:
        logging.getLogger(name).addFilter(_is_foreign_request)  # adding it again has no effect


def _is_foreign_request(_: logging.LogRecord) -> bool:
    """Whether the current request, if any, was not sent by this package."""
    return not _is_sending.get()


def transport_to(origin: httpx.URL) -> httpx.HTTPTransport:
    """Transport to an origin, with the certificates and the proxy that the environment names."""
    proxy = _proxy_to(origin)
    try:
        # loading certificates takes time, so it is skipped where no connection is encrypted
        return httpx.HTTPTransport(
            verify=origin.scheme == "https" or proxy is not None, limits=_CONNECTIONS, proxy=proxy
        )
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


def proxy_host_to(origin: httpx.URL) -> str:
    """Host and port of the proxy to an origin, for messages; empty without one."""
    proxy = _proxy_to(origin)
    if proxy is None:
        return ""
    address = httpx.URL(proxy)  # what looks like a path may belong to a password with a slash
    return address.netloc.decode("ascii") if address.path in {"", "/"} else "that the environment names"
