"""The command ``backup``: a copy of a database, made while it is served."""

from __future__ import annotations

from accounting_analytics.cli.options import Database, NewBackup
from accounting_analytics.cli.output import command_line, print_message


def backup(file: NewBackup, database: Database) -> None:
    """Back up a database to a file, also while it is served."""
    from accounting_analytics.service.backup import back_up

    back_up(database, file)
    print_message(f"backed up; to check and restore it: {command_line('restore', file, database=database)}")
