"""Commands that administer the books of the embedded service: instances, access tokens, OAuth clients, the check.

Every command imports what it needs when it runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accounting_analytics.cli.options import Database
from accounting_analytics.cli.output import say
from accounting_analytics.errors import BooksDoNotTieError, ConfigurationError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accounting_analytics.service.storage.store import Store

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Instance = Annotated[str | None, typer.Option("--instance", help="The instance; needed where there are several.")]
Label = Annotated[str, typer.Option("--label", help="Name for people.")]
TokenFile = Annotated[
    Path, typer.Option("--token-file", help="New file for the token, readable by you only.", show_default=False)
]
SecretFile = Annotated[
    Path, typer.Option("--secret-file", help="New file for the secret, readable by you only.", show_default=False)
]

instances = typer.Typer(help="Sets of books in a database of the embedded service.", no_args_is_help=True)
tokens = typer.Typer(help="Access tokens of the embedded service.", no_args_is_help=True)
clients = typer.Typer(help="OAuth clients of the embedded service, which get tokens themselves.", no_args_is_help=True)


@instances.command("create")
def create_instance(
    database: Database,
    name: Annotated[str, typer.Option("--name", help="Name for people.")] = "books",
    instance: Annotated[str | None, typer.Option("--instance", help="Identifier to use.")] = None,
    tier: Annotated[int, typer.Option("--tier", help="Subscription tier, 1 to 3.")] = 3,
    scale: Annotated[int, typer.Option("--scale", help="Fraction digits of the currency.")] = 2,
    localtime: Annotated[str, typer.Option("--localtime", help="Zone that `localtime` means.")] = "UTC",
    entries_start: Annotated[
        str | None, typer.Option("--entries-start", help="First day of the books; asking before it is refused.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="New file for an access token, readable by you only.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Create an instance: an empty set of books with its four required ledgers."""
    from accounting_analytics.periods import parse_date
    from accounting_analytics.service.auth.secret_files import check_new_file, save_new_token
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
            except ConfigurationError as error:
                msg = f"{error}; instance {created!r} was made all the same, see: tokens issue"
                raise ConfigurationError(msg) from error
        _print([one for one in store.instances() if one.id == created], as_json=as_json)


@instances.command("list")
def list_instances(database: Database, *, as_json: AsJson = False) -> None:
    """List the instances of a database."""
    with _existing(database) as store:
        _print(store.instances(), as_json=as_json)


@tokens.command("issue")
def issue_token(
    database: Database,
    token_file: TokenFile,
    instance: Instance = None,
    lifetime: Annotated[
        float | None, typer.Option("--lifetime", help="Seconds until it expires; never, if left out.")
    ] = None,
    label: Label = "",
) -> None:
    """Issue an access token into a file that only you can read."""
    from accounting_analytics.service.auth.secret_files import check_new_file, save_new_token
    from accounting_analytics.service.bookkeeping.instances import choose_instance

    check_new_file(token_file)
    with _existing(database) as store:
        save_new_token(store, choose_instance(store, instance), token_file, lifetime=lifetime, label=label)
    say(f"an access token is in {token_file}; to use it: export ACCOUNTING_ANALYTICS_TOKEN_FILE={token_file}")


@tokens.command("list")
def list_tokens(database: Database, instance: Instance = None, *, as_json: AsJson = False) -> None:
    """List access tokens by their keys; the secrets are not kept."""
    from accounting_analytics.service.auth import access_tokens

    with _existing(database) as store:
        _print(access_tokens.list_tokens(store, instance), as_json=as_json)


@tokens.command("revoke")
def revoke_token(
    database: Database, key: Annotated[str, typer.Argument(help="Key of the token, as `tokens list` shows it.")]
) -> None:
    """Revoke an access token: it opens nothing from the next request on."""
    from accounting_analytics.service.auth import access_tokens

    with _existing(database) as store:
        access_tokens.revoke_token(store, key)
    say(f"token {key.partition('.')[0]} is revoked")


@clients.command("issue")
def issue_client(database: Database, secret_file: SecretFile, instance: Instance = None, label: Label = "") -> None:
    """Make an OAuth client and print its id; its secret goes into a file that only you can read."""
    from accounting_analytics.service.auth.secret_files import check_new_file, save_new_client
    from accounting_analytics.service.bookkeeping.instances import choose_instance

    check_new_file(secret_file)
    with _existing(database) as store:
        typer.echo(save_new_client(store, choose_instance(store, instance), secret_file, label=label))
    say(f"its secret is in {secret_file}; access tokens come from POST /oauth/token of the service")


@clients.command("list")
def list_clients(database: Database, instance: Instance = None, *, as_json: AsJson = False) -> None:
    """List OAuth clients; the secrets are not kept."""
    from accounting_analytics.service.auth import oauth_clients

    with _existing(database) as store:
        _print(oauth_clients.list_clients(store, instance), as_json=as_json)


@clients.command("revoke")
def revoke_client(
    database: Database, client_id: Annotated[str, typer.Argument(help="The client, as `clients list` shows it.")]
) -> None:
    """Revoke an OAuth client and every token it holds."""
    from accounting_analytics.service.auth import oauth_clients

    with _existing(database) as store:
        oauth_clients.revoke_client(store, client_id)
    say(f"client {client_id} and its tokens are revoked")


def check(database: str, *, as_json: bool) -> None:
    """Check every invariant of a database, and print what is broken.

    Raises
    ------
    BooksDoNotTieError
        Something is; nothing was changed.
    """
    import pandas as pd

    from accounting_analytics.cli.terminal import print_json, print_table
    from accounting_analytics.service.check import check_books

    with _existing(database) as store:
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
    say(f"every invariant holds: {counts} of {name}")


@contextmanager
def _existing(database: str) -> Iterator[Store]:
    """Open a database that is there: a list or a check makes none."""
    from accounting_analytics.service.storage.store import Store

    if "://" not in database and not Path(database).exists():
        msg = f"there is no database {database}; make one with: accounting-analytics instances create"
        raise InputError(msg)
    with Store.open(database, create=False) as store:
        yield store


def _print(rows: Sequence[Any], *, as_json: bool) -> None:
    """Print dataclasses as a table, without what is internal."""
    import pandas as pd

    from accounting_analytics.cli.terminal import print_json, print_table

    shown = [{field.name: getattr(row, field.name) for field in fields(row) if field.name != "pk"} for row in rows]
    frame = pd.DataFrame(shown, dtype=object)
    if as_json:
        print_json(frame)
    elif shown:
        print_table(frame)
    else:
        say("there are none")
