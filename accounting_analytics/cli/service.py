"""Commands of the embedded service: serve, import, and who may use which instance."""

from __future__ import annotations

import logging
import shlex
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.types import ExistingFile, PositiveInt

from accounting_analytics import service
from accounting_analytics.cli.declarations import SERVICE, command, commands
from accounting_analytics.cli.options import DatabaseOption, Date, InstanceOption, Json
from accounting_analytics.cli.output import (
    command_line,
    print_json,
    print_mapping,
    print_message,
    print_records,
)
from accounting_analytics.core.errors import (
    ImportRefusedError,
    InputError,
)
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.periods import parse_date

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROBLEM = ("file", "line", "date", "description", "problem")
_IN_MESSAGES = ("known", "missing", "notes")


@command(SERVICE)
def serve(
    *,
    database: DatabaseOption,
    host: str = "127.0.0.1",
    port: int = 0,
    public_host: tuple[str, ...] = (),
    requests_per_minute: PositiveInt | None = None,
    allow_remote: bool = False,
) -> None:
    """Serve the books of a database.

    It is a Ledger Accounting Service until the command is stopped.

    Parameters
    ----------
    host
        Address to bind to; 127.0.0.1 by default.
    port
        Port; 0, as by default, means any free port.
    public_host
        Host name that requests may carry, behind a proxy; repeatable.
    requests_per_minute
        Rate limit of each instance (the documented limit is 320); unlimited by default.
    allow_remote
        Accept connections from other machines; put a reverse proxy in front.
    """
    logging.raiseExceptions = False  # on a full disk the log loses lines, without a traceback when there is space again
    options = service.ServiceOptions(
        host=host,
        port=port,
        allow_remote=allow_remote,
        requests_per_minute=requests_per_minute,
        public_hosts=public_host,
    )
    service.serve(database.database, options, echo=print)


@contextmanager
def _instance(given: InstanceOption) -> Iterator[tuple[service.Store, str]]:
    """Open a database, and choose its instance."""
    with service.Store.open(given.database, create=False) as store:
        yield store, service.choose_instance(store, given.instance)


@command(SERVICE, "import")
def import_books(
    file: ExistingFile,
    /,
    *,
    database: DatabaseOption,
    instance: str | None = None,
    cash: tuple[str, ...] = (),
    opening_ledgers: Annotated[tuple[str, ...], Parameter(name="--opening-ledger", metavar="PATTERN")] = (),
    commodity: str | None = None,
    roots: Annotated[tuple[str, ...], Parameter(name="--root", metavar="OLD=NEW")] = (),
    scale: int | None = None,
    time_zone: str | None = None,
    company: str | None = None,
    currency: str | None = None,
    virtual: bool = False,
    use_entry_dates: bool = False,
    midnights: Literal["days", "instants"] | None = None,
    no_cash: bool = False,
    dry_run: bool = False,
    as_json: Json = False,
) -> None:
    """Import the new entries of a file of books: all or nothing.

    Parameters
    ----------
    file
        A journal of hledger, ledger or beancount, or a line table (CSV or Parquet).
    instance
        Instance to import into; an empty database gets this one.
    cash
        Accounts that report cash flow, such as 'assets:bank*'; repeatable.
    opening_ledgers
        Accounts of equity whose entries are opening balances, no inflow; repeatable. By default 'equity:opening*', and
        those that a pad of beancount takes balances from.
    commodity
        Import entries in this commodity only.
    roots
        Begin paths of a journal so: me:assets=assets; repeatable.
    scale
        Fraction digits of a new database; as configured by default, or 2.
    time_zone
        IANA name of the zone that days are counted in: of the first import, kept with the books; or as configured.
    company
        Name that statements are headed with; kept with the books until an import states another.
    currency
        Currency of all amounts, such as EUR, which a journal may state itself; kept like the company.
    virtual
        Import virtual postings of a journal too.
    use_entry_dates
        Import entries whose postings have several days on the day of the entry.
    midnights
        What instants that are all midnights of UTC are, as some programs write days: `days` in the zone, or `instants`.
    no_cash
        Import although no account would report cash flow.
    dry_run
        Import nothing: print the accounts, entries and sums, or every problem.
    """
    from accounting_analytics.client.settings import load_settings

    settings, beginnings = load_settings(time_zone=time_zone, scale=scale), [_root(text) for text in roots]
    with service.store_to_fill(database.database, dry_run=dry_run) as store:
        with _problems_printed(dry_run=dry_run, as_json=as_json):
            summary = service.import_books(
                store,
                instance,
                file,
                scale=settings.scale(),
                time_zone=settings["time_zone"],
                company=company,
                currency=currency,
                cash=cash,
                opening_ledgers=opening_ledgers or None,
                commodity=commodity,
                virtual=virtual,
                use_entry_dates=use_entry_dates,
                midnights=midnights,
                roots=beginnings,
                require_cash=not no_cash,
                dry_run=dry_run,
            )
        _print_summary(summary, with_accounts=dry_run, as_json=as_json)
        if not dry_run:
            _print_next_steps(store, summary)


