"""Commands that decide categories: queue, rules, proposals, plan, and preview of its effect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

import accounting_analytics as aa
from accounting_analytics.cli.books_source import connect_source, days_of_command, load_books, load_ledgers, load_report
from accounting_analytics.cli.declarations import RECATEGORIZE, command, commands
from accounting_analytics.cli.options import BooksOrService, Json, RowLimit, ZonedDays
from accounting_analytics.cli.output import (
    command_line,
    count_names,
    count_uncategorized,
    print_json,
    print_message,
    print_note,
    print_notes,
    print_result,
    print_table,
    print_transactions,
)
from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.errors import InputError, PlanError
from accounting_analytics.core.messages import count_of, did_you_mean, quote, shorten
from accounting_analytics.core.periods import day_label

if TYPE_CHECKING:
    import datetime as dt

    import pandas as pd

_ACCOUNT_WIDTH, _NAME_WIDTH, _PIPED_WIDTH = 16, 28, 120
_GROUPS = {
    "group_id": "group",
    "ledger_name": "account",
    "transaction_count": "count",
    "amount": "uncategorized",
    "cumulative_share": "cleared",
    "age": "days old",
}
_TRANSACTIONS = {
    "ledger_name": "account",
    "description": "description",
    "uncategorized_amount": "uncategorized",
    "transaction_id": "transaction_id",
}
_RULES = {
    "line": "line",
    "rule": "rule",
    "status": "status",
    "transaction_count": "count",
    "amount": "amount",
    "agreeing_count": "agree",
    "contradicting_count": "contradict",
}
ITEMS = {
    "outcome": "outcome",
    "description": "description",
    "transaction_amount": "amount",
    "updated_category_ledger_name": "new category",
    "rule": "rule",
    "transaction_id": "transaction_id",
}
_TOTALS = {
    "rule": "rule",
    "updated_category_ledger_name": "new category",
    "outcome": "outcome",
    "item_count": "items",
    "amount": "amount",
    "updated_category_ledger_id": "ledger_id",
}
_CHANGES = {"name": "ledger"} | {name: name for name in ("before", "change", "predicted", "ledger_id")}
PlanPath = Annotated[Path, Parameter(help="Plan file of `plan`.")]
RulesFile = Annotated[Path, Parameter(help="Rules file (TOML): which description means which category.")]
Precision = Annotated[
    float | None,
    Parameter(
        help="Add suggestions from the history of each counterparty that kept this precision, such as 0.98, or none."
    ),
]


@command(RECATEGORIZE)
def queue(
    *,
    days: ZonedDays = ZonedDays(),
    ledger: tuple[str, ...] = (),
    group: str | None = None,
    output: Path | None = None,
    as_json: Json = False,
    table: RowLimit = RowLimit(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """List the uncategorized transactions in groups.

    A group has one counterparty, direction and account. Most money comes first, likely transfers between own accounts
    and split transactions last. With --group or --all the transactions are listed.

    Parameters
    ----------
    ledger
        Only this account, by id, unique name or path (Assets:Bank); repeatable.
    group
        Only the transactions of this group, each of them.
    output
        New file to decide by hand, .xlsx for Excel or .csv: the groups, or with --all the transactions.
    """
    from accounting_analytics.recategorization.decisions import (
        GROUP,
        TRANSACTION,
        require_new_file,
        write_decision_file,
    )
    from accounting_analytics.recategorization.open_queue import OpenQueue
    from accounting_analytics.reports.books.book_lines import has_lines

    if output is not None:
        require_new_file(output)
    with connect_source(source, days) as (client, period):
        books = load_books(client, period)
    if not has_lines(books.lines, period):
        print_message(f"no line entry is of {period}: is it the right period?")
    transactions = aa.uncategorized_queue(books)
    if ledger:
        accounts = {_find_account(books, name) for name in ledger}
        transactions = transactions[transactions["ledger_id"].isin(accounts)].reset_index(drop=True)
    as_of = min(period.end_date, aa.Period.relative("today", time_zone=period.time_zone).end_date)
    groups = aa.group_queue(transactions, as_of=as_of)
    if group is not None:
        if group not in set(groups["group_id"]):
            hint = did_you_mean(group, groups["group_id"], most=3) or "queue without --group lists them"
            raise InputError(f"--group: the queue of these days has no group {quote(group)}; {hint}")
        groups, transactions = (frame[frame["group_id"] == group] for frame in (groups, transactions))
    print_notes(transactions)
    every_one = table.all_rows or group is not None
    if as_json:
        print_json(queue_tables(groups, transactions))
    elif every_one:
        names = f": {count_names(transactions['ledger_name'].fillna('(no name)'))}" if len(transactions) else ""
        summary = f"{count_uncategorized(transactions)}, largest first{names}"
        print_transactions(transactions, _TRANSACTIONS, summary=summary, time_zone=period.time_zone, limit=None)
    else:
        _print_groups(groups, count_uncategorized(transactions), table.limit, as_of)
    if output is not None:
        by, kind = (TRANSACTION, "transaction") if every_one else (GROUP, "group")
        asked = OpenQueue(transactions, books.ledgers)
        count = write_decision_file(asked, output, time_zone=period.time_zone, by=by)
        print_message(f"{count_of(count, kind)} written to {output}, without split ones")
        following = command_line(
            "plan",
            decisions=output,
            **days_of_command(period, days.time_zone),
            output=f"plan{output.suffix}",
            **_source_of_command(source),
        )
        print_message(f"fill in its column category with ids, unique names or paths of ledgers, then: {following}")


@command(RECATEGORIZE)
def check_coding(
    *,
    days: ZonedDays = ZonedDays(),
    decisions: tuple[Path, ...] = (),
    output: Path | None = None,
    as_json: Json = False,
    source: BooksOrService = BooksOrService(),
) -> None:
    """List what should be looked at before a month is closed.

    Transactions of another category than their counterparty had before, the same payment twice, amounts far above those
    before, lines on ledgers that have others below them, and transactions without a text. All days before are the past.

    Parameters
    ----------
    decisions
        File of decisions: those that are the category that a transaction has are right, and not listed; repeatable.
    output
        New file to decide by hand, .xlsx for Excel or .csv: the transactions that findings are of.
    """
    from accounting_analytics.recategorization.decisions import TRANSACTION, require_new_file, write_decision_file
    from accounting_analytics.recategorization.open_queue import OpenQueue

    if output is not None:
        require_new_file(output)
    with connect_source(source, days) as (client, period):
        books = load_books(client, period)
    check = aa.check_coding(books, decisions=decisions or None)
    print_result(check, as_json=as_json)
    if output is not None:
        asked = OpenQueue(check.queue, books.ledgers)
        count = write_decision_file(asked, output, time_zone=period.time_zone, by=TRANSACTION)
        print_message(
            f"{count_of(count, 'transaction')} written to {output}: fill in its column category, with the one that a "
            "transaction has where that is right"
        )


def _find_account(books: aa.Books, text: str) -> str:
    """Return the id of the account that --ledger names."""
    try:
        return books.names.find(text)
    except InputError as error:
        raise InputError(f"--ledger: {error}") from None


def queue_tables(groups: pd.DataFrame, transactions: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the groups and transactions of a queue as tables for JSON."""
    shares = {"share": object, "cumulative_share": object}  # shares are not amounts
    return {"groups": groups.astype(shares), "transactions": transactions}


