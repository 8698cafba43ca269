"""The commands ``doctor`` and ``config``: checks of this machine and the service, and the configuration in effect."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import accounting_analytics as aa
from accounting_analytics.cli.options import (
    AsJson,
    OptionalEndDate,
    OptionalStartDate,
    OutputToCheck,
    Profile,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_frame, print_message

if TYPE_CHECKING:
    from datetime import date

    from accounting_analytics.demo_company import DemoCompany


def doctor(
    start_date: OptionalStartDate = None,
    end_date: OptionalEndDate = None,
    time_zone: TimeZone = None,
    output: OutputToCheck = Path(),
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Check this machine, the service and its responses.

    Responses must agree with each other. Nothing is changed.
    """
    from accounting_analytics.cli.result_printing import print_diagnosis

    with ExitStack() as stack:
        client = None
        if use_demo:
            company = stack.enter_context(aa.demo())
            client = company.client
            if start_date is None and end_date is None:
                start_date, end_date = (day.isoformat() for day in _last_quarter(company))
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
