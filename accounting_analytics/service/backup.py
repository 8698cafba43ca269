"""Back up the database of a service while it is served, and restore a backup after a check."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.atomic_files import TEMPORARY_SUFFIX, remove_temporary_files, sync_folder
from accounting_analytics.errors import BooksDoNotTieError, ConfigurationError, InputError
from accounting_analytics.service.check import InvariantCheck, check_books
from accounting_analytics.service.storage.database import check_version
from accounting_analytics.service.storage.sqlite import SQLite, version_of_file
from accounting_analytics.service.storage.sqlite_files import (
    BUSY_CODES,
    check_access,
    check_log_belongs,
    exclusive_access,
    journal_path,
    log_belongs,
    primary_code,
    read_only,
    save_copy,
    shm_path,
    size_of,
    unused_name,
    wal_path,
)
from accounting_analytics.service.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

_ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary file of a restore can no longer be in use."""


class Restored(NamedTuple):
    """Counts of the restored books, and the file that the former database is kept in; None if there was none."""

    checked: InvariantCheck
    kept: Path | None


def back_up(database: str, target: Path) -> None:
    """Copy a database into a new file; a service can read and write it meanwhile.

    The copy is one snapshot that only its owner can read; if it cannot be written, no file is created.
    """
    path = _file(database, "back it up with: pg_dump --format=custom --file=FILE")
    if target.exists():
        raise ConfigurationError(f"{target} exists already; nothing was changed, give a new file")
    _check_books(path)
    with (
        _refusing_to_write(target),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as source,
    ):
        save_copy(source, target)


def restore(backup: Path, database: str) -> Restored:
    """Replace a database by a backup, once every invariant of the backup is checked; the former file is kept.

    The replacement is one step: a program that is killed leaves the former database or the restored one.
    """
    path = _file(database, "restore a dump with: pg_restore --dbname=ADDRESS FILE")
    _check_books(backup)
    if path.exists() and path.samefile(backup):
        raise ConfigurationError(f"{backup} is the database itself; nothing was changed, give a backup")
    with ExitStack() as resources:
        staged = resources.enter_context(_staged_beside(path))
        with _refusing_to_write(staged), read_only(backup) as source:
            save_copy(source, staged)
        checked = _check(staged, backup)
        with _refusing_to_write(path):
            return Restored(checked, _replace(path, staged))


def _file(database: str, instead: str) -> Path:
    """Path of a database that is a file; one on a server is refused with the program to use."""
    if not SQLite.accepts(database):
        raise ConfigurationError(f"a PostgreSQL database is not a file; {instead}")
    path = Path(database)
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder; nothing was changed, give the file of a database")
    return path


def _check_books(path: Path) -> None:
    """Refuse a file that has no books of this version, or that cannot be used with what is beside it."""
    if size_of(path):
        check_access(path, writable=False)
        check_log_belongs(path)
    version = version_of_file(path)
    if version is None:
        raise InputError(
            f"{path} {'is empty' if path.exists() else 'does not exist'}; nothing was changed, give a file with books"
        )
    check_version(str(path), version)


@contextmanager
def _staged_beside(path: Path) -> Iterator[Path]:
    """Give the name of a temporary file beside the database; it and what SQLite puts beside it are removed."""
    remove_temporary_files(path, older_than=_ABANDONED_AFTER)
    staged = path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    try:
        yield staged
    finally:
        for leftover in (staged, wal_path(staged), shm_path(staged)):
            leftover.unlink(missing_ok=True)


def _check(staged: Path, backup: Path) -> InvariantCheck:
    with Store.open_read_only(staged) as store:
        checked = check_books(store)
    if checked.findings:
        first = checked.findings[0]
        raise BooksDoNotTieError(
            f"{backup} was not restored, because {len(checked.findings)} check(s) of its books failed; the first, "
            f"{first.invariant!r}: {first.subject} {first.problem}; nothing was changed"
        )
    return checked


def _is_readable(path: Path) -> bool:
    """Whether a former database can be opened without a change to a damaged file; refuse one that is being changed."""
    try:
        return log_belongs(path) and version_of_file(path) is not None
    except InputError as error:
        if primary_code(error.__cause__) in BUSY_CODES:
            raise
        return False


def _replace(path: Path, staged: Path) -> Path | None:
    """Put the staged file in the place of the database, and return the name under which the former one is kept."""
    name = unused_name(path, "before-restore")
    kept = name if path.exists() else None
    with ExitStack() as resources:
        if kept is not None and _is_readable(path):
            resources.enter_context(exclusive_access(path))  # all that is committed is in the file itself then
        else:  # it is missing, or damaged and kept as it is with its log
            for beside in (wal_path, journal_path):
                if beside(path).exists():
                    os.link(beside(path), beside(name))
        if kept is not None:
            os.link(path, kept)
        # a journal would be applied to the restored file; a log is not, which a start in between refuses
        journal_path(path).unlink(missing_ok=True)
        staged.replace(path)
        for stale in (wal_path(path), shm_path(path)):
            stale.unlink(missing_ok=True)
        sync_folder(path.absolute().parent)
    return kept


@contextmanager
def _refusing_to_write(target: Path) -> Iterator[None]:
    """Raise errors of SQLite and of the file system about a file that is written as errors about the input."""
    try:
        yield
    except (OSError, sqlite3.DatabaseError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{target} cannot be written: {reason}; nothing was changed") from error
