"""The command ``discover``: the chart of accounts."""

from __future__ import annotations

import accounting_analytics as aa
from accounting_analytics.cli.options import AsJson, EndDate, Parents, Profile, StartDate, TimeZone, UseDemo
from accounting_analytics.cli.output import print_frame, print_notes
from accounting_analytics.cli.parents_file import read_parents
from accounting_analytics.cli.service_connection import connect_service

_COLUMNS = ["sort_code", "name", "type", "sub_type", "report_cash_flow", "id", "parent_id", "found_by"]
_OPTIONAL = ["found_by", "parent_id", "sub_type", "sort_code", "report_cash_flow", "type"]


def discover(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    parents: Parents = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the ledgers found in reports and line entries."""
    given = None if parents is None else read_parents(parents)
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        ledgers = aa.discover_ledgers(client, start_date, end_date, time_zone=zone, parents=given)
    print_notes(ledgers)
    print_frame(ledgers, as_json=as_json, columns=_COLUMNS, optional=_OPTIONAL)
