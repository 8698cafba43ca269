"""The kinds of databases that books are stored in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.service.storage.postgresql import PostgreSQL
from accounting_analytics.service.storage.sqlite import SQLite

if TYPE_CHECKING:
    from accounting_analytics.service.storage.database import Database
    from accounting_analytics.service.storage.migrations import Migration

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
    return _kind(address).open(address, lock_seconds, create=create)


def open_read_only(address: str) -> Database:
    """Open the database at an address with the tables of this version; nothing is changed.

    Raises
    ------
    InputError
        It has no books, or those of another version.
    ConfigurationError
        It cannot be opened or reached.
    """
    return _kind(address).open_read_only(address)


def migrate_database(address: str, *, backup_made: bool = False) -> Migration:
    """Migrate the database at an address to the version that this program needs, in one transaction.

    Parameters
    ----------
    address : str
        The path of a file, of which a backup is made first, or the address of a server.
    backup_made : bool
        Whether a backup was made; a database on a server is not migrated without.

    Raises
    ------
    InputError
        It has no books, it is newer than this program, or a backup is needed; nothing was changed.
    ConfigurationError
        It cannot be opened or reached.
    """
    return _kind(address).migrate(address, backup_made=backup_made)


def _kind(address: str) -> type[Database]:
    for kind in _KINDS:
        if kind.accepts(address):
            return kind
    scheme = address.partition("://")[0]
    msg = f"a database is a file or an address postgresql://user@host/name; {scheme[:20]!r} is not known"
    raise ConfigurationError(msg)
