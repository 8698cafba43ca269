"""The commands ``backup``, ``restore`` and ``migrate``: whole databases of the embedded service."""

from __future__ import annotations

from accounting_analytics.cli.options import Backup, BackupMade, Database, NewBackup
from accounting_analytics.cli.output import command_line, print_message


def backup(file: NewBackup, database: Database) -> None:
    """Back up a database to a file, also while it is served."""
    from accounting_analytics.service.backup import back_up

    back_up(database, file)
    print_message(f"backed up; to check and restore it: {command_line('restore', file, database=database)}")


def restore(file: Backup, database: Database) -> None:
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


def migrate(database: Database, *, backup_made: BackupMade = False) -> None:
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
