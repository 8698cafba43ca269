"""The command ``import``: books from a file into a database of the embedded service."""

from __future__ import annotations

from dataclasses import asdict

from accounting_analytics.cli.options import (
    AsJson,
    BooksFile,
    CashAccounts,
    Commodity,
    Database,
    ImportInstance,
    NoCash,
    TimeZone,
)
from accounting_analytics.cli.output import command_line, print_mapping, print_message


def import_books(
    file: BooksFile,
    database: Database,
    instance: ImportInstance = None,
    cash: CashAccounts = None,
    commodity: Commodity = None,
    time_zone: TimeZone = None,
    *,
    no_cash: NoCash = False,
    as_json: AsJson = False,
) -> None:
    """Import books from a file: either all of it or nothing."""
    from accounting_analytics.client.settings import load_settings
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
