"""Options of running the service."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.periods import zone

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOPBACK = "127.0.0.1"
_MAX_PORT = 65535
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class ServiceOptions:
    """How to run the service; every option has a default that is safe on this machine.

    Parameters
    ----------
    host : str
        Address to bind to; an address that other machines can reach needs `allow_remote`.
    port : int
        Port; 0 takes a free one.
    allow_remote : bool
        Whether other machines may reach the service.
    public_hosts : sequence of str
        Host names that requests may use, besides those of loopback.
    localtime : str, optional
        Time zone that ``localtime`` means in every instance, instead of the one it was created with.
    requests_per_minute : int, optional
        Requests per minute and instance; no limit if omitted.

    Raises
    ------
    ConfigurationError
        Other machines could reach the service, which is not allowed; or the port does not exist.
    PeriodError
        The time zone is unknown.
    """

    host: str = LOOPBACK
    port: int = 0
    allow_remote: bool = False
    public_hosts: Sequence[str] = ()
    localtime: str | None = None
    requests_per_minute: int | None = None

    def __post_init__(self) -> None:
        if self.is_remote and not self.allow_remote:
            raise ConfigurationError(
                f"host {self.host!r} can be reached by other machines, and this service uses plain HTTP: "
                f"use {LOOPBACK}, or allow it with allow_remote (--allow-remote)"
            )
        for name in self.public_hosts:
            if not _HOST_NAME.fullmatch(name):
                raise ConfigurationError(
                    f"public host {name!r} must be a bare host name such as 'books.example.org', without scheme, port "
                    "or path"
                )
        if not 0 <= self.port <= _MAX_PORT:
            raise ConfigurationError(
                f"port {self.port} does not exist; use a port from 0 (any free one) to {_MAX_PORT}"
            )
        if self.localtime is not None:
            zone(self.localtime)

    @property
    def is_remote(self) -> bool:
        """Whether other machines can reach the host."""
        try:
            return self.host != "localhost" and not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return True

    @property
    def allowed_hosts(self) -> list[str]:
        """Host names that requests may use: any one if other machines can reach the host, unless some are public."""
        if self.is_remote and not self.public_hosts:
            return ["*"]
        return ["localhost", LOOPBACK, "[::1]", self.host, *self.public_hosts]
