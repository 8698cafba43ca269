"""The command ``queue``: uncategorized transactions, in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import LoadOptions, load_queue, load_queue_and_history
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    Checkpoint,
    DryRun,
    EndDate,
    Ledgers,
    LocalBooks,
    PeriodText,
    Precision,
    Profile,
    QueueGroup,
    QueueOutput,
    RowLimit,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import (
    MAX_ROWS,
    command_line,
    print_first_rows,
    print_mapping,
    print_message,
    print_notes,
)
from accounting_analytics.cli.service_or_demo import connect_for_days, days_of_command
from accounting_analytics.cli.transaction_tables import (
    count_names,
    count_transactions,
    print_transactions,
    queue_tables,
)
from accounting_analytics.errors import InputError
from accounting_analytics.messages import count_of, did_you_mean, quote, shorten

if TYPE_CHECKING:
    import pandas as pd

_GROUP_COLUMNS = {
    "group_id": "group",
    "ledger_name": "account",
    "transaction_count": "count",
    "amount": "uncategorized",
    "cumulative_share": "cleared",
    "age": "days old",
}
_ACCOUNT_WIDTH = 16
_COLUMNS = {
    "ledger_name": "account",
    "description": "description",
    "amount": "amount",
    "category_amount": "uncategorized",
    "transaction_id": "transaction_id",
}


def queue(
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    ledger: Ledgers = None,
    group: QueueGroup = None,
    output: QueueOutput = None,
    precision: Precision = None,
    checkpoint: Checkpoint = None,
    books: LocalBooks = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    *,
    all_rows: AllRows = False,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the uncategorized transactions in groups.

    A group has one merchant, direction and account. Most money comes first, likely transfers between own accounts and
    split transactions last. With --group or --all the transactions are listed. With --precision, the file of --output
    and --json have what the history of each payee suggests; the category to fill in stays empty.
    """
    from accounting_analytics.categorization.decision_file import require_new_file, write_groups, write_transactions

    if output is not None:
        require_new_file(output)
    options = LoadOptions(checkpoint, dry_run, as_json)
    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        if precision is None:
            ledgers, uncategorized = load_queue(client, days, options, only=ledger)
        else:
            ledgers, uncategorized, history = load_queue_and_history(client, days, options, only=ledger)
    suggestions = None if precision is None else aa.suggest(uncategorized, history, ledgers, precision=precision)
    groups = aa.group_queue(uncategorized, as_of=days.end_date)
    if group is not None:
        _require_group(group, groups)
        groups, uncategorized = (frame[frame["group_id"] == group] for frame in (groups, uncategorized))
        if suggestions is not None:
            suggestions = suggestions[suggestions["group_id"] == group]
        all_rows = True
    print_notes(uncategorized)
    if suggestions is not None:
        print_notes(suggestions)
    if ledger:
        print_message("likely transfers between accounts are recognized only where both accounts are listed")
    if as_json:
        print_mapping(queue_tables(groups, uncategorized, suggestions), as_json=True)
    elif all_rows:
        _print_transactions(uncategorized, days.time_zone)
    else:
        _print_groups(groups, count_transactions(uncategorized), limit)
    if output is not None:
        write, kind = (write_transactions, "transaction") if all_rows else (write_groups, "group")
        count = write(uncategorized, output, time_zone=days.time_zone, ledgers=ledgers, suggestions=suggestions)
        print_message(f"{count_of(count, kind)} written to {output}, without split ones")
        following = command_line(
            "plan",
            decisions=output,
            precision=precision,
            **days_of_command(days, time_zone),
            output=f"plan{output.suffix}",
            books=books,
            profile=profile,
            demo=use_demo,
        )
        print_message(f"fill in its column category with ids, unique names or paths of ledgers, then: {following}")


def _require_group(group: str, groups: pd.DataFrame) -> None:
    """Refuse a group that the queue does not have, with the nearest ids."""
    if group not in set(groups["group_id"]):
        hint = did_you_mean(group, groups["group_id"], most=3) or "queue without --group lists them"
        raise InputError(f"--group: the queue of these days has no group {quote(group)}; {hint}")


def _print_transactions(uncategorized: pd.DataFrame, zone: str) -> None:
    summary = f"{count_of(count_transactions(uncategorized), 'uncategorized transaction')}, largest first"
    if len(uncategorized):
        summary = f"{summary}: {count_names(uncategorized['ledger_name'].fillna('(no name)'))}"
    print_transactions(uncategorized, _COLUMNS, summary=summary, time_zone=zone, limit=None)


def _print_groups(groups: pd.DataFrame, transaction_count: int, limit: int) -> None:
    summary = f"{count_of(transaction_count, 'uncategorized transaction')} in {count_of(len(groups), 'group')}"
    oldest = f"; the oldest is {groups['age_days'].max():,} days old" if len(groups) else ""
    typer.echo(f"{summary}{oldest}")
    accounts = groups["ledger_name"].fillna("(no name)").map(lambda name: shorten(name, limit=_ACCOUNT_WIDTH))
    table = groups.assign(
        ledger_name=accounts,
        cumulative_share=groups["cumulative_share"].map(lambda share: f"{int(100 * share)} %"),
        age=[
            f"{first}" if first == last else f"{first}-{last}"
            for first, last in zip(groups["age_days"], groups["newest_age_days"], strict=True)
        ],
    )
    rest = "groups; --limit N prints more, --all every transaction"
    print_first_rows(table, _GROUP_COLUMNS, limit, rest=rest, optional=("account",))
    for note in aa.notes(groups):
        typer.echo(note)
