"""The commands ``import``, ``backup`` and ``restore``: whole databases of the embedded service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accounting_analytics.cli.options import (
    AsJson,
    Database,
    TimeZone,
)
from accounting_analytics.cli.output import command_line, print_json, print_mapping, print_message, print_rows
from accounting_analytics.messages import count_of

if TYPE_CHECKING:
    from accounting_analytics.service.imports.import_books import ImportSummary


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
    """Replace a database by a backup; stop its service first."""
    from accounting_analytics.service.backup import restore as restore_backup

    restore_backup(file, database)
    print_message(f"restored; to check its books: {command_line('serve', '--check', database=database)}")


def import_books(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A journal of hledger, ledger or beancount, or a line table (CSV or Parquet).",
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
    roots: Annotated[
        list[str] | None,
        typer.Option("--root", metavar="OLD=NEW", help="Begin paths of a journal so: me:assets=assets; repeatable."),
    ] = None,
    scale: Annotated[
        int | None, typer.Option("--scale", metavar="DIGITS", help="Fraction digits of a new database; 2 by default.")
    ] = None,
    time_zone: TimeZone = None,
    *,
    virtual: Annotated[bool, typer.Option("--virtual", help="Import virtual postings of a journal too.")] = False,
    use_entry_dates: Annotated[
        bool,
        typer.Option(
            "--use-entry-dates", help="Import entries whose postings have several days on the day of the entry."
        ),
    ] = False,
    no_cash: Annotated[
        bool, typer.Option("--no-cash", help="Import although no account would report cash flow.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Import nothing: print the accounts, entries and sums, or every problem."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import the new entries of a file of books: all or nothing."""
    from accounting_analytics.client.settings import load_settings
    from accounting_analytics.service.bookkeeping.instances import instance_to_fill
    from accounting_analytics.service.imports.import_books import import_books as import_file
    from accounting_analytics.service.imports.import_books import instance_to_preview
    from accounting_analytics.service.storage.store import Store

    def import_into(store: Store, target: str) -> ImportSummary:
        return import_file(
            store,
            target,
            file,
            time_zone=load_settings(time_zone=time_zone)["time_zone"],
            cash=cash or (),
            commodity=commodity,
            virtual=virtual,
            use_entry_dates=use_entry_dates,
            roots=[_root(text) for text in roots or ()],
            require_cash=not no_cash,
            dry_run=dry_run,
        )

    if dry_run:
        with _problems_printed(as_json=as_json), instance_to_preview(database, instance, scale=scale) as books:
            summary = import_into(*books)
    else:
        with Store.open(database) as store, instance_to_fill(store, instance, scale=scale) as target:
            summary = import_into(store, target)
        print_message(f"imported; to serve it: {command_line('serve', database=store.name)}")
    _print_summary(summary, with_accounts=dry_run, as_json=as_json)


def _root(text: str) -> tuple[str, str]:
    """Return the two beginnings of paths in ``OLD=NEW``."""
    old, equals, new = (part.strip() for part in text.rpartition("="))
    if not (old and equals and new):
        raise typer.BadParameter(f"{text!r} is not OLD=NEW, such as me:assets=assets", param_hint="--root")
    return old, new


@contextmanager
def _problems_printed(*, as_json: bool) -> Iterator[None]:
    """Print every problem of a refused file, before the message that counts them."""
    from accounting_analytics.errors import ImportRefusedError

    try:
        yield
    except ImportRefusedError as error:
        problems = [dict(zip(_PROBLEM, problem, strict=True)) for problem in error.problems]
        if as_json:
            print_json({"problems": problems})
        else:
            for problem in problems:
                entry = " ".join(filter(None, [problem["date"], problem["description"]]))
                place = ", ".join(filter(None, [problem["file"], problem["line"], entry]))
                typer.echo(f"{place}: {problem['problem']}")
        raise ImportRefusedError(f"an import would be refused: {count_of(len(problems), 'problem')}") from error


def _print_summary(summary: ImportSummary, *, with_accounts: bool, as_json: bool) -> None:
    """Print what was, or would be, imported: notes, differences from the books, accounts and counts."""
    for note in summary.notes:
        print_message(note)
    if summary.known:
        print_message(f"{summary.known} entries are in the books already and were left out")
    for change in summary.changed:
        print_message(f"changed in the file, not in the books: {change}")
    for entry in summary.missing:
        print_message(f"in the books, not in the file any more: {entry}")
    row = {name: value for name, value in summary.to_row().items() if as_json or name not in _IN_MESSAGES}
    if with_accounts and as_json:
        row["accounts"] = [asdict(account) for account in summary.accounts]
    elif with_accounts:
        print_rows(summary.accounts, as_json=False, optional=["is_new", "lines"])
    print_mapping(row, as_json=as_json)


_PROBLEM = ("file", "line", "date", "description", "problem")
_IN_MESSAGES = ("known", "changed", "missing", "notes")
