"""The command ``export``: files of the books for BI tools, in one of the registered formats."""

from __future__ import annotations

from typing import Any

import typer

import accounting_analytics as aa
from accounting_analytics.cli.discover_and_load import LoadOptions, load_books
from accounting_analytics.cli.options import (
    AllowPartial,
    AsJson,
    Checkpoint,
    Currency,
    DryRun,
    EndDate,
    ExportFormat,
    ExportOutput,
    FiscalYearStartMonth,
    JournalOfChanges,
    Parents,
    Profile,
    ReplaceMonths,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_message
from accounting_analytics.cli.service_connection import connect_service
from accounting_analytics.errors import IncompleteLoadError, InputError


def export(
    start_date: StartDate,
    end_date: EndDate,
    output: ExportOutput,
    export_format: ExportFormat = "parquet",
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    parents: Parents = None,
    profile: Profile = None,
    currency: Currency = None,
    fiscal_year_start_month: FiscalYearStartMonth = None,
    journal: JournalOfChanges = None,
    *,
    replace_months: ReplaceMonths = False,
    dry_run: DryRun = False,
    allow_partial: AllowPartial = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Write files for BI tools.

    They are a folder of Parquet or CSV files with a manifest, a DuckDB file, or an Excel workbook.

    Facts are line entries, cash flow lines, transfers between own accounts, and balances of every day and month;
    dimensions are ledgers, days, transactions, tags and loads. A folder has the export in DIR/current, and is replaced
    in one step; `verify-export DIR` checks it. With --replace-months (Parquet) only the months of the period are loaded
    and written; all others stay as they are, and days are counted in the time zone of the export. With --journal the
    period is extended to every exported month that the applied plan changed.
    """
    from accounting_analytics.exports import Manifest, VersionFolder, check_output
    from accounting_analytics.exports.manifest import require_currency
    from accounting_analytics.exports.parquet_files import extend_to_changes, keep_settings, period_with
    from accounting_analytics.messages import join_ids
    from accounting_analytics.periods import Period
    from accounting_analytics.recategorization.journal import read_sent_changes

    if journal is not None and not replace_months:
        msg = "--journal names months to replace, so it needs --replace-months; nothing was loaded"
        raise InputError(msg)
    check_output(export_format, output)  # before the load, not after it
    require_currency(currency)
    current = VersionFolder(output).current if replace_months and export_format == "parquet" else None
    earlier = Manifest.load(current) if current else None
    settings: dict[str, Any] = {"currency": currency, "fiscal_year_start_month": fiscal_year_start_month}
    if earlier is not None:
        settings = keep_settings(earlier, settings)
    zone_of_export = time_zone if earlier is None else time_zone or earlier.time_zone
    with connect_service(profile, zone_of_export, use_demo=use_demo) as (client, zone):
        period = Period.of(start_date, end_date, zone)
        if journal is not None and earlier is not None:
            changes, _, note = read_sent_changes(journal, instance_id=client.instance_id, incomplete=True)
            if note is not None:
                print_message(note)
            period, months = extend_to_changes(earlier, period, [change.datetime for change in changes])
            days = f"{period.start_date} to {period.end_date} are loaded and replaced"
            print_message(f"{journal} changed {join_ids(months) or 'no exported month'}, so {days}")
        options = LoadOptions(checkpoint, dry_run, as_json, allow_partial, parents)
        discovered = period if earlier is None else period_with(earlier, period)
        ledgers, lines = load_books(client, period.start_date, period, options, report_count=1, discovered=discovered)
        reported = aa.load_cash_flow_report(client, period.start_date, period.end_date, time_zone=period.time_zone)
    manifest = aa.export(
        output,
        format=export_format,
        line_entries=lines,
        ledgers=ledgers,
        report=reported,
        replace_months=replace_months,
        currency=settings["currency"],
        fiscal_year_start_month=settings["fiscal_year_start_month"] or 1,
    )
    typer.echo(manifest.to_json() if as_json else manifest.explain())
    if manifest.partial:
        msg = f"PARTIAL: lines are missing in {output}, and its manifest says so; run it again to load the rest"
        raise IncompleteLoadError(msg)
