"""The command ``apply``: change the books as planned."""

from __future__ import annotations

from accounting_analytics.cli.edited_plan import resolve_plan
from accounting_analytics.cli.options import (
    AllowIrreversible,
    AllRows,
    AsJson,
    Confirm,
    Journal,
    ModifiedBy,
    PlanPath,
    Profile,
    RowLimit,
    RunBy,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS
from accounting_analytics.cli.plan_run import RunOptions, print_run, run_plan
from accounting_analytics.cli.service_connection import connect_service
from accounting_analytics.errors import PlanError


def apply(
    plan: PlanPath,
    journal: Journal,
    modified_by: ModifiedBy = None,
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
    before and after, and must have changed exactly as planned.
    """
    from accounting_analytics.recategorization.plan_file import PlanFile

    file = PlanFile.read(plan)
    if not file.table.numbers:
        msg = "the plan has no items"
        raise PlanError(msg)
    with connect_service(profile, use_demo=use_demo) as (client, zone):
        planned = resolve_plan(client, file, zone)
        options = RunOptions(journal, modified_by, zone, confirm, allow_irreversible, profile, use_demo)
        run = run_plan(client, planned, options)
    print_run(run, limit=None if all_rows else limit, as_json=as_json, by=by)
