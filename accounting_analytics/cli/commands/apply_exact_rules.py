"""The command ``categorize``: apply the exact rules of a file in a scheduled job, without a person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

import accounting_analytics as aa
from accounting_analytics.cli.books_after_run import BooksAfterRun
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import LoadOptions, load_queue
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    BooksToSync,
    Confirm,
    EndDate,
    MaxAmount,
    ModifiedBy,
    NewJournal,
    PeriodText,
    Profile,
    RowLimit,
    Rules,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, print_first_rows, print_mapping, print_message
from accounting_analytics.cli.plan_run import RunOptions, print_run, run_plan
from accounting_analytics.cli.service_or_demo import connect_service_for_days
from accounting_analytics.cli.transaction_tables import count_names, count_transactions, queue_tables
from accounting_analytics.errors import AmountError, RecategorizationIncompleteError
from accounting_analytics.messages import count_of

if TYPE_CHECKING:
    from datetime import date
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.recategorization import Plan

_COLUMNS = {
    "group_id": "group",
    "transaction_count": "count",
    "amount": "uncategorized",
    "reason": "left because",
}


def categorize(
    rules: Rules,
    max_amount: MaxAmount,
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    journal: NewJournal = None,
    time_zone: TimeZone = None,
    modified_by: ModifiedBy = None,
    books: BooksToSync = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    *,
    all_rows: AllRows = False,
    confirm: Confirm = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Apply exact rules unattended; a dry run without --confirm.

    Only rules marked `exact = true` change the books, and only changes that can be undone are made. What is left for a
    person is listed with the reason: no rule, a rule that is not exact, an amount above the limit, a split that would
    be joined, or a category line that several transactions share. Exit code 0 if all planned changes are done, whatever
    is left.
    """
    from accounting_analytics.recategorization.exact_rules import NOT_PLANNED, plan_exact_rules

    most, loaded_rules, rows = _parse_limit(max_amount), aa.load_rules(rules), None if all_rows else limit
    local = BooksAfterRun(books, use_demo=use_demo)
    options = LoadOptions(None, dry_run=False, as_json=as_json)
    given = DayOptions(start_date, end_date, period)
    with connect_service_for_days(given, profile, time_zone, use_demo=use_demo) as (client, days):
        ledgers, queue = load_queue(client, days, options)
        made = plan_exact_rules(queue, loaded_rules, ledgers, max_amount=most, instance_id=client.instance_id)
        file = journal or Path(f"categorize-{made.plan.plan_id}.journal")
        plan = _saved_plan(made.plan, file, confirm=confirm)
        left = made.left_by(plan)
        groups = _groups_with_reasons(left, days.end_date)
        for note in made.notes:
            print_message(note)
        if not as_json:
            of_all = count_of(count_transactions(queue), "uncategorized transaction")
            typer.echo(f"{count_transactions(left):,} of {of_all} left for a person")
            if len(left):
                typer.echo(count_names(left["reason"]))
            print_first_rows(groups, _COLUMNS, rows, rest="groups; --all prints every group")
        run_options = RunOptions(file, modified_by, days.time_zone, confirm, profile=profile, use_demo=use_demo)
        run = run_plan(client, plan, run_options) if len(plan) else None
        local.sync(client, run)
    tables = queue_tables(groups, left)
    if run is not None:
        print_run(run, limit=rows, as_json=as_json, others=tables)
    else:
        print_message("exact rules decide no transaction within the limit; nothing was sent")
        if as_json:
            print_mapping({"outcomes": [], **tables}, as_json=True)
    local.raise_for_error()
    missing = count_transactions(left[left["reason"] == NOT_PLANNED])
    if confirm and missing:  # added since the plan of the journal that is resumed
        raise RecategorizationIncompleteError(
            f"{count_of(missing, 'transaction')} that exact rules decide, but not in the plan that was resumed; run "
            f"again with another journal than {file}, or without --journal"
        )


def _groups_with_reasons(transactions: pd.DataFrame, as_of: date) -> pd.DataFrame:
    """Group the transactions that are left for a person, with the reasons of each group."""
    from accounting_analytics.categorization.transaction_groups import with_groups
    from accounting_analytics.categorization.uncategorized_queue import exact_queue

    group_ids = with_groups(exact_queue(transactions).frame)["group_id"].to_numpy()
    reasons = transactions["reason"].groupby(group_ids).agg(lambda one: ", ".join(dict.fromkeys(one)))
    groups = aa.group_queue(transactions, as_of=as_of)
    return groups.assign(reason=groups["group_id"].map(reasons))


def _parse_limit(text: str) -> Decimal:
    """Amount of --max-amount, exactly."""
    from accounting_analytics.money import MAX_SCALE, parse_amount

    try:
        amount = parse_amount(text, MAX_SCALE).amount
    except AmountError as error:
        raise AmountError(f"--max-amount: {error}") from None
    if amount < 0:
        raise AmountError(f"--max-amount {text} is negative; it is compared with amounts without their signs")
    return amount


def _saved_plan(plan: Plan, journal: Path, *, confirm: bool) -> Plan:
    """Plan that is saved beside the journal where a run was started before; otherwise this one, saved if confirmed."""
    file = journal.with_name(f"{journal.name}.csv")
    if file.exists():
        saved = aa.Plan.load(file)
        if saved.plan_id != plan.plan_id:
            print_message(f"the plan of an earlier run with this journal, {file}, is resumed; nothing is added to it")
        return saved
    if confirm and len(plan):
        plan.save(file)
        print_message(f"the plan is {file}, the journal {journal}")
    return plan