def _print_next_steps(store: service.Store, summary: service.ImportSummary) -> None:
    """Name missing settings, and print how to serve and reach the books."""
    options = {"company": "--company NAME", "currency": "--currency CODE"}
    unknown = [name for name in options if getattr(summary, name) is None]
    if unknown:
        print_message(
            f"Nothing states the {' and the '.join(unknown)} that statements are headed with: repeat this command with "
            f"{' '.join(options[name] for name in unknown)}, which is kept with the books"
        )
    instance = store.instance(summary.instance_id)
    port = service.port_of(instance)
    print_message(f"Imported. To serve it: {command_line('serve', database=store.name, port=port)}")
    for line in service.connection_lines(store, instance, f"http://127.0.0.1:{port}"):
        print_message(line)


def _root(text: str) -> tuple[str, str]:
    """Return the two beginnings of paths that ``OLD=NEW`` states."""
    old, equals, new = (part.strip() for part in text.rpartition("="))
    if not (old and equals and new):
        raise InputError(f"--root: {text!r} is not OLD=NEW, such as me:assets=assets")
    return old, new


@contextmanager
def _problems_printed(*, dry_run: bool, as_json: bool) -> Iterator[None]:
    """Print every problem that a dry run finds in a file.

    The error that follows has the number of problems.
    """
    try:
        yield
    except ImportRefusedError as error:
        if not dry_run:
            raise
        problems = [dict(zip(_PROBLEM, problem, strict=True)) for problem in error.problems]
        if as_json:
            print_json({"problems": problems})
        else:
            for problem in problems:
                entry = " ".join(filter(None, [problem["date"], problem["description"]]))
                place = ", ".join(filter(None, [problem["file"], problem["line"], entry]))
                print(f"{place}: {problem['problem']}")
        raise ImportRefusedError(f"an import would be refused: {count_of(len(problems), 'problem')}") from error


def _print_summary(summary: service.ImportSummary, *, with_accounts: bool, as_json: bool) -> None:
    """Print notes, gaps of the file, accounts and counts of an import."""
    for note in summary.notes:
        print_message(note)
    if summary.known:
        print_message(f"{summary.known} entries are in the books already and were left out")
    for entry in summary.missing:
        print_message(f"in the books, not in the file any more: {entry}")
    row = {
        name: value
        for name, value in summary.to_row().items()
        if as_json or (name not in _IN_MESSAGES and value is not None)
    }
    if with_accounts and as_json:
        row["accounts"] = [asdict(account) for account in summary.accounts]
    elif with_accounts:
        print_records(summary.accounts, as_json=False, optional=["is_new", "lines"])
    print_mapping(row, as_json=as_json)


served = commands(SERVICE, "service", "Look after served books: instances, ledgers, tokens, audit log.")
instances = commands(SERVICE, "instances", "Sets of books in a database.", of=served)


@instances.command(name="create")
def create_instance(
    *,
    database: DatabaseOption,
    name: str = "books",
    instance: str | None = None,
    tier: int = 3,
    scale: int | None = None,
    time_zone: str | None = None,
    company: str | None = None,
    currency: str | None = None,
    entries_start: Date = None,
    token_file: Path | None = None,
    as_json: Json = False,
) -> None:
    """Create an empty set of books with its four required ledgers.

    Parameters
    ----------
    name
        Display name.
    instance
        Id of the new instance; a random id by default.
    tier
        Subscription tier, 1 to 3; 3 by default.
    scale
        Fraction digits of the currency; as configured by default, or 2.
    time_zone
        IANA name of the zone that days are counted in; without it, the first import states it.
    company
        Name that statements are headed with.
    currency
        Currency of all amounts, such as EUR.
    entries_start
        First day of the books; requests for earlier days are refused.
    token_file
        New file for an access token, readable by you only.
    """
    from accounting_analytics.client.settings import load_settings
    from accounting_analytics.core.money import DEFAULT_SCALE

    configured = load_settings(scale=scale).scale()
    digits = DEFAULT_SCALE if configured is None else configured
    start = parse_date(entries_start, "--entries-start") if entries_start else None
    new = service.NewInstance(
        name, tier, digits, time_zone, entries_start=start, id=instance, company=company, currency=currency
    )
    with service.Store.open(database.database) as store:
        created = service.create_instance(store, new, token_file=token_file)
        print_records([row for row in store.instances() if row.id == created], as_json=as_json)


