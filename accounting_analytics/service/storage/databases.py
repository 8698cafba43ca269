"""The kinds of databases that books are stored in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.service.storage.postgresql import PostgreSQL
from accounting_analytics.service.storage.sqlite import SQLite

if TYPE_CHECKING:
    from accounting_analytics.service.storage.database import Database

_KINDS: tuple[type[Database], ...] = (PostgreSQL, SQLite)


def open_database(address: str, lock_seconds: float, *, create: bool) -> Database:
    """Open the database at an address: that of a server, or the path of a file.

    Raises
    ------
    InputError
        It contains something else; nothing was changed.
    ConfigurationError
        It cannot be opened or reached.
    """
    for kind in _KINDS:
        if kind.accepts(address):
            return kind.open(address, lock_seconds, create=create)
    scheme = address.partition("://")[0]
    msg = f"a database is a file or an address postgresql://user@host/name; {scheme[:20]!r} is not known"
    raise ConfigurationError(msg)
