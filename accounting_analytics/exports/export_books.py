"""Export of books to files that other programs read: one function, and one writer for each format."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import did_you_mean, quote, shorten
from accounting_analytics.exports.books_to_export import ExportedBooks
from accounting_analytics.exports.formats import FORMATS
from accounting_analytics.exports.manifest import MANIFEST, ExportedFile, Manifest
from accounting_analytics.exports.replaced_outputs import OutputFile, VersionFolder
from accounting_analytics.exports.star_schema.build import build_star_schema, connect
from accounting_analytics.exports.writers import (
    DatabaseFile,
    write_csv,
    write_duckdb,
    write_parquet,
)
from accounting_analytics.reports.books.value import to_books

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accounting_analytics.reports.books.value import Books, PeriodLike


_MAX_REASON = 300


class _Writer(NamedTuple):
    """The type of a format's output, and the function that writes it."""

    output: Callable[[str | Path], VersionFolder | OutputFile]  # its constructor refuses an unsuitable output
    write: Callable[[duckdb.DuckDBPyConnection, Path, Manifest], Iterator[ExportedFile]]


_WRITERS = {
    "parquet": _Writer(partial(VersionFolder, suffix=".parquet"), write_parquet),
    "duckdb": _Writer(DatabaseFile, write_duckdb),
    "csv": _Writer(partial(VersionFolder, suffix=".csv"), write_csv),
}


def export(
    books: Books,
    output: str | Path,
    period: PeriodLike = None,
    *,
    format: str = "parquet",  # noqa: A002 (the name of the option of the command)
) -> Manifest:
    """Write the books of a period to files that other programs read.

    All formats have the same figures, and replace an earlier export in one step: a reader
    sees the earlier export or the new one.

    ========== ======================================================================================================
    parquet    A folder: ``output/current`` has the tables of the star schema, in ``fact_*/month=YYYY-MM/`` and
               ``dim_*.parquet``, with a manifest. The version before is kept until the next export.
    duckdb     A file ``.duckdb``: the tables with keys, relations and comments, views with names instead of ids, and a
               view for each question that has no parameters. DuckDB 1.0 and later read it.
    csv        A folder for people: a file a table, with times in local columns ``_local``. Text that a spreadsheet
               would take for a formula begins with an apostrophe.
    ========== ======================================================================================================

    Parameters
    ----------
    books : Books
        The books, which name company, currency and fiscal year. Where they have the service's report of just these days
        it is exported, and the lines are compared with it; local books state what their last sync proved of each month;
        else the report is recomputed, and the manifest says that nothing was compared.
    output : path
        What the format writes: a folder that is new, empty, or has an earlier export of the format; or a file.
    period : period-like, optional
        The days; by default the period of the books.
    format : {"parquet", "duckdb", "csv"}
        The format.

    Returns
    -------
    Manifest
        Files with rows, exact sums and digests, how report and line entries agree, and when each month was read.

    Raises
    ------
    FrameError
        A table is not valid, the scales differ, or an amount or a balance has more than 18 digits.
    InputError
        An argument is of another type, the report is filtered by tags, the lines are a person's choice, the output
        contains other files, is in use, cannot be written or does not fit the books, or a package that the format needs
        is not installed.
    """
    target = check_output(format, output)
    books = to_books(books)
    books.require_loaded("an export")
    days, first_month = books.days_of(period), books.fiscal_year_start_month
    try:
        with (
            target.replaced() as path,
            TemporaryDirectory(dir=path if path.is_dir() else path.parent) as spill,
            connect(path if format == "duckdb" else None, spill=Path(spill)) as database,
        ):
            exported = ExportedBooks.from_books(books, days)
            build_star_schema(
                database,
                exported,
                currency=books.currency,
                fiscal_year_start_month=first_month,
                has_keys=format == "duckdb",
            )
            names = (books.company, books.currency)
            manifest = _manifest(database, exported, target.location, names, first_month)
            files = _WRITERS[format].write(database, path, manifest)
            manifest = replace(manifest, files=tuple(sorted(files, key=lambda file: file.name)))
            if path.is_dir():
                (path / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
            return manifest
    except (OSError, duckdb.Error) as error:
        raise InputError(
            f"the export to {output} failed ({_reason(error)}); the previous content is unchanged"
        ) from error


def _reason(error: OSError | duckdb.Error) -> str:
    """Return the system's reason of an error.

    An error of DuckDB may have only the error number.
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    number = re.search(r'"errno":"(\d+)"', str(error))
    return os.strerror(int(number[1])) if number else shorten(str(error), limit=_MAX_REASON)


def check_output(export_format: str, output: str | Path) -> VersionFolder | OutputFile:
    """Check that a format can be written to `output`, before books are loaded."""
    if export_format not in list(_WRITERS):  # the format may be a list, which cannot be a key
        hint = did_you_mean(export_format, FORMATS)
        listed = f"the formats are: {', '.join(FORMATS)}"
        raise InputError(f"unknown export format {quote(export_format)}; {hint or listed}")
    return _WRITERS[export_format].output(output)


def _manifest(
    database: duckdb.DuckDBPyConnection,
    books: ExportedBooks,
    folder: Path,
    names: tuple[str | None, str | None],
    fiscal_year_start_month: int,
) -> Manifest:
    """Make a manifest that lists no files yet. Each verdict states the first month that has it."""
    by_verdict = "select verdict, min(month), bool_or(is_partial) from dim_load group by verdict order by min(month)"
    found = database.execute(by_verdict).fetchall()
    return Manifest(
        folder=folder,
        start_date=str(books.period.start_date),
        end_date=str(books.period.end_date),
        time_zone=books.period.time_zone,
        scale=books.report.scale,
        company=names[0],
        currency=names[1],
        fiscal_year_start_month=fiscal_year_start_month,
        partial=any(is_partial for *_, is_partial in found),
        verdict=found[0][0] if len(found) == 1 else " ".join(f"From {month}: {verdict}" for verdict, month, _ in found),
        known_ledgers=books.known_ledgers,
        notes=books.notes,
        local_books=books.local_books,
        books_version=books.books_version,
    )