@instances.command(name="list")
def list_instances(*, database: DatabaseOption, as_json: Json = False) -> None:
    """List the instances of a database."""
    with service.Store.open(database.database, create=False) as store:
        print_records(store.instances(), as_json=as_json, optional=["entries_start", "tier", "scale", "currency"])


@instances.command(name="set-tier")
def set_tier(*, database: DatabaseOption, instance: str, tier: int) -> None:
    """Change the subscription tier of an instance.

    A running service applies it to the next request.

    Parameters
    ----------
    instance
        Id of the instance.
    tier
        Subscription tier, 1 to 3.
    """
    with service.Store.open(database.database, create=False) as store:
        service.set_tier(store, instance, tier)
    print_message(f"instance {instance} has tier {tier}")


ledgers = commands(SERVICE, "ledgers", "Ledgers in a database.", of=served)


@ledgers.command(name="list")
def list_ledgers(*, of: InstanceOption, as_json: Json = False) -> None:
    """List the ledgers of an instance with their ids and paths."""
    with _instance(of) as chosen:
        listed = service.list_ledgers(*chosen)
    optional = ["name", "is_required", "debit_credit", "sub_type", "sort_code", "report_cash_flow", "type"]
    print_records(listed, as_json=as_json, optional=optional)


@ledgers.command(name="rename")
def rename_ledger(ledger: str, name: str, /, *, of: InstanceOption, modified_by: str | None = None) -> None:
    """Change the name of a ledger, also of a required one.

    The audit log keeps the old name.

    Parameters
    ----------
    ledger
        Id, unique name or path of the ledger.
    name
        The new name.
    modified_by
        Your name, for the audit log.
    """
    with _instance(of) as (store, instance):
        before = service.rename_ledger(store, instance, ledger, name, modified_by=modified_by)
    print_message(f"ledger {before.id}: {quote(before.name)} is now {quote(name)}")


tokens = commands(SERVICE, "tokens", "Access tokens of the service.", of=served)


@tokens.command(name="issue")
def issue_token(*, of: InstanceOption, token_file: Path) -> None:
    """Issue an access token into a new file that only you can read.

    Parameters
    ----------
    token_file
        New file for the token, readable by you only.
    """
    with _instance(of) as (store, instance):
        service.save_new_token(store, instance, token_file)
    setting = f"ACCOUNTING_ANALYTICS_TOKEN_FILE={shlex.quote(str(token_file.absolute()))}"
    print_message(f"the access token is in {token_file}; to use it: export {setting}")


@tokens.command(name="list")
def list_tokens(*, of: InstanceOption, as_json: Json = False) -> None:
    """List access tokens by their keys; the secrets are not stored."""
    with service.Store.open(of.database, create=False) as store:
        print_records(service.list_tokens(store, of.instance), as_json=as_json, optional=["instance_id", "created_at"])


@tokens.command(name="revoke")
def revoke_token(key: str, /, *, database: DatabaseOption) -> None:
    """Revoke an access token: the next request with it is refused.

    Parameters
    ----------
    key
        Key of the token, as shown by `service tokens list`.
    """
    with service.Store.open(database.database, create=False) as store:
        service.revoke_token(store, key)
    print_message(f"token {key.partition('.')[0]} is revoked")


@served.command(name="audit")
def list_changes(*, of: InstanceOption, limit: PositiveInt = 50, as_json: Json = False) -> None:
    """List changes of the books, newest first.

    Who changed which transaction when, and from which ledger to which.

    Parameters
    ----------
    limit
        Largest number of changes, 50 by default; the newest are listed.
    """
    with _instance(of) as chosen:
        changes, total = service.list_changes(*chosen, limit=limit)
    optional = ["before_ids", "after_ids", "actor", "operation", "transaction_id"]
    print_records(changes, as_json=as_json, optional=optional)
    if total > len(changes):
        print_message(f"the newest {len(changes):,} of {total:,} changes; more with --limit {total}")
