"""The commands ``import``, ``backup``, ``restore`` and ``migrate``: whole databases of the embedded service."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from accounting_analytics.cli.options import (
    AsJson,
    Database,
    TimeZone,
)
from accounting_analytics.cli.output import command_line, print_mapping, print_message


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New file for the backup, readable by you only.")],
    database: Database,
) -> None:
    """Back up a database to a file, also while it is served."""
    from accounting_analytics.service.backup import back_up

    back_up(database, file)
    print_message(f"backed up; to check and restore it: {command_line('restore', file, database=database)}")


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File that `backup` has written.", exists=True, dir_okay=False)
    ],
    database: Database,
) -> None:
    """Replace a database by a backup, after a check.

    Stop its service first. The former database is kept beside it.
    """
    from accounting_analytics.service.backup import restore as restore_backup

    checked, kept = restore_backup(file, database)
    print_message(
        f"restored: every invariant holds in {checked.entries:,} entries, {checked.lines:,} lines and "
        f"{checked.changes:,} changes of {checked.instances:,} instance(s)"
    )
    if kept is not None:
        print_message(f"the former database is kept as {kept}")


def migrate(
    database: Database,
    *,
    backup_made: Annotated[
        bool, typer.Option("--backup-made", help="You made a backup with pg_dump; required for PostgreSQL.")
    ] = False,
) -> None:
    """Migrate a database of an older version, after a backup.

    An SQLite file is backed up beside it first. Commands that write into one do the same by themselves; PostgreSQL is
    migrated by this command only.
    """
    from accounting_analytics.service.storage.store import migrate_database

    migration = migrate_database(database, backup_made=backup_made)
    if migration.before == migration.after:
        print_message(f"nothing to do: the database has version {migration.after}, which this program needs")
        return
    kept = f"; the books as they were are in {migration.backup}" if migration.backup else ""
    print_message(f"migrated the database from version {migration.before} to version {migration.after}{kept}")


def import_books(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Line CSV or Parquet, or the CSV of `hledger print -O csv`.",
            exists=True,
            dir_okay=False,
            readable=True,
        ),
    ],
    database: Database,
    instance: Annotated[
        str | None, typer.Option("--instance", help="Instance to import into; an empty database gets this one.")
    ] = None,
    cash: Annotated[
        list[str] | None,
        typer.Option(
            "--cash", metavar="PATTERN", help="Accounts that report cash flow, such as 'assets:bank*'; repeatable."
        ),
    ] = None,
    commodity: Annotated[str | None, typer.Option("--commodity", help="Import entries in this commodity only.")] = None,
    time_zone: TimeZone = None,
    *,
    no_cash: Annotated[
        bool, typer.Option("--no-cash", help="Import although no account would report cash flow.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import books from a file: either all of it or nothing."""
    from accounting_analytics.client.connect import load_settings
    from accounting_analytics.service.bookkeeping.instances import instance_to_fill
    from accounting_analytics.service.imports import import_books as imports
    from accounting_analytics.service.storage.store import Store

    with Store.open(database) as store, instance_to_fill(store, instance) as target:
        summary = imports.import_books(
            store,
            target,
            file,
            time_zone=load_settings(time_zone=time_zone)["time_zone"],
            cash=cash or (),
            commodity=commodity,
            require_cash=not no_cash,
        )
        name = store.name
    for note in summary.notes:
        print_message(note)
    print_message(f"imported; to serve it: {command_line('serve', database=name)}")
    print_mapping(asdict(summary), as_json=as_json)
