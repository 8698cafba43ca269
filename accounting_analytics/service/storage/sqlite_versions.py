"""Versions of SQLite files: the one that a file states, and its migration after a backup."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.pool import StaticPool

from accounting_analytics.errors import AccountingAnalyticsError, ConfigurationError, InputError
from accounting_analytics.service.storage.migrations import STEPS, Migration, apply_steps, is_current
from accounting_analytics.service.storage.sqlite_files import (
    BUSY_CODES,
    exclusive_access,
    in_use,
    is_full,
    primary_code,
    read_only,
    roll_back_unfinished,
    save_copy,
    size_of,
    unused_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from accounting_analytics.service.storage.migrations import Step

APPLICATION_ID = 0x4C415331
"""Identifies an SQLite file as a database of this service ("LAS1")."""


def version_of_file(path: Path, *, name: str | None = None, read_ends: bool = True) -> int | None:
    """Version that a file states; None if it is missing or empty.

    The header, the list of tables, and the first and last row of each are read: this takes the same time for any size.
    An unfinished transaction of a killed program is undone before.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        Its name in messages, if it is a copy.
    read_ends : bool
        Whether to read the rows; not needed before a check of the whole file, which lists all damage.

    Raises
    ------
    InputError
        It is not a database of the service, or it is damaged there.
    """
    if not size_of(path):
        return None
    try:
        roll_back_unfinished(path)
        with read_only(path) as connection:
            version = _version(connection, name or str(path))
            if read_ends:
                _read_ends(connection)
    except sqlite3.DatabaseError as error:
        if primary_code(error) in BUSY_CODES:  # another program migrates or restores it
            raise in_use(path) from error
        raise unusable(name or str(path), error) from error
    return version


def unusable(name: str, error: BaseException) -> AccountingAnalyticsError:
    """Error about a file that SQLite cannot use, because its disk is full, it is damaged, or not a database."""
    if is_full(error):
        return ConfigurationError(
            f"database {name} cannot be opened, because its disk is full: {error}; nothing was changed, make space on "
            "that disk and try again"
        )
    return InputError(
        f"{name} cannot be used as a database of the service: {error}; nothing was changed, give another file, or "
        "replace this one by a backup of it (accounting-analytics restore)"
    )


def state_version(connection: Connection, version: int) -> None:
    """Write into a file that it is a database of the service, and its version."""
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version = {version}")


def migrate_file(path: Path, steps: Sequence[Step] = STEPS, *, backup: bool = True) -> Migration:
    """Migrate a file in one transaction, after a backup beside it whose name has the version.

    Parameters
    ----------
    path : Path
        The file.
    steps : sequence of callable
        All steps, from the oldest version on.
    backup : bool
        Whether to make the backup; not needed for a copy that was made to be migrated.

    Raises
    ------
    InputError
        It is in use, it is newer than this program, or its backup cannot be written; nothing was changed.
    """
    with exclusive_access(path) as connection:
        before = _version(connection, str(path)) or 0
        if is_current(str(path), before, steps):  # another program migrated it meanwhile
            return Migration(before, before)
        saved = str(_save_backup(connection, path, before)) if backup else None
        return Migration(before, _apply(connection, before, steps), saved)


def _version(connection: sqlite3.Connection, name: str) -> int | None:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id == APPLICATION_ID:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return int(version)
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        return None
    msg = f"{name} is a database of another program; nothing was changed, give another file"
    raise InputError(msg)


def _read_ends(connection: sqlite3.Connection) -> None:
    """Read the first and the last row of each table; damage there is an error of SQLite."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in tables:
        for order in ("ASC", "DESC"):
            connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid {order} LIMIT 1').fetchall()  # noqa: S608 (its own name)


def _save_backup(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    """Copy the file to a new name; one of an earlier migration stays."""
    backup = unused_name(path, f"version-{version}")
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
