"""The files of an SQLite database: read without changing them, copied, or used by one program alone."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, BinaryIO

from accounting_analytics.atomic_files import replace_file, sync_folder
from accounting_analytics.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PRIVATE_MODE = 0o600
_EXCLUSIVE_SECONDS = 2.0
_PRIMARY_CODE = 0xFF
"""Mask of an extended result code; its lowest byte is the primary code."""

BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def token_path(database: Path) -> Path:
    """File for the access token of a database's first instance."""
    return _beside(database, ".token")


def wal_path(database: Path) -> Path:
    """Write-ahead log of a database: what is committed and not yet in its file."""
    return _beside(database, "-wal")


def shm_path(database: Path) -> Path:
    """Index of the write-ahead log, which exists while a program has the database open."""
    return _beside(database, "-shm")


def size_of(path: Path) -> int:
    """Size of a file; 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


def primary_code(error: BaseException | None) -> int:
    """Return the result code of SQLite without its extension; 0 if the error has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY_CODE


def check_access(path: Path) -> None:
    """Refuse a file that cannot be read and written; a missing one is created, and only its owner can read it.

    An existing one is not opened: the locks that this program has on it would be lost when it is closed.

    Raises
    ------
    ConfigurationError
        It is a folder, or its permissions or those of its folder are missing.
    """
    if path.is_file() and os.access(path, os.R_OK | os.W_OK):
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE_MODE))
    except OSError as error:
        msg = f"database {path} cannot be opened: {error.strerror}"
        raise ConfigurationError(msg) from error


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that cannot write, and creates no file where no program has the database open."""
    unused = not shm_path(path).exists() and not size_of(wal_path(path))
    address = f"{path.absolute().as_uri()}?{'immutable=1' if unused else 'mode=ro'}"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        yield connection


@contextmanager
def exclusive_access(path: Path) -> Iterator[sqlite3.Connection]:
    """Give the only connection to a database; until the block ends, no other program can open it.

    What the write-ahead log had is in the file then, and the log is removed.

    Raises
    ------
    InputError
        Another program has the database open.
    """
    with closing(sqlite3.connect(path, isolation_level=None, timeout=_EXCLUSIVE_SECONDS)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")  # the lock stays until the connection is closed
        except sqlite3.OperationalError as error:
            if primary_code(error) not in BUSY_CODES:
                raise
            msg = (
                f"{path} is in use by another program, such as a running service; nothing was changed, "
                "stop that program and run this again"
            )
            raise InputError(msg) from error
        yield connection


def save_copy(source: sqlite3.Connection, target: Path) -> None:
    """Copy the books that a connection sees into one file, which is complete and synced to disk, or does not exist.

    The source can be written meanwhile: the copy is one snapshot.

    Raises
    ------
    OSError, sqlite3.OperationalError
        The copy cannot be written.
    """

    def write(file: BinaryIO) -> None:
        with closing(sqlite3.connect(file.name, isolation_level=None)) as copy:
            copy.execute("PRAGMA locking_mode = EXCLUSIVE")
            copy.execute("PRAGMA journal_mode = MEMORY")
            source.backup(copy)
            # a copy without a write-ahead log: a log that is beside it later cannot belong to it
            copy.execute("PRAGMA journal_mode = DELETE")

    replace_file(target, write, private=True)
    sync_folder(target.parent)


def _beside(database: Path, suffix: str) -> Path:
    return database.with_name(f"{database.name}{suffix}")
