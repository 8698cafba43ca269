"""The commands ``clients``: OAuth clients of the embedded service, which get their own access tokens."""

from __future__ import annotations

import typer

from accounting_analytics.cli.options import AsJson, ClientId, Database, Instance, Label, SecretFile
from accounting_analytics.cli.output import print_message, print_rows

_OPTIONAL = ["instance_id", "created_at"]

clients = typer.Typer(help="OAuth clients of the embedded service.", no_args_is_help=True)


@clients.command("issue")
def issue_client(database: Database, secret_file: SecretFile, instance: Instance = None, label: Label = "") -> None:
    """Create an OAuth client and print its id.

    Its secret goes into a new file that only you can read.
    """
    from accounting_analytics.service.auth.issue_to_file import check_new_file, save_new_client
    from accounting_analytics.service.bookkeeping.instances import choose_instance
    from accounting_analytics.service.storage.store import Store

    check_new_file(secret_file)
    with Store.open(database, create=False) as store:
        typer.echo(save_new_client(store, choose_instance(store, instance), secret_file, label=label))
    print_message(f"the secret is in {secret_file}; get access tokens with POST /oauth/token of the service")


@clients.command("list")
def list_clients(database: Database, instance: Instance = None, *, as_json: AsJson = False) -> None:
    """List OAuth clients; the secrets are not stored."""
    from accounting_analytics.service.auth import oauth_clients
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        print_rows(oauth_clients.list_clients(store, instance), as_json=as_json, optional=_OPTIONAL)


@clients.command("revoke")
def revoke_client(database: Database, client_id: ClientId) -> None:
    """Revoke an OAuth client and all tokens issued to it."""
    from accounting_analytics.service.auth import oauth_clients
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        oauth_clients.revoke_client(store, client_id)
    print_message(f"client {client_id} and its tokens are revoked")
