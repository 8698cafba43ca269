"""The command ``export``: files of the books for BI tools, in one of the registered formats."""

from __future__ import annotations

import accounting_analytics as aa
from accounting_analytics.cli.discover_and_load import LoadOptions, load_books
from accounting_analytics.cli.options import (
    AllowPartial,
    AsJson,
    Checkpoint,
    DryRun,
    EndDate,
    ExportFormat,
    Output,
    Parents,
    Profile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_frame
from accounting_analytics.cli.service_connection import connect_service
from accounting_analytics.errors import IncompleteLoadError


def export(
    start_date: StartDate,
    end_date: EndDate,
    output: Output,
    export_format: ExportFormat = "parquet",
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    parents: Parents = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    allow_partial: AllowPartial = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Write files for BI tools, with a manifest.

    The files have line entries, cash flow lines and ledgers.
    """
    from accounting_analytics.exports import VersionFolder, find_export
    from accounting_analytics.periods import Period

    export_to = find_export(export_format)
    if not dry_run:
        VersionFolder(output)  # refuses a folder with other files before the load, not after it
    with connect_service(profile, time_zone, use_demo=use_demo) as (client, zone):
        period = Period.of(start_date, end_date, zone)
        options = LoadOptions(checkpoint, dry_run, as_json, allow_partial, parents)
        ledgers, lines = load_books(client, period.start_date, period, options, report_count=1)
        reported = aa.load_cash_flow_report(client, start_date, end_date, time_zone=period.time_zone)
    manifest = export_to(output, line_entries=lines, ledgers=ledgers, report=reported)
    print_frame(manifest.frame, as_json=as_json, title="PARTIAL" if manifest.partial else "")
    if manifest.partial:
        msg = f"PARTIAL: lines are missing in {output}, and its manifest says so; run it again to load the rest"
        raise IncompleteLoadError(msg)
