"""Commands that change the books by a plan, undo that, and check it: apply, verify, undo, categorize."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

import accounting_analytics as aa
from accounting_analytics.cli.books_source import (
    connect_for_days,
    connect_service,
    load_books,
    open_books,
    refuse_books,
)
from accounting_analytics.cli.decide_categories import (
    ITEMS,
    PlanPath,
    RulesFile,
    print_cost,
    print_totals,
    queue_tables,
    totals_tables,
)
from accounting_analytics.cli.declarations import RECATEGORIZE, command
from accounting_analytics.cli.options import Json, RefusedBooks, RowLimit, Run, Service, ZonedDays
from accounting_analytics.cli.output import (
    command_line,
    count_names,
    count_uncategorized,
    print_json,
    print_message,
    print_notes,
    print_table,
    print_transactions,
)
from accounting_analytics.core.errors import (
    AccountingAnalyticsError,
    AmountError,
    InputError,
    PlanError,
    RecategorizationIncompleteError,
    with_context,
)
from accounting_analytics.core.messages import count_of, join_ids, printable
from accounting_analytics.core.periods import DAY

if TYPE_CHECKING:
    import datetime as dt
    from decimal import Decimal

    import pandas as pd

RowOfRun = Literal["category", "rule", "item", "ledger"]
Journal = Annotated[Path, Parameter(help="Journal of the run; written before each change.")]
_GROUPS_LEFT = {
    "group_id": "group",
    "transaction_count": "count",
    "amount": "uncategorized",
    "reason": "left because",
}
_ADVICE = (
    ("unknown", "verify with --journal shows after 60 seconds whether unknown items were carried out"),
    (
        "unknown",
        "applying again with the same journal leaves unknown items that were sent alone, a new journal does not",
    ),
    (
        "not_done",
        "it is safe to apply the rest again, with the same journal, or by a new plan what the service had confirmed",
    ),
    ("refused", "applying again leaves refused items as they are: see the reasons"),
    ("changed_elsewhere", "applying again does not change items that were changed elsewhere, a new plan does"),
)
"""Advice on what to do next, by outcome."""


@command(RECATEGORIZE)
def apply(
    plan: PlanPath,
    /,
    *,
    journal: Journal,
    run: Run = Run(),
    by: RowOfRun = "category",
    allow_irreversible: bool = False,
    table: RowLimit = RowLimit(),
    as_json: Json = False,
) -> None:
    """Change the books as planned; a dry run without --confirm.

    The same journal resumes an interrupted run. After a confirmed run the report of the days of the plan is shown
    before and after, and must have changed exactly as planned. With --books the local books are synced then.

    Parameters
    ----------
    by
        What a row is: the items of a new category, as by default, or a rule, an item, or a ledger of the report.
    allow_irreversible
        Also join parts of splits, which `undo` cannot take back.
    """
    planned = aa.Plan.load(plan)
    if not planned.items:
        raise PlanError("the plan has no items")
    shown: dict[str, Any] = {"by": by, "limit": table.rows, "as_json": as_json}
    with connect_service(run) as (client, zone):
        _refuse_journal_of_another_demo(run, client, journal)
        run_plan(client, planned, run, journal, zone, **shown, allow_irreversible=allow_irreversible)


@command(RECATEGORIZE)
def undo(
    journal_of_run: Path,
    /,
    *,
    journal: Journal,
    group: tuple[str, ...] = (),
    run: Run = Run(),
    by: RowOfRun = "category",
    incomplete: bool = False,
    table: RowLimit = RowLimit(),
    as_json: Json = False,
) -> None:
    """Take back what a run changed; a dry run without --confirm.

    The changes are those in the journal of the run, with --group those of one group or transaction. What another user
    has changed since is left alone and listed; parts of a split that were joined are left out. The same new journal
    resumes an interrupted undo. Exit code 6 if a confirmed undo leaves changes of the run in the books.

    Parameters
    ----------
    journal_of_run
        Journal of the run to undo; it is only read.
    journal
        New journal, of the undo; written before each change.
    group
        Only the changes of this group of the queue, or of this transaction; repeatable.
    by
        What a row is: the items of a new category, as by default, or a rule, an item, or a ledger of the report.
    incomplete
        Undo what the journal has, although its run was interrupted or its end is missing.
    """
    with connect_service(run) as (client, zone):
        _refuse_journal_of_another_demo(run, client, journal_of_run)
        planned = aa.undo_plan(client, journal_of_run, groups=list(group) or None, incomplete=incomplete)
        for note in planned.notes:
            print_message(note)
        others = {"left_out": [left.transaction_id for left in planned.left_out]}
        if len(planned):
            shown: dict[str, Any] = {"by": by, "limit": table.rows, "as_json": as_json}
            run_plan(client, planned, run, journal, zone, **shown, others=others)
        else:
            print_message("the journal has no change that can be undone; nothing was sent")
            if as_json:
                print_json(others)
    if run.confirm and planned.left_out:
        raise RecategorizationIncompleteError(f"{count_of(len(planned.left_out), 'change')} of the run not undone")


@command(RECATEGORIZE)
def verify(
    plan: PlanPath,
    /,
    *,
    journal: Path | None = None,
    by: Literal["category", "rule", "item"] = "category",
    table: RowLimit = RowLimit(),
    service: Service = Service(),
    books: RefusedBooks = None,
    as_json: Json = False,
) -> None:
    """Check that the books have every item of a plan.

    With the journal that the plan was applied with, an item whose category is unchanged is not done if it was last
    sent at least 60 seconds ago; until then, and without the journal, it is unknown. Exit code 6 if some items are not
    done or unknown.

    Parameters
    ----------
    journal
        Journal that the plan was applied with; it is only read.
    by
        What a row is: the items of a new category, as by default, or a rule, or an item.
    """
    refuse_books(books, "`verify` reads what the service has now, so leave it out")
    planned = aa.Plan.load(plan)
    with connect_service(service) as (client, zone):
        _refuse_journal_of_another_demo(service, client, journal)
        outcomes = aa.verify_plan(client, planned, journal=journal)
    if as_json:
        print_json({"outcomes": outcomes, **totals_tables(planned, outcomes)})
    else:
        print_outcomes(planned, outcomes, by=by, time_zone=zone, limit=table.rows)
    require_done(outcomes)


def _refuse_journal_of_another_demo(service: Service, client: aa.LedgerClient, journal: Path | None) -> None:
    """Refuse the journal of a demo company that ended with its command."""
    from accounting_analytics.recategorization.run_journal import read_journal

    if service.demo and journal is not None and journal.exists():
        events = read_journal(journal, instance_id=client.instance_id).events
        if events and events[0]["base_url"] != client.base_url:
            raise InputError(
                f"{journal} is the journal of a demo company that ended with its command, and this one is new, so none "
                "of its changes are here: in Python aa.demo() stays while you apply, verify and undo; nothing was sent"
            )


@command(RECATEGORIZE)
def categorize(
    *,
    rules: RulesFile,
    max_amount: str,
    days: ZonedDays = ZonedDays(),
    journal: Path | None = None,
    run: Run = Run(),
    table: RowLimit = RowLimit(),
    as_json: Json = False,
) -> None:
    """Apply exact rules unattended; a dry run without --confirm.

    Only rules marked `exact = true` change the books, and only changes that can be undone are made. What is left for a
    person is listed with the reason: no rule, a rule that is not exact, an amount above the limit, a split that would
    be joined, or a category line that several transactions share. Exit code 0 if all planned changes are done, whatever
    is left.

    Parameters
    ----------
    max_amount
        Largest amount that is changed without a person, without its sign.
    journal
        Journal of the run, with its plan beside it as FILE.csv; the same journal resumes an interrupted run. By default
        categorize-PLAN_ID.journal.
    """
    from accounting_analytics.recategorization.plan import NOT_PLANNED, left_by, plan_exact_rules

    most, loaded_rules = _parse_limit(max_amount), aa.load_rules(rules)
    with connect_for_days(run, days) as (client, period):
        books = load_books(client, period)
        queue, instance_id = aa.uncategorized_queue(books), client.instance_id
        made, decided = plan_exact_rules(queue, loaded_rules, books.ledgers, max_amount=most, instance_id=instance_id)
        file = journal or Path(f"categorize-{made.plan_id}.journal")
        plan = _plan_to_run(made, file, confirm=run.confirm)
        left = left_by(plan, decided)
        groups = _groups_with_reasons(left, period.end_date)
        print_notes(decided)
        if not as_json:
            print(f"{left['transaction_id'].nunique():,} of {count_uncategorized(queue)} left for a person")
            if len(left):
                print(count_names(left["reason"]))
            print_table(groups, _GROUPS_LEFT, limit=table.rows, rest="groups; --all prints every group")
        tables = queue_tables(groups, left)
        if len(plan):
            run_plan(client, plan, run, file, period.time_zone, limit=table.rows, as_json=as_json, others=tables)
        else:
            print_message("exact rules decide no transaction within the limit; nothing was sent")
            if as_json:
                print_json({"outcomes": [], **tables})
    missing = left.loc[left["reason"] == NOT_PLANNED, "transaction_id"].nunique()
    if run.confirm and missing:  # these were added after the plan of the resumed journal was made
        raise RecategorizationIncompleteError(
            f"{count_of(missing, 'transaction')} that exact rules decide, but not in the plan that was resumed; run "
            f"again with another journal than {file}, or without --journal"
        )


def _groups_with_reasons(transactions: pd.DataFrame, as_of: dt.date) -> pd.DataFrame:
    """Group the undecided transactions, with the reasons of each group."""
    reasons = (
        transactions["reason"]
        .groupby(transactions["group_id"])
        .agg(lambda reasons_of_group: ", ".join(dict.fromkeys(reasons_of_group)))
    )
    groups = aa.group_queue(transactions, as_of=as_of)
    return groups.assign(reason=groups["group_id"].map(reasons))


def _parse_limit(text: str) -> Decimal:
    """Read the exact amount of --max-amount."""
    from accounting_analytics.core.money import MAX_SCALE, parse_amount

    try:
        amount = parse_amount(text, MAX_SCALE).amount
    except AmountError as error:
        raise AmountError(f"--max-amount: {error}") from None
    if amount < 0:
        raise AmountError(f"--max-amount {text} is negative; it is compared with amounts without their signs")
    return amount


def _plan_to_run(plan: aa.Plan, journal: Path, *, confirm: bool) -> aa.Plan:
    """Return the plan that an earlier start saved, else this plan.

    A confirmed run saves a new plan.
    """
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


def run_plan(
    client: aa.LedgerClient,
    plan: aa.Plan,
    run: Run,
    journal: Path,
    time_zone: str,
    *,
    by: RowOfRun = "category",
    limit: int | None = None,
    as_json: bool = False,
    others: dict[str, Any] | None = None,
    allow_irreversible: bool = False,
) -> None:
    """Run a plan between two reports of its days, and print the outcomes.

    After a confirmed run the local books are synced. The command fails unless every item is done and the report changed
    exactly as planned. JSON output also has `others`.
    """
    print_cost(plan)
    books = None if run.books is None else open_books(run.books)  # books must be usable before the run
    instants = [item.datetime for item in plan.items]
    days = (min(instants) - DAY).date(), (max(instants) + DAY).date()  # in any zone
    before = aa.load_cash_flow_report(client, *days, time_zone=time_zone)
    outcomes = _apply(client, plan, run, journal, allow_irreversible=allow_irreversible)
    effect, unread = plan.preview(before), None
    tables: dict[str, Any] = {
        "outcomes": outcomes,
        **totals_tables(plan, outcomes),
        "before": before.exact().ledgers,
        "changes": effect.exact().changes,
    }
    if run.confirm:
        try:
            after = aa.load_cash_flow_report(client, *days, time_zone=time_zone)
        except AccountingAnalyticsError as error:  # the outcomes are known, and must be printed in any case
            unread = error
        else:
            effect = effect.check(after, outcomes)
            tables |= {**effect.exact()._asdict(), "after": after.exact().ledgers}
    if as_json:
        print_json({**tables, **(others or {})})
    else:
        print_outcomes(plan, outcomes, by=by, time_zone=time_zone, limit=limit)
        if by == "ledger" or "after" in tables:
            print(effect.explain())
    if not run.confirm:
        would_change = (outcomes["outcome"] == "would_change").any()
        following = "add --confirm to change the books" if would_change else "--confirm would change nothing"
        print_message(f"dry run, nothing was sent: {_summarize(outcomes)}; {following}")
        return
    if (outcomes["outcome"] == "done").any():
        _print_undo(journal, run, incomplete=False)
        print_message("what was loaded or exported before still shows the old categories")
    try:
        _sync(books, client, run)
    finally:
        if unread is None:
            effect.raise_for_unexpected()
        require_done(outcomes)
        if unread is not None:
            reason = "every item is done, but the report could not be loaded again, so its change is not compared"
            raise with_context(unread, reason)


def _apply(
    client: aa.LedgerClient, plan: aa.Plan, run: Run, journal: Path, *, allow_irreversible: bool
) -> pd.DataFrame:
    """Apply a plan. If it is interrupted, print how to continue."""
    options: dict[str, Any] = {"confirm": run.confirm, "modified_by": run.modified_by}
    try:
        return aa.apply_plan(client, plan, journal=journal, allow_irreversible=allow_irreversible, **options)
    except KeyboardInterrupt:
        if run.confirm and journal.exists() and not run.demo:
            print_message(f"the journal {journal} records what is done: run the same command again to resume")
            _print_undo(journal, run, incomplete=True)
        raise


def _print_undo(journal: Path, run: Run, *, incomplete: bool) -> None:
    if run.demo:
        print_message("the demo company ends with this command, and its changes too: the next --demo begins anew")
        return
    new = journal.with_name(f"undo-{journal.name}")
    following = command_line("undo", journal, journal=new, profile=run.profile, scale=run.scale, incomplete=incomplete)
    print_message(f"to take back what this run changed: {following}")


def _sync(books: aa.LocalBooks | None, client: aa.LedgerClient, run: Run) -> None:
    """Sync the run's local books, and print the changes.

    A run without local books needs no sync.
    """
    if books is None:
        return
    try:
        synced = books.sync(client, end_date=books.period.end_date, months_a_night=0)
    except AccountingAnalyticsError as error:
        again = command_line("sync", books=run.books)
        raise with_context(error, f"the run has ended, but the local books were not synced: {again}") from None
    print_message(f"local books in {run.books} are synced: {synced.summary()}")
    for alarm in synced.alarms:
        print_message(f"ALARM: {alarm}")


def print_outcomes(plan: aa.Plan, outcomes: pd.DataFrame, *, by: str, time_zone: str, limit: int | None) -> None:
    """Print the number of each outcome, then items or their sums, then each reason once.

    Items that failed come first.
    """
    summary = plan.summary(outcomes)
    if by == "item":
        rows = _failed_first(plan.exact().assign(outcome=outcomes["outcome"].to_numpy()).drop(columns="rule"))
        print_transactions(rows, ITEMS, summary=summary, time_zone=time_zone, limit=limit)
    else:
        print(summary)
        print_totals(plan.exact_totals("rule" if by == "rule" else "category", outcomes), limit)
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in _failed_first(outcomes).to_dict("records"):
        if row["reason"]:
            reasons.setdefault((row["outcome"], row["reason"]), []).append(row["transaction_id"])
    for (outcome, reason), ids in islice(reasons.items(), limit):
        print(printable(f"{outcome} ({join_ids(ids, limit=3)}): {reason}"))
    if limit is not None and limit < len(reasons):
        print(f"{limit:,} of {len(reasons):,} reasons; --all prints every one")


def _failed_first(rows: pd.DataFrame) -> pd.DataFrame:
    from accounting_analytics.recategorization.outcomes import EXPECTED_OUTCOMES

    return rows.assign(expected=rows["outcome"].isin(EXPECTED_OUTCOMES)).sort_values("expected", kind="stable")


def _summarize(outcomes: pd.DataFrame) -> str:
    """Count the items of each outcome, in one line of text."""
    return ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes["outcome"].value_counts().items())


def require_done(outcomes: pd.DataFrame) -> None:
    """Print the summary if every item is done, else fail with advice on the next step."""
    found, summary = set(outcomes["outcome"]), _summarize(outcomes) or "nothing to do"
    if found - {"done", "already_done"}:
        advice = "; ".join(text for outcome, text in _ADVICE if outcome in found)
        raise RecategorizationIncompleteError(f"not all items are done: {summary}; {advice}")
    print_message(summary)
