"""The commands ``export`` and ``verify-export``: files of the books for BI tools, and whether they are as written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import LoadOptions, load_books, require_options_of
from accounting_analytics.cli.options import (
    AllowPartial,
    AsJson,
    Checkpoint,
    DryRun,
    EndDate,
    LocalBooks,
    Parents,
    PeriodText,
    Profile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.service_or_demo import connect_for_days, presentation_of
from accounting_analytics.errors import BooksError, IncompleteLoadError
from accounting_analytics.exports.formats import FORMATS

if TYPE_CHECKING:
    from accounting_analytics.client import LedgerClient
    from accounting_analytics.periods import Period

_OUTPUTS = ", ".join(f"{name} ({output})" for name, output in FORMATS.items())


def export(
    output: Annotated[Path, typer.Option("--output", help="Folder or file to write, as the format needs.")],
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    export_format: Annotated[
        str, typer.Option("--format", help=f"Format, and what --output is then: {_OUTPUTS}.")
    ] = "parquet",
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    parents: Parents = None,
    books: LocalBooks = None,
    profile: Profile = None,
    currency: Annotated[
        str | None,
        typer.Option(
            "--currency",
            help="Name of the currency, such as USD; the service does not state it.",
            show_default="the configured one",
        ),
    ] = None,
    fiscal_year_start_month: Annotated[
        int | None,
        typer.Option(
            "--fiscal-year-start-month",
            metavar="N",
            min=1,
            max=12,
            help="First month of the fiscal year.",
            show_default="the configured one",
        ),
    ] = None,
    *,
    dry_run: DryRun = False,
    allow_partial: AllowPartial = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Write files for BI tools.

    They are a folder of Parquet or CSV files with a manifest, a DuckDB file, or an Excel workbook.

    Facts are line entries, cash flow lines, transfers between own accounts, and balances of every day and month;
    dimensions are ledgers, days, transactions, tags and loads. A folder has the export in DIR/current, and is replaced
    in one step; `verify-export DIR` checks it. With --books a month is proven by the last sync.
    """
    from accounting_analytics.exports import check_output

    configured = presentation_of(profile, use_demo=use_demo)
    currency = configured.currency if currency is None else currency
    if fiscal_year_start_month is None:  # a workbook has no fiscal years
        fiscal_year_start_month = 1 if export_format == "excel" else configured.fiscal_year_start_month
    check_output(export_format, output, fiscal_year_start_month)  # before the load
    given = DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        options = LoadOptions(checkpoint, dry_run, as_json, allow_partial, parents)
        source = _read_source(client, days, options)
    manifest = aa.export(
        output,
        format=export_format,
        **source,
        currency=currency,
        fiscal_year_start_month=fiscal_year_start_month,
    )
    typer.echo(manifest.to_json() if as_json else manifest.explain())
    if manifest.partial:
        raise IncompleteLoadError(
            f"PARTIAL: lines are missing in {output}, and its manifest says so; run it again to load the rest"
        )


def _read_source(client: LedgerClient | aa.Books, days: Period, options: LoadOptions) -> dict[str, Any]:
    """Local books with the days to export; or what is loaded from a service, with its report."""
    if isinstance(client, aa.Books):
        require_options_of(client, options)
        return {"line_entries": client, "period": days}
    ledgers, lines = load_books(client, days.start_date, days, options, report_count=1)
    reported = aa.load_cash_flow_report(client, days.start_date, days.end_date, time_zone=days.time_zone)
    return {"line_entries": lines, "ledgers": ledgers, "report": reported}


def verify_export(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of an export, or one version of it.", show_default=False)
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Check the files of an export against its manifest.

    Rows, exact sums and digests are computed again. Files that are missing or not listed are named too. Exit code 3 if
    anything differs.
    """
    from accounting_analytics.exports import verify_export as verify

    verification = verify(folder)
    typer.echo(verification.to_json() if as_json else verification.explain())
    if not verification.verified:
        raise BooksError(
            f"{verification.folder} is not as it was written; export it again, and verify it before it is read"
        )
