"""The commands ``rules``: what the rules of a file decide, and a new rule from a group."""

from __future__ import annotations

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import LoadOptions, load_cash_lines, load_queue
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    Checkpoint,
    DayOfMonth,
    DryRun,
    EndDate,
    LocalBooks,
    NewCategory,
    PeriodText,
    Profile,
    QueueKey,
    RowLimit,
    RulesFile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import (
    MAX_ROWS,
    command_line,
    print_first_rows,
    print_frame,
    print_message,
    print_notes,
)
from accounting_analytics.cli.service_or_demo import connect_for_days, days_of_command
from accounting_analytics.cli.transaction_tables import count_transactions
from accounting_analytics.messages import count_of

_COLUMNS = {
    "line": "line",
    "rule": "rule",
    "status": "status",
    "transaction_count": "count",
    "amount": "amount",
    "agreeing_count": "agree",
    "contradicting_count": "contradict",
}

rules = typer.Typer(help="Test the rules of a file, and add rules to it.", no_args_is_help=True)


@rules.command("test")
def report_file(
    file: RulesFile,
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
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
    """Report what each rule decides, and what contradicts it.

    Rules that decide nothing are named. Transactions that have a category already are compared with the rules. Nothing
    is written.
    """
    loaded_rules = aa.load_rules(file)
    options = LoadOptions(checkpoint, dry_run, as_json)
    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        ledgers, lines = load_cash_lines(client, days, options)
    uncategorized = aa.uncategorized_queue(lines, ledgers)
    report = aa.report_rules(uncategorized, loaded_rules, ledgers, lines)
    print_notes(report)
    if as_json:
        print_frame(report, as_json=True)
        return
    deciding = count_of(len(report), "rule decides", "rules decide")
    of_all = count_of(count_transactions(uncategorized), "uncategorized transaction")
    typer.echo(f"{deciding} {int(report['transaction_count'].sum()):,} of {of_all}")
    print_first_rows(report, _COLUMNS, None if all_rows else limit)


@rules.command("add")
def append_rule(
    file: RulesFile,
    group: QueueKey,
    category: NewCategory,
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    day_of_month: DayOfMonth = None,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    books: LocalBooks = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
) -> None:
    """Append a rule for a group or transaction, and print it.

    The rule has its merchant, direction and account. The rest of the file stays as it is. The books do not change.
    """
    from accounting_analytics.categorization.rules import add_rule

    options = LoadOptions(checkpoint, dry_run=False, as_json=False)
    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        ledgers, uncategorized = load_queue(client, days, options)
    rule = add_rule(file, uncategorized, group, category, ledgers, day_of_month=day_of_month)
    typer.echo(rule, nl=False)
    following = command_line(
        "rules", "test", file, **days_of_command(days, time_zone), books=books, profile=profile, demo=use_demo
    )
    print_message(f"appended to {file}; try it: {following}")
