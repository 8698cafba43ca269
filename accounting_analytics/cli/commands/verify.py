"""The command ``verify``: check that the books hold a plan."""

from __future__ import annotations

import accounting_analytics as aa
from accounting_analytics.cli.options import AppliedJournal, AsJson, PlanFile, Profile, UseDemo
from accounting_analytics.cli.output import print_frame
from accounting_analytics.cli.plan_outcomes import require_done
from accounting_analytics.cli.service_connection import connect_service


def verify(
    plan: PlanFile,
    journal: AppliedJournal = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Check that the books have every item of a plan.

    With the journal that the plan was applied with, an item whose category is unchanged is not done if it was last
    sent at least 60 seconds ago; until then, and without the journal, it is unknown. Exit code 6 if some items are not
    done or unknown.
    """
    with connect_service(profile, use_demo=use_demo) as (client, _):
        outcomes = aa.verify_plan(client, aa.Plan.load(plan), journal=journal)
    print_frame(outcomes, as_json=as_json)
    require_done(outcomes)
