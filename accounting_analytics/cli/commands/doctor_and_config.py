"""The commands ``doctor`` and ``config``: checks of this machine and the service, and the configuration in effect."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.options import (
    AsJson,
    PeriodText,
    Profile,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_frame, print_message
from accounting_analytics.cli.service_or_demo import configured_zone

if TYPE_CHECKING:
    from datetime import date

    from accounting_analytics.demo_company import DemoCompany


def doctor(
    start_date: Annotated[
        str | None, typer.Option("--start-date", metavar="DATE", help="First day to check, inclusive.")
    ] = None,
    end_date: Annotated[
        str | None,
        typer.Option("--end-date", metavar="DATE", help="Last day, inclusive; default: the last three full months."),
    ] = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    output: Annotated[Path, typer.Option("--output", help="Folder to check for space and write access.")] = Path(),
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Check this machine, the service and its responses.

    Responses must agree with each other. Nothing is changed.
    """
    from accounting_analytics.cli.terminal_tables import print_diagnosis

    with ExitStack() as stack:
        client = None
        if use_demo:
            company = stack.enter_context(aa.demo())
            client = company.client
            if start_date is None and end_date is None and period is None:
                start_date, end_date = (day.isoformat() for day in _last_quarter(company))
        if period is not None:  # only then is the configuration needed before it is checked
            zone = time_zone or (client.time_zone if client else None) or configured_zone(None, profile)
            start_date, end_date = DayOptions(start_date, end_date, period).optional_dates(zone)
        diagnosis = aa.doctor(client, start_date, end_date, time_zone=time_zone, profile=profile, output=output)
    if as_json:
        typer.echo(diagnosis.to_json())
    else:
        print_diagnosis(diagnosis)
    if diagnosis.failed:
        print_message(f"error: {diagnosis.summary()}")
    raise typer.Exit(diagnosis.exit_code)


def _last_quarter(company: DemoCompany) -> tuple[date, date]:
    """First and last day of the last three months of the demo's books."""
    from accounting_analytics.periods import Period

    return Period(company.start_date, company.end_date).months()[-3].start_date, company.end_date


config = typer.Typer(help="The configuration in effect and its sources.")


@config.command("show")
def show_config(profile: Profile = None, *, as_json: AsJson = False) -> None:
    """Show every setting with its value and source; secrets are masked."""
    from accounting_analytics.client.settings import load_settings

    settings = load_settings(profile)
    print_frame(settings.frame, as_json=as_json)
    missing = "" if settings.file.exists() else ", which does not exist"
    print_message(f"profile {settings.profile!r} of {settings.file}{missing}")
