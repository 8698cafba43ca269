"""Commands over what is configured."""

from __future__ import annotations

import typer

from accounting_analytics.cli.options import AsJson, Profile
from accounting_analytics.cli.output import print_frame, say

config = typer.Typer(help="What is configured, and where it comes from.")


@config.command("show")
def config_show(profile: Profile = None, *, as_json: AsJson = False) -> None:
    """Show every setting, its value and where it comes from; secrets are masked."""
    from accounting_analytics.client.configuration import load_settings

    settings = load_settings(profile)
    print_frame(settings.frame(), as_json=as_json)
    there = "" if settings.file.exists() else ", which is not there"
    say(f"profile {settings.profile!r} of {settings.file}{there}")
