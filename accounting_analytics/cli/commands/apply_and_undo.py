"""The commands ``apply`` and ``undo``: change the books as planned, and take back what a run changed."""

from __future__ import annotations

import accounting_analytics as aa
from accounting_analytics.cli.books_after_run import BooksAfterRun
from accounting_analytics.cli.edited_plan import resolve_plan
from accounting_analytics.cli.options import (
    AllowIrreversible,
    AllRows,
    AsJson,
    BooksToSync,
    Confirm,
    IncompleteJournal,
    Journal,
    ModifiedBy,
    PlanPath,
    Profile,
    RowLimit,
    RunBy,
    UndoJournal,
    UndoneGroups,
    UndoneJournal,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, print_first_rows, print_mapping, print_message
from accounting_analytics.cli.plan_run import RunOptions, print_run, run_plan
from accounting_analytics.cli.service_or_demo import connect_service
from accounting_analytics.errors import PlanError, RecategorizationIncompleteError
from accounting_analytics.messages import count_of

_LEFT_OUT_COLUMNS = {"outcome": "left out", "transaction_id": "transaction", "reason": "reason"}


def apply(
    plan: PlanPath,
    journal: Journal,
    modified_by: ModifiedBy = None,
    books: BooksToSync = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    by: RunBy = "category",
    *,
    all_rows: AllRows = False,
    confirm: Confirm = False,
    allow_irreversible: AllowIrreversible = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Change the books as planned; a dry run without --confirm.

    The same journal resumes an interrupted run. After a confirmed run the report of the days of the plan is shown
    before and after, and must have changed exactly as planned. With --books the local books are synced then.
    """
    from accounting_analytics.recategorization.plan_file import PlanFile

    local = BooksAfterRun(books, use_demo=use_demo)
    file = PlanFile.read(plan)
    if not file.table.numbers:
        raise PlanError("the plan has no items")
    with connect_service(profile, use_demo=use_demo) as (client, zone):
        planned = resolve_plan(client, file, zone)
        options = RunOptions(journal, modified_by, zone, confirm, allow_irreversible, profile, use_demo)
        run = run_plan(client, planned, options)
        local.sync(client, run)
    print_run(run, limit=None if all_rows else limit, as_json=as_json, by=by)
    local.raise_for_error()


def undo(
    run: UndoneJournal,
    journal: UndoJournal,
    group: UndoneGroups = None,
    modified_by: ModifiedBy = None,
    books: BooksToSync = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    by: RunBy = "category",
    *,
    all_rows: AllRows = False,
    confirm: Confirm = False,
    incomplete: IncompleteJournal = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Take back what a run changed; a dry run without --confirm.

    The changes are those in the journal of the run, with --group those of one group or transaction. What another user
    has changed since, and parts of a split that were joined, are left out and listed. The same new journal resumes an
    interrupted undo. Exit code 6 if a confirmed undo leaves changes of the run in the books.
    """
    rows, local = None if all_rows else limit, BooksAfterRun(books, use_demo=use_demo)
    with connect_service(profile, use_demo=use_demo) as (client, zone):
        planned = aa.undo_plan(client, run, groups=group, incomplete=incomplete)
        left_out = planned.left_out
        for note in planned.notes:
            print_message(note)
        if not as_json:
            print_first_rows(left_out, _LEFT_OUT_COLUMNS, rows)
        options = RunOptions(journal, modified_by, zone, confirm, profile=profile, use_demo=use_demo)
        completed = run_plan(client, planned, options) if len(planned) else None
        local.sync(client, completed)
    if completed is not None:
        print_run(completed, limit=rows, as_json=as_json, by=by, others={"left_out": left_out})
    else:
        print_message("the journal has no change that can be undone; nothing was sent")
        if as_json:
            print_mapping({"left_out": left_out}, as_json=True)
    local.raise_for_error()
    remaining = int((left_out["outcome"] != "already_done").sum())
    if confirm and remaining:
        raise RecategorizationIncompleteError(
            f"{count_of(remaining, 'change')} of the run not undone: listed with the reason of each"
        )
