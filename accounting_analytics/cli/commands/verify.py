"""The command ``verify``: check that the books hold a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import accounting_analytics as aa
from accounting_analytics.cli.edited_plan import resolve_plan
from accounting_analytics.cli.options import (
    AllRows,
    AsJson,
    PlanPath,
    Profile,
    RefusedBooks,
    RowLimit,
    UseDemo,
)
from accounting_analytics.cli.output import MAX_ROWS, print_mapping
from accounting_analytics.cli.plan_tables import print_outcomes, require_done, totals_tables
from accounting_analytics.cli.service_or_demo import connect_service, refuse_books


def verify(
    plan: PlanPath,
    journal: Annotated[
        Path | None, typer.Option("--journal", help="Journal that the plan was applied with; it is only read.")
    ] = None,
    books: RefusedBooks = None,
    profile: Profile = None,
    limit: RowLimit = MAX_ROWS,
    by: Annotated[
        Literal["category", "rule", "item"],
        typer.Option("--by", help="What a row is: the items of a new category or a rule, or an item."),
    ] = "category",
    *,
    all_rows: AllRows = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Check that the books have every item of a plan.

    With the journal that the plan was applied with, an item whose category is unchanged is not done if it was last
    sent at least 60 seconds ago; until then, and without the journal, it is unknown. Exit code 6 if some items are not
    done or unknown.
    """
    from accounting_analytics.recategorization.plan_file import PlanFile

    refuse_books(books, "`verify` reads what the service has now, so leave it out")
    file = PlanFile.read(plan)
    with connect_service(profile, use_demo=use_demo) as (client, zone):
        planned = resolve_plan(client, file, zone)
        outcomes = aa.verify_plan(client, planned, journal=journal)
    if as_json:
        print_mapping({"outcomes": outcomes, **totals_tables(planned, outcomes)}, as_json=True)
    else:
        print_outcomes(planned, outcomes, by=by, time_zone=zone, limit=None if all_rows else limit)
    require_done(outcomes)
