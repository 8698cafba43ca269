"""Commands of the embedded service: the demo company, serving books, importing them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from accounting_analytics.cli import administration
from accounting_analytics.cli.options import AsJson, Database, Output, TimeZone
from accounting_analytics.cli.output import print_mapping, say


def demo(
    output: Output = Path("demo-output"),
    *,
    lab: Annotated[
        bool, typer.Option("--lab", help="Open JupyterLab on the notebooks, with the demo company.")
    ] = False,
) -> None:
    """Run the whole loop on a small company: load, certify, recompute, reconcile, chart, export."""
    from accounting_analytics.demo_company import open_lab, run_demo

    if lab:
        raise typer.Exit(open_lab())
    run_demo(output, echo=typer.echo)


def serve(
    database: Database,
    host: Annotated[str, typer.Option("--host", help="Address to bind to.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port; 0 takes a free one.")] = 0,
    localtime: Annotated[str | None, typer.Option("--localtime", help="Zone that `localtime` means.")] = None,
    public_host: Annotated[
        list[str] | None,
        typer.Option("--public-host", help="Host name that requests may carry, behind a proxy; repeatable."),
    ] = None,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            "--requests-per-minute", min=1, help="Limit for each instance (320 is documented); none if left out."
        ),
    ] = None,
    token_lifetime: Annotated[
        float, typer.Option("--token-lifetime", help="Seconds that a token from /oauth/token lives.")
    ] = 3600,
    faults: Annotated[
        str | None,
        typer.Option("--faults", help="Faults to play on purpose, for tests: http_503:p=0.1,empty_page:every=5,..."),
    ] = None,
    fault_seed: Annotated[int, typer.Option("--fault-seed", help="Which of the requests the faults hit.")] = 1,
    *,
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="Let other machines reach it.")] = False,
    access_log: Annotated[bool, typer.Option("--access-log", help="Say every request on stderr.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Serve nothing: check every invariant of the books.")] = False,
    as_json: AsJson = False,
) -> None:
    """Serve the books of a database as a Ledger Accounting Service, until stopped; or check them."""
    if check:
        administration.check(database, as_json=as_json)
        return
    if as_json:
        msg = "--json goes with --check only."
        raise typer.BadParameter(msg)
    from accounting_analytics.service.web.request_guard import show_access_log
    from accounting_analytics.service.web.server import serve as serve_books

    if access_log:
        show_access_log()
    serve_books(
        database,
        host=host,
        port=port,
        localtime=localtime,
        allow_remote=allow_remote,
        requests_per_minute=requests_per_minute,
        token_lifetime=token_lifetime,
        public_hosts=public_host or (),
        faults=faults,
        seed=fault_seed,
        echo=typer.echo,
    )


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="Line CSV or Parquet, or the CSV of `hledger print -O csv`.",
            exists=True,
            dir_okay=False,
            readable=True,
        ),
    ],
    database: Database,
    instance: Annotated[
        str | None, typer.Option("--instance", help="Instance to import into; a database without one gets it.")
    ] = None,
    cash: Annotated[
        list[str] | None, typer.Option("--cash", help="Accounts that report cash flow; may be given several times.")
    ] = None,
    commodity: Annotated[str | None, typer.Option("--commodity", help="Keep entries in this commodity only.")] = None,
    time_zone: TimeZone = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Import books from a file; all of it, or nothing."""
    from accounting_analytics.service.bookkeeping.instances import choose_or_create_instance
    from accounting_analytics.service.imports.import_books import import_books
    from accounting_analytics.service.storage.store import Store

    with Store.open(database) as store:
        into = choose_or_create_instance(store, instance)
        summary = import_books(store, into, file, time_zone=time_zone or "UTC", cash=cash or (), commodity=commodity)
        name = store.name
    for note in summary.notes:
        say(note)
    say(f"imported; now serve it: accounting-analytics serve --database {name}")
    print_mapping(asdict(summary), as_json=as_json)
