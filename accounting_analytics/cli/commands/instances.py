"""The commands ``instances``: sets of books in a database of the embedded service."""

from __future__ import annotations

import typer

from accounting_analytics.cli.options import (
    AsJson,
    Database,
    EntriesStart,
    InstanceName,
    InstanceTokenFile,
    Localtime,
    NewInstance,
    Scale,
    Tier,
)
from accounting_analytics.cli.output import print_rows
from accounting_analytics.errors import ConfigurationError, OperationRefusedError, with_context

instances = typer.Typer(help="Sets of books in a database of the embedded service.", no_args_is_help=True)


@instances.command("create")
def create_instance(
    database: Database,
    name: InstanceName = "books",
    instance: NewInstance = None,
    tier: Tier = 3,
    scale: Scale = 2,
    localtime: Localtime = "UTC",
    entries_start: EntriesStart = None,
    token_file: InstanceTokenFile = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Create an instance: an empty set of books with its four required ledgers."""
    from accounting_analytics.periods import parse_date
    from accounting_analytics.service.auth.issue_to_file import check_new_file, save_new_token
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
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        print_rows(store.instances(), as_json=as_json)
