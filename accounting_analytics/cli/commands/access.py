"""The commands ``tokens`` and ``clients``: who may use the embedded service."""

from __future__ import annotations

import shlex

import typer

from accounting_analytics.cli.options import (
    AsJson,
    ClientId,
    Database,
    Instance,
    Label,
    Lifetime,
    SecretFile,
    TokenFile,
    TokenKey,
)
from accounting_analytics.cli.output import print_message, print_rows

_OPTIONAL = ["client_id", "instance_id", "created_at"]

tokens = typer.Typer(help="Access tokens of the embedded service.", no_args_is_help=True)


@tokens.command("issue")
def issue_token(
    database: Database,
    token_file: TokenFile,
    instance: Instance = None,
    lifetime: Lifetime = None,
    label: Label = "",
) -> None:
    """Issue an access token into a new file that only you can read."""
    from accounting_analytics.service.auth.issue_to_file import check_new_file, save_new_token
    from accounting_analytics.service.bookkeeping.instances import choose_instance
    from accounting_analytics.service.storage.store import Store

    check_new_file(token_file)
    with Store.open(database, create=False) as store:
        save_new_token(store, choose_instance(store, instance), token_file, lifetime=lifetime, label=label)
    setting = f"ACCOUNTING_ANALYTICS_TOKEN_FILE={shlex.quote(str(token_file.absolute()))}"
    print_message(f"the access token is in {token_file}; to use it: export {setting}")


@tokens.command("list")
def list_tokens(database: Database, instance: Instance = None, *, as_json: AsJson = False) -> None:
    """List access tokens by their keys; the secrets are not stored."""
    from accounting_analytics.service.auth import access_tokens
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        print_rows(access_tokens.list_tokens(store, instance), as_json=as_json, optional=_OPTIONAL)


@tokens.command("revoke")
def revoke_token(database: Database, key: TokenKey) -> None:
    """Revoke an access token: the next request with it is refused."""
    from accounting_analytics.service.auth import access_tokens
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        access_tokens.revoke_token(store, key)
    print_message(f"token {key.partition('.')[0]} is revoked")


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
        print_rows(oauth_clients.list_clients(store, instance), as_json=as_json, optional=_OPTIONAL[1:])


@clients.command("revoke")
def revoke_client(database: Database, client_id: ClientId) -> None:
    """Revoke an OAuth client and all tokens issued to it."""
    from accounting_analytics.service.auth import oauth_clients
    from accounting_analytics.service.storage.store import Store

    with Store.open(database, create=False) as store:
        oauth_clients.revoke_client(store, client_id)
    print_message(f"client {client_id} and its tokens are revoked")