def _print_groups(groups: pd.DataFrame, count: str, limit: int, as_of: dt.date) -> None:
    oldest = f"; oldest {groups['age_days'].max():,} days on {day_label(as_of)}" if len(groups) else ""
    print(f"{count} in {count_of(len(groups), 'group')}{oldest}")
    ages = groups[["age_days", "newest_age_days"]].itertuples(index=False, name=None)
    table = groups.assign(
        ledger_name=groups["ledger_name"].fillna("(no name)").map(lambda name: shorten(name, limit=_ACCOUNT_WIDTH)),
        cumulative_share=groups["cumulative_share"].map(lambda share: f"{int(100 * share)} %"),
        age=[f"{first}" if first == last else f"{first}-{last}" for first, last in ages],
    )
    rest = "groups; --limit N prints more, --all every transaction"
    print_table(table, _GROUPS, limit=limit, rest=rest, optional=("account",))
    for note in aa.notes(groups):
        print(note)


def _source_of_command(source: BooksOrService) -> dict[str, object]:
    """Return the options with which a next command reads the same source."""
    return {"books": source.books, "profile": source.profile, "scale": source.scale, "demo": source.demo}


rules = commands(RECATEGORIZE, "rules", "Test the rules of a file, and add rules to it.")


@rules.command(name="test")
def report_file(
    file: RulesFile,
    /,
    *,
    days: ZonedDays = ZonedDays(),
    as_json: Json = False,
    table: RowLimit = RowLimit(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """Report what each rule decides, and what contradicts it.

    Rules that decide nothing are named. Transactions that have a category already are compared with the rules. Nothing
    is written.
    """
    loaded_rules = aa.load_rules(file)
    with connect_source(source, days) as (client, period):
        books = load_books(client, period)
    uncategorized = aa.uncategorized_queue(books)
    report = aa.report_rules(uncategorized, loaded_rules, books)
    print_notes(report)
    if not as_json:
        deciding = count_of(len(report), "rule decides", "rules decide")
        print(f"{deciding} {int(report['transaction_count'].sum()):,} of {count_uncategorized(uncategorized)}")
    print_table(report, _RULES, as_json=as_json, limit=table.rows)


@rules.command(name="add")
def append_rule(
    file: RulesFile,
    group: str,
    /,
    *,
    category: str,
    days: ZonedDays = ZonedDays(),
    day_of_month: str | None = None,
    source: BooksOrService = BooksOrService(),
) -> None:
    """Append a rule for a group or transaction, and print it.

    The rule has its counterparty, direction and account. The rest of the file stays as it is. The books do not change.

    Parameters
    ----------
    group
        Group of `queue`, or transaction id.
    category
        Category: id, unique name or path.
    day_of_month
        Only on these local days of each month, such as 1-5,15.
    """
    from accounting_analytics.recategorization.open_queue import OpenQueue
    from accounting_analytics.recategorization.rules import add_rule

    with connect_source(source, days) as (client, period):
        books = load_books(client, period)
    asked = OpenQueue(aa.uncategorized_queue(books), books.ledgers)
    rule = add_rule(file, asked, group, category, day_of_month=day_of_month)
    print(rule, end="")
    options = days_of_command(period, days.time_zone) | _source_of_command(source)
    print_message(f"appended to {file}; try it: {command_line('rules', 'test', file, **options)}")


@Parameter(name="*")
@dataclass(frozen=True)
class Deciding:
    """Options that decide categories: rules, decisions and history.

    Attributes
    ----------
    decisions
        File of `queue --output` with categories filled in; replaces what rules decide; repeatable.
    transfers
        Add likely transfers between own accounts, apart from the others.
    """

    rules: RulesFile | None = None
    decisions: tuple[Path, ...] = ()
    precision: Precision = None
    transfers: bool = False


@command(RECATEGORIZE)
def propose(
    *,
    days: ZonedDays = ZonedDays(),
    deciding: Deciding = Deciding(),
    as_json: Json = False,
    table: RowLimit = RowLimit(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """Show the categories that rules, decisions and history give.

    Only uncategorized transactions are loaded, with --precision also those of the year before. Nothing is written.
    """
    rows, queue, books, _ = _propose(deciding, days, source)
    period = books.period
    if as_json:
        print_json(rows.astype({"confidence": object}))
        return
    decided, count = rows["transaction_id"].nunique(), count_uncategorized(queue)
    names = f": {count_names(rows['updated_category_ledger_name'])}" if len(rows) else ""
    print_items(rows, f"{decided:,} of {count} would get a category{names}", period.time_zone, table.rows)


@command(RECATEGORIZE)
def plan(
    *,
    output: Path,
    days: ZonedDays = ZonedDays(),
    deciding: Deciding = Deciding(),
    as_json: Json = False,
    table: RowLimit = RowLimit(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """Write a plan from rules, decisions and history.

    The books do not change.

    Parameters
    ----------
    output
        Plan file to write: .xlsx for Excel, else CSV.
    """
    from accounting_analytics.recategorization.decisions import require_absent, require_writable

    require_writable(to_path(output, "--output"))
    if output.absolute() in {path.absolute() for path in (deciding.rules, *deciding.decisions) if path is not None}:
        raise PlanError(
            f"--output {output} is a file of rules or decisions, which the plan would replace; give another name"
        )
    require_absent(output, "may be a plan in use")
    proposals, _, books, instance_id = _propose(deciding, days, source)
    period = books.period
    planned = aa.plan_recategorization(proposals, books, instance_id=instance_id)
    planned.save(output)
    if len(planned):
        print_cost(planned)
        options = days_of_command(period, days.time_zone) | _source_of_command(source)
        following = command_line("preview", output, **options)
        print_message(f"{len(planned):,} items written to {output}; check it, then: {following}")
    else:
        print_message(f"{output} has no items: nothing that was given fits an uncategorized transaction of the period")
    if as_json:
        print_json(planned.exact())
    elif table.all_rows:
        print_items(planned.exact(), planned.summary(), period.time_zone, None)
    else:
        print(planned.summary())
        print_totals(planned.exact_totals("category"), table.limit)


def _propose(
    deciding: Deciding, days: ZonedDays, source: BooksOrService
) -> tuple[pd.DataFrame, pd.DataFrame, aa.Books, str | None]:
    """Propose categories. Unusable files are refused before the load."""
    from accounting_analytics.recategorization.decisions import read_decisions
    from accounting_analytics.recategorization.suggestions import check_precision

    if not any(vars(deciding).values()):
        raise InputError(
            "give --rules FILE, --decisions FILE (which `queue --output FILE` writes and you fill in), "
            "--precision 0.98 or --transfers, or several of them"
        )
    if deciding.precision is not None:
        check_precision(deciding.precision)
    for file in deciding.decisions:
        read_decisions(file)
    rules = None if deciding.rules is None else aa.load_rules(deciding.rules)
    with connect_source(source, days) as (client, period):
        books = load_books(client, period)
        queue, suggestions = aa.uncategorized_queue(books), None
        if deciding.precision is not None:
            suggestions = aa.suggest(queue, books, precision=deciding.precision)
            print_notes(suggestions)
        proposals = aa.propose(
            queue,
            rules,
            books,
            decisions=list(deciding.decisions),
            suggestions=suggestions,
            transfers=deciding.transfers,
        )
        print_notes(proposals)
        return proposals, queue, books, client.instance_id


def print_items(rows: pd.DataFrame, summary: str, time_zone: str, limit: int | None) -> None:
    """Print proposals or items of a plan, without ids of decided groups.

    In a pipe, rows also fit a page of text. Columns that do not fit are only in JSON.
    """
    from accounting_analytics.recategorization.changes import BY_HAND

    short = rows.assign(rule=rows["rule"].mask(rows["rule"].str.startswith(BY_HAND), BY_HAND))
    print_transactions(short, ITEMS, summary=summary, time_zone=time_zone, limit=limit, piped_width=_PIPED_WIDTH)


def print_cost(plan: aa.Plan) -> None:
    """Print how many requests and minutes applying a plan takes."""
    print_message(
        f"at least {count_of(len(plan), 'request')} and {plan.minutes:.1f} minutes to change every item "
        "at the documented rate limit"
    )


def print_totals(totals: pd.DataFrame, limit: int | None) -> None:
    """Print the number, sum and outcome of items by rule or new category."""
    first = next(name for name in _TOTALS if name in totals)
    names = totals[first].map(lambda name: shorten(name, limit=_NAME_WIDTH)).astype("str")
    print_table(totals.assign(**{first: names}), _TOTALS, limit=limit)


def totals_tables(plan: aa.Plan, outcomes: pd.DataFrame | None = None) -> dict[str, pd.DataFrame]:
    """Return the totals of a plan as tables for JSON."""
    return {f"by_{by}": plan.exact_totals(by, outcomes) for by in ("category", "rule")}


@command(RECATEGORIZE)
def preview(
    plan: PlanPath,
    /,
    *,
    days: ZonedDays = ZonedDays(),
    by: Literal["ledger", "category", "rule"] = "ledger",
    table: RowLimit = RowLimit(),
    source: BooksOrService = BooksOrService(),
    as_json: Json = False,
) -> None:
    """Show what a plan would change in the cash flow report.

    Nothing is written.

    Parameters
    ----------
    by
        What a row is: a ledger of the report, as by default, or the items of a new category or a rule.
    """
    from accounting_analytics.recategorization.plan import require_same_instance

    planned = aa.Plan.load(plan)
    with connect_source(source, days) as (client, period):
        require_same_instance(planned.instance_id, client.instance_id)  # refused before the ledgers are discovered
        ledgers = load_ledgers(client, period)
        reported = load_report(client, period)
    effect = planned.preview(reported)
    totals = effect.totals(ledgers)
    print_cost(planned)
    for note in effect.notes:
        print_note(note)
    print_notes(totals)
    if as_json:
        print_json({"ledgers": effect.exact().changes, "root_totals": totals, **totals_tables(planned)})
        return
    print(planned.summary())
    if by == "ledger":
        print(effect.summary())
        print_table(totals.assign(name="total " + totals["name"]), _CHANGES, limit=table.rows)
        print_table(effect.exact().changes, _CHANGES, limit=table.rows)
    else:
        print_totals(planned.exact_totals(by), table.rows)
