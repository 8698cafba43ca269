"""Versions of SQLite files: the one that a file states, and its migration after a backup."""

from __future__ import annotations

import sqlite3
from itertools import count
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.pool import StaticPool

from accounting_analytics.errors import InputError
from accounting_analytics.service.storage.migrations import STEPS, Migration, apply_steps, is_current
from accounting_analytics.service.storage.sqlite_files import exclusive_access, read_only, save_copy, size_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from accounting_analytics.service.storage.migrations import Step

APPLICATION_ID = 0x4C415331
"""Identifies an SQLite file as a database of this service ("LAS1")."""


def version_of_file(path: Path) -> int | None:
    """Version that a file states; None if it is missing or empty.

    Raises
    ------
    InputError
        It is not a database of the service, or it is damaged.
    """
    if not size_of(path):
        return None
    try:
        with read_only(path) as connection:
            return _version(connection, path)
    except sqlite3.DatabaseError as error:
        msg = f"{path} cannot be used as a database of the service: {error}; nothing was changed"
        raise InputError(msg) from error


def state_version(connection: Connection, version: int) -> None:
    """Write into a file that it is a database of the service, and its version."""
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version = {version}")


def migrate_file(path: Path, steps: Sequence[Step] = STEPS) -> Migration:
    """Migrate a file in one transaction, after a backup beside it whose name has the version.

    Raises
    ------
    InputError
        It is in use, it is newer than this program, or its backup cannot be written; nothing was changed.
    """
    with exclusive_access(path) as connection:
        before = _version(connection, path) or 0
        if is_current(str(path), before, steps):  # another program migrated it meanwhile
            return Migration(before, before)
        backup = _save_backup(connection, path, before)
        after = _apply(connection, before, steps)
    return Migration(before, after, str(backup))


def _version(connection: sqlite3.Connection, path: Path) -> int | None:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id == APPLICATION_ID:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return int(version)
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        return None
    msg = f"{path} is a database of another program; nothing was changed, give another file"
    raise InputError(msg)


def _save_backup(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    """Copy the file to a new name; one of an earlier migration stays."""
    backup = path.with_name(f"{path.name}.version-{version}")
    numbers = count(2)
    while backup.exists():
        backup = path.with_name(f"{path.name}.version-{version}.{next(numbers)}")
    try:
        save_copy(connection, backup)
    except (OSError, sqlite3.OperationalError) as error:
        msg = f"{path} was not migrated, because its backup {backup} cannot be written: {error}; nothing was changed"
        raise InputError(msg) from error
    return backup


def _apply(connection: sqlite3.Connection, version: int, steps: Sequence[Step]) -> int:
    engine = create_engine("sqlite+pysqlite://", creator=lambda: connection, poolclass=StaticPool)
    event.listen(engine, "begin", _begin)
    with engine.begin() as transaction:
        after = apply_steps(transaction, version, steps)
        state_version(transaction, after)
    return after


def _begin(connection: Connection) -> Any:  # noqa: ANN401 (of SQLAlchemy)
    connection.exec_driver_sql("BEGIN IMMEDIATE")
