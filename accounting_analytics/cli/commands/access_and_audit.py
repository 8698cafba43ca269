"""The commands ``tokens`` and ``audit``: who may use the embedded service, and what was changed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.options import (
    AsJson,
    Database,
    Instance,
    Label,
    PeriodText,
    TimeZone,
)
from accounting_analytics.cli.output import print_message, print_rows
from accounting_analytics.cli.service_or_demo import configured_zone, open_database

_OPTIONAL = ["instance_id", "created_at"]

tokens = typer.Typer(help="Access tokens of the embedded service.", no_args_is_help=True)


@tokens.command("issue")
def issue_token(
    database: Database,
    token_file: Annotated[
        Path, typer.Option("--token-file", help="New file for the token, readable by you only.", show_default=False)
    ],
    instance: Instance = None,
    lifetime: Annotated[
        float | None, typer.Option("--lifetime", help="Seconds until it expires; default: never.")
    ] = None,
    label: Label = "",
) -> None:
    """Issue an access token into a new file that only you can read."""
    from accounting_analytics.service.auth import check_new_file, save_new_token
    from accounting_analytics.service.bookkeeping.instances import choose_instance

    check_new_file(token_file)
    with open_database(database) as store:
        save_new_token(store, choose_instance(store, instance), token_file, lifetime=lifetime, label=label)
    setting = f"ACCOUNTING_ANALYTICS_TOKEN_FILE={shlex.quote(str(token_file.absolute()))}"
    print_message(f"the access token is in {token_file}; to use it: export {setting}")


@tokens.command("list")
def list_tokens(database: Database, instance: Instance = None, *, as_json: AsJson = False) -> None:
    """List access tokens by their keys; the secrets are not stored."""
    from accounting_analytics.service import auth

    with open_database(database) as store:
        print_rows(auth.list_tokens(store, instance), as_json=as_json, optional=_OPTIONAL)


@tokens.command("revoke")
def revoke_token(
    database: Database,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of the token, as shown by `tokens list`.")],
) -> None:
    """Revoke an access token: the next request with it is refused."""
    from accounting_analytics.service import auth

    with open_database(database) as store:
        auth.revoke_token(store, key)
    print_message(f"token {key.partition('.')[0]} is revoked")


_OPTIONAL_OF_CHANGES = ["before_ids", "after_ids", "number", "actor", "operation", "transaction_id"]

audit = typer.Typer(help="The audit log in a database of the embedded service.", no_args_is_help=True)


@audit.command("list")
def list_changes(
    database: Database,
    instance: Instance = None,
    transaction: Annotated[
        str | None, typer.Option("--transaction", help="Only changes of this transaction id.")
    ] = None,
    modified_by: Annotated[str | None, typer.Option("--modified-by", help="Only changes by this user.")] = None,
    start_date: Annotated[
        str | None, typer.Option("--start-date", metavar="DATE", help="Only changes on or after this day.")
    ] = None,
    end_date: Annotated[
        str | None, typer.Option("--end-date", metavar="DATE", help="Only changes up to this day, inclusive.")
    ] = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="Largest number of changes; the newest are listed.")
    ] = 50,
    *,
    as_json: AsJson = False,
) -> None:
    """List changes of the books, newest first.

    Who changed which transaction when, and from which ledger to which.
    """
    from accounting_analytics.service.bookkeeping import audit_log
    from accounting_analytics.service.bookkeeping.instances import choose_instance

    zone = configured_zone(time_zone)
    first, last = DayOptions(start_date, end_date, period).optional_dates(zone)
    chosen = audit_log.ChangeFilter(transaction, modified_by, first, last, zone)
    with open_database(database) as store:
        changes, total = audit_log.list_changes(store, choose_instance(store, instance), chosen, limit=limit)
    print_rows(changes, as_json=as_json, optional=_OPTIONAL_OF_CHANGES)
    if total > len(changes):
        print_message(f"the newest {len(changes):,} of {total:,} changes; more with --limit {total}")
