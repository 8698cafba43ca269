"""The command ``verify-export``: the files of an export against its manifest."""

from __future__ import annotations

import typer

from accounting_analytics.cli.options import AsJson, ExportFolder
from accounting_analytics.errors import BooksError


def verify_export(folder: ExportFolder, *, as_json: AsJson = False) -> None:
    """Check the files of an export against its manifest.

    Rows, exact sums and digests are computed again. Files that are missing or not listed, keys that occur twice,
    foreign keys without a row and months without a row in dim_load are named too. Exit code 3 if anything differs.
    """
    from accounting_analytics.exports import verify_export as verify

    verification = verify(folder)
    typer.echo(verification.to_json() if as_json else verification.explain())
    if not verification.verified:
        msg = f"{verification.folder} is not as it was written; export it again, and verify it before it is read"
        raise BooksError(msg)
