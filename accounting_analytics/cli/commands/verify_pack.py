"""The command ``verify-pack``: the check of a pack that someone sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.options import AsJson
from accounting_analytics.errors import BooksError


def verify_pack(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The pack: an HTML file.", show_default=False)],
    fingerprint: Annotated[
        str | None,
        typer.Option(
            "--fingerprint",
            metavar="F",
            help="Fingerprint that the mail, the run's log or the sender states.",
            show_default=False,
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Check a pack that you received, without the service.

    Every figure is recomputed from the entries in the page. With the fingerprint, which is the SHA-256 of the file, any
    alteration of the file is found. Exit code 3 if a check fails, 2 if the file is not a pack.
    """
    verification = aa.verify_pack(file, fingerprint=fingerprint)
    typer.echo(verification.to_json() if as_json else verification.explain())
    if not verification.verified:
        raise BooksError(
            f"{file} is not the page as it was written; ask its sender for the pack and its fingerprint again"
        )
