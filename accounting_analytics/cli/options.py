"""Options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from accounting_analytics.exports.registry import FORMATS

StartDate = Annotated[str, typer.Option("--start-date", help="First day, inclusive, YYYY-MM-DD.")]
EndDate = Annotated[str, typer.Option("--end-date", help="Last day, inclusive, YYYY-MM-DD.")]
TimeZone = Annotated[
    str | None, typer.Option("--time-zone", help="IANA name of the zone that days are counted in.", show_default="UTC")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; amounts are text, so that no digit is lost.")]
UseDemo = Annotated[bool, typer.Option("--demo", help="Use the demo company, served for this command only.")]
Profile = Annotated[str | None, typer.Option("--profile", help="Profile of the configuration file to use.")]
ExportFormat = Annotated[str, typer.Option("--format", help=f"Format of the files: {', '.join(FORMATS)}.")]
Output = Annotated[Path, typer.Option("--output", help="Folder to write to.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="Folder that keeps what was loaded: the same command goes on from there."),
]
AllowPartial = Annotated[
    bool, typer.Option("--allow-partial", help="Go on without what cannot be loaded; results are stamped PARTIAL.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Load nothing: print how many requests and minutes it would take.")
]
Database = Annotated[
    str,
    typer.Option(
        "--database",
        envvar="ACCOUNTING_ANALYTICS_DATABASE",
        help="SQLite file, or postgresql://user@host/name (its password in PGPASSFILE).",
        show_default=False,
    ),
]
