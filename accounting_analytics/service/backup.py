"""Back up the database of a service while it is served, and restore a backup."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from sqlalchemy.exc import DatabaseError

from accounting_analytics.core.atomic_files import replace_file, sync_folder
from accounting_analytics.core.errors import ConfigurationError, InputError
from accounting_analytics.service.database import (
    LOCK_SECONDS,
    SERVER_SCHEMES,
    beside,
    connect_file,
    find_damage,
    has_books,
    unusable_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection


def back_up(database: str, target: Path) -> None:
    """Copy a database into a new file, which only its owner can read; a service can read and write it meanwhile.

    The copy is one snapshot; if it cannot be written, no file is created.
    """
    path = _file(database, "back it up with: pg_dump --format=custom --file=FILE")
    if target.exists():
        raise ConfigurationError(f"{target} exists already; nothing was changed, give a new file")
    with _books_in(path) as source:
        _save_copy(source, target)


def restore(backup: Path, database: str) -> None:
    """Replace a database that no program has open by a backup, in one step."""
    path = _file(database, "restore a dump with: pg_restore --dbname=ADDRESS FILE")
    if path.exists() and backup.exists() and path.samefile(backup):
        raise ConfigurationError(f"{backup} is the database itself; nothing was changed, give a backup")
    for left in (beside(path, "-wal"), beside(path, "-shm")):
        if left.exists():
            raise InputError(
                f"{path} is in use, or its last program was killed, because {left.name} is beside it; nothing was "
                f"changed: stop its service, or move {path.name} and {left.name} away, and run this again"
            )
    with _books_in(backup) as source:
        if damage := find_damage(source, 1, quick=True):
            problem = damage[0].splitlines()[-1]
            raise InputError(f"{backup} is damaged: {problem}; nothing was changed, give another backup")
        _save_copy(source, path)


def _file(database: str, instead: str) -> Path:
    """Path of a database that is a file; one on a server is refused with the program to use."""
    if database.startswith(SERVER_SCHEMES):
        raise ConfigurationError(f"a PostgreSQL database is not a file; {instead}")
    path = Path(database)
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder; nothing was changed, give the file of a database")
    return path


@contextmanager
def _books_in(path: Path) -> Iterator[Connection]:
    """Give a connection to a file with books of this version; any other one is refused."""
    if not path.exists():
        raise InputError(f"{path} does not exist; nothing was changed, give a file with books")
    engine = connect_file(path, LOCK_SECONDS)
    try:
        with engine.connect() as connection:
            if not has_books(connection, str(path)):
                raise InputError(f"{path} is empty; nothing was changed, give a file with books")
            yield connection
    except (DatabaseError, sqlite3.DatabaseError) as error:
        raise unusable_file(str(path), getattr(error, "orig", error)) from error
    finally:
        engine.dispose()


def _save_copy(source: Connection, target: Path) -> None:
    """Copy the books that a connection sees into one file, which is complete and synced to disk, or does not exist."""
    books = cast("sqlite3.Connection", source.connection.driver_connection)

    def write(file: BinaryIO) -> None:
        with closing(sqlite3.connect(Path(file.name).absolute())) as copy:  # else a name such as file:x is an address
            books.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # the copy is one file, with nothing beside it

    try:
        replace_file(target, write, private=True)
        sync_folder(target.absolute().parent)
    except (OSError, sqlite3.DatabaseError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{target} cannot be written: {reason}; nothing was changed") from error
