"""The command ``migrate``: a database of an older version to the version of this program."""

from __future__ import annotations

from accounting_analytics.cli.options import BackupMade, Database
from accounting_analytics.cli.output import print_message


def migrate(database: Database, *, backup_made: BackupMade = False) -> None:
    """Migrate a database of an older version, after a backup.

    An SQLite file is backed up beside it first. Commands that write into one do the same by themselves; PostgreSQL is
    migrated by this command only.
    """
    from accounting_analytics.service.storage.databases import migrate_database

    migration = migrate_database(database, backup_made=backup_made)
    if migration.before == migration.after:
        print_message(f"nothing to do: the database has version {migration.after}, which this program needs")
        return
    kept = f"; the books as they were are in {migration.backup}" if migration.backup else ""
    print_message(f"migrated the database from version {migration.before} to version {migration.after}{kept}")
