"""The command ``serve``: serve the books of a database, or check them."""

from __future__ import annotations

from typing import Annotated

import typer

from accounting_analytics.cli.options import (
    AsJson,
    Database,
)
from accounting_analytics.cli.output import print_json, print_message
from accounting_analytics.errors import BooksDoNotTieError
from accounting_analytics.messages import count_of


def serve(
    database: Database,
    host: Annotated[str, typer.Option("--host", help="Address to bind to.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port; 0 means any free port.")] = 0,
    localtime: Annotated[
        str | None,
        typer.Option(
            "--localtime", metavar="ZONE", help="Zone that `localtime` means; default: that of each instance."
        ),
    ] = None,
    public_host: Annotated[
        list[str] | None,
        typer.Option(
            "--public-host", metavar="HOST", help="Host name that requests may carry, behind a proxy; repeatable."
        ),
    ] = None,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            "--requests-per-minute",
            metavar="N",
            min=1,
            help="Rate limit of each instance (the documented limit is 320); default: no limit.",
        ),
    ] = None,
    *,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Accept connections from other machines; put a reverse proxy in front."),
    ] = False,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request on stderr.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Do not serve: check every invariant of the books.")] = False,
    as_json: AsJson = False,
) -> None:
    """Serve the books of a database, or check them.

    The database is served as a Ledger Accounting Service until the command is stopped.
    """
    if check:
        _check_database(database, as_json=as_json)
        return
    if as_json:
        raise typer.BadParameter("--json requires --check.")
    import logging

    from accounting_analytics.service.web.access_log import show_access_log
    from accounting_analytics.service.web.app import ServiceOptions
    from accounting_analytics.service.web.server import serve as serve_books

    logging.raiseExceptions = False  # a log on a full disk loses lines, and gets no traceback when there is space again
    if access_log:
        show_access_log()
    options = ServiceOptions(
        host=host,
        port=port,
        localtime=localtime,
        allow_remote=allow_remote,
        requests_per_minute=requests_per_minute,
        public_hosts=public_host or (),
    )
    serve_books(database, options, echo=typer.echo)


def _check_database(database: str, *, as_json: bool) -> None:
    """Check every invariant of a database, and print the findings."""
    import pandas as pd

    from accounting_analytics.cli.terminal_tables import print_table
    from accounting_analytics.service.check import check_books
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        checked = check_books(store)
        name = store.name
    if as_json:
        print_json(checked._asdict() | {"findings": [finding._asdict() for finding in checked.findings]})
    elif checked.findings:
        print_table(pd.DataFrame(checked.findings))
    counts = (
        f"{checked.entries:,} entries, {checked.lines:,} lines, {checked.ledgers:,} ledgers, "
        f"{checked.changes:,} changes in {count_of(checked.instances, 'instance')}"
    )
    if checked.findings:
        raise BooksDoNotTieError(
            f"{count_of(len(checked.findings), 'finding')} in {counts} of {name}; nothing was changed"
        )
    print_message(f"every invariant holds: {counts} of {name}")
