"""The command ``serve``: serve the books of a database, or check them."""

from __future__ import annotations

import typer

from accounting_analytics.cli.options import (
    AccessLog,
    AllowRemote,
    AsJson,
    Check,
    Database,
    Faults,
    FaultSeed,
    Host,
    IssuedLifetime,
    Port,
    PublicHosts,
    RequestsPerMinute,
    ServedLocaltime,
)
from accounting_analytics.cli.output import print_message
from accounting_analytics.errors import BooksDoNotTieError


def serve(
    database: Database,
    host: Host = "127.0.0.1",
    port: Port = 0,
    localtime: ServedLocaltime = None,
    public_host: PublicHosts = None,
    requests_per_minute: RequestsPerMinute = None,
    token_lifetime: IssuedLifetime = 3600,
    faults: Faults = None,
    fault_seed: FaultSeed = 1,
    *,
    allow_remote: AllowRemote = False,
    access_log: AccessLog = False,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Serve the books of a database, or check them.

    The database is served as a Ledger Accounting Service until the command is stopped.
    """
    if check:
        _check_database(database, as_json=as_json)
        return
    if as_json:
        msg = "--json requires --check."
        raise typer.BadParameter(msg)
    import logging

    from accounting_analytics.service.web.request_guard import show_access_log
    from accounting_analytics.service.web.server import serve as serve_books
    from accounting_analytics.service.web.service_options import ServiceOptions

    logging.raiseExceptions = False  # a log on a full disk loses lines, and gets no traceback when there is space again
    if access_log:
        show_access_log()
    options = ServiceOptions(
        host=host,
        port=port,
        localtime=localtime,
        allow_remote=allow_remote,
        requests_per_minute=requests_per_minute,
        token_lifetime=token_lifetime,
        public_hosts=public_host or (),
        faults=faults,
        fault_seed=fault_seed,
    )
    serve_books(database, options, echo=typer.echo)


def _check_database(database: str, *, as_json: bool) -> None:
    """Check every invariant of a database, and print the findings.

    Raises
    ------
    BooksDoNotTieError
        There are findings; nothing was changed.
    """
    import pandas as pd

    from accounting_analytics.cli.result_printing import print_json, print_table
    from accounting_analytics.service.check import check_books
    from accounting_analytics.service.storage.store import Store

    with Store.open_read_only(database) as store:
        checked = check_books(store)
        name = store.name
    if as_json:
        print_json(checked._asdict() | {"findings": [finding._asdict() for finding in checked.findings]})
    elif checked.findings:
        print_table(pd.DataFrame(checked.findings))
    counts = (
        f"{checked.entries:,} entries, {checked.lines:,} lines, {checked.ledgers:,} ledgers, "
        f"{checked.changes:,} changes in {checked.instances:,} instance(s)"
    )
    if checked.findings:
        msg = f"{len(checked.findings)} finding(s) in {counts} of {name}; nothing was changed"
        raise BooksDoNotTieError(msg)
    print_message(f"every invariant holds: {counts} of {name}")
