"""The command ``verify``: check that the books hold a plan."""

from __future__ import annotations

import accounting_analytics as aa
from accounting_analytics.cli.options import AsJson, PlanFile, Profile, UseDemo
from accounting_analytics.cli.output import print_frame
from accounting_analytics.cli.plan_outcomes import require_done
from accounting_analytics.cli.service_connection import connect_service


def verify(plan: PlanFile, profile: Profile = None, *, use_demo: UseDemo = False, as_json: AsJson = False) -> None:
    """Check that the books have every item of a plan.

    Exit code 6 if some items are not done.
    """
    with connect_service(profile, use_demo=use_demo) as (client, _):
        outcomes = aa.verify_plan(client, aa.Plan.load(plan))
    print_frame(outcomes, as_json=as_json)
    require_done(outcomes)
