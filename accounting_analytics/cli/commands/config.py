"""The commands ``config``: the configuration in effect."""

from __future__ import annotations

import typer

from accounting_analytics.cli.options import AsJson, Profile
from accounting_analytics.cli.output import print_frame, print_message

config = typer.Typer(help="The configuration in effect and its sources.")


@config.command("show")
def show_config(profile: Profile = None, *, as_json: AsJson = False) -> None:
    """Show every setting with its value and source; secrets are masked."""
    from accounting_analytics.client.settings import load_settings

    settings = load_settings(profile)
    print_frame(settings.frame, as_json=as_json)
    missing = "" if settings.file.exists() else ", which does not exist"
    print_message(f"profile {settings.profile!r} of {settings.file}{missing}")
