"""The commands ``instances`` and ``ledgers``: sets of books in a database of the service, and their ledgers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from accounting_analytics.cli.options import (
    AsJson,
    Database,
    Instance,
    InstanceToChange,
    ModifiedBy,
)
from accounting_analytics.cli.output import print_message, print_rows
from accounting_analytics.cli.service_or_demo import open_database
from accounting_analytics.errors import ConfigurationError, OperationRefusedError, with_context

instances = typer.Typer(help="Sets of books in a database of the embedded service.", no_args_is_help=True)


@instances.command("create")
def create_instance(
    database: Database,
    name: Annotated[str, typer.Option("--name", help="Display name.")] = "books",
    instance: Annotated[
        str | None, typer.Option("--instance", help="Id of the new instance; default: a random id.")
    ] = None,
    tier: Annotated[int, typer.Option("--tier", help="Subscription tier, 1 to 3.")] = 3,
    scale: Annotated[int, typer.Option("--scale", help="Fraction digits of the currency.")] = 2,
    localtime: Annotated[str, typer.Option("--localtime", metavar="ZONE", help="Zone that `localtime` means.")] = "UTC",
    entries_start: Annotated[
        str | None,
        typer.Option(
            "--entries-start", metavar="DATE", help="First day of the books; requests for earlier days are refused."
        ),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="New file for an access token, readable by you only.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Create an empty set of books with its four required ledgers."""
    from accounting_analytics.periods import parse_date
    from accounting_analytics.service.auth import check_new_file, save_new_token
    from accounting_analytics.service.bookkeeping import instances as new_instances
    from accounting_analytics.service.storage.store import Store

    start = parse_date(entries_start, "--entries-start") if entries_start else None
    if token_file:
        check_new_file(token_file)
    with Store.open(database) as store:
        new = new_instances.NewInstance(name, tier, scale, localtime, entries_start=start, id=instance)
        created = new_instances.create_instance(store, new)
        if token_file:
            try:
                save_new_token(store, created, token_file)
            except (ConfigurationError, OperationRefusedError) as error:
                context = f"instance {created!r} was created without it, run: tokens issue"
                raise with_context(error, context) from error.__cause__
        print_rows([row for row in store.instances() if row.id == created], as_json=as_json)


@instances.command("list")
def list_instances(database: Database, *, as_json: AsJson = False) -> None:
    """List the instances of a database."""
    with open_database(database) as store:
        print_rows(store.instances(), as_json=as_json, optional=["entries_start", "localtime"])


@instances.command("set-tier")
def set_tier(
    database: Database,
    instance: InstanceToChange,
    tier: Annotated[int, typer.Option("--tier", help="Subscription tier, 1 to 3.", show_default=False)],
) -> None:
    """Change the subscription tier of an instance.

    A running service applies it to the next request.
    """
    from accounting_analytics.service.bookkeeping import instances as existing

    with open_database(database) as store:
        existing.set_tier(store, instance, tier)
    print_message(f"instance {instance} has tier {tier}")


_OPTIONAL = ["name", "is_required", "debit_credit", "sub_type", "sort_code", "report_cash_flow", "type"]

ledgers = typer.Typer(help="Ledgers in a database of the embedded service.", no_args_is_help=True)


@ledgers.command("list")
def list_ledgers(database: Database, instance: Instance = None, *, as_json: AsJson = False) -> None:
    """List the ledgers of an instance with their ids and paths."""
    from accounting_analytics.service.bookkeeping import ledgers as ledgers_of_books
    from accounting_analytics.service.bookkeeping.instances import choose_instance

    with open_database(database) as store:
        listed = ledgers_of_books.list_ledgers(store, choose_instance(store, instance))
    print_rows(listed, as_json=as_json, optional=_OPTIONAL)


@ledgers.command("rename")
def rename_ledger(
    database: Database,
    ledger: Annotated[
        str, typer.Argument(metavar="LEDGER", help="Id, unique name or path of the ledger.", show_default=False)
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.", show_default=False)],
    instance: Instance = None,
    modified_by: ModifiedBy = None,
) -> None:
    """Change the name of a ledger, also of a required one.

    The audit log keeps the old name.
    """
    from accounting_analytics.messages import quote
    from accounting_analytics.service.bookkeeping import ledgers as ledgers_of_books
    from accounting_analytics.service.bookkeeping.instances import choose_instance

    with open_database(database) as store:
        chosen = choose_instance(store, instance)
        before = ledgers_of_books.rename_ledger(store, chosen, ledger, name, modified_by=modified_by)
    print_message(f"ledger {before.id}: {quote(before.name)} is now {quote(name)}")
