"""The command ``restore``: a backup in the place of a database, after a check."""

from __future__ import annotations

from accounting_analytics.cli.options import Backup, Database
from accounting_analytics.cli.output import print_message


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
