"""Export of books to files that other programs read: one function, and one writer a format."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from accounting_analytics.arguments import require_type
from accounting_analytics.errors import InputError
from accounting_analytics.exports.books import ExportedBooks, ProvenBooks, describe_agreement
from accounting_analytics.exports.formats import FORMATS
from accounting_analytics.exports.manifest import ExportedMonth, Manifest, export_folder, join_verdicts
from accounting_analytics.exports.star_schema.star_database import StarDatabase
from accounting_analytics.exports.version_folder import CURRENT, VersionFolder
from accounting_analytics.exports.writers import (
    duckdb_path,
    excel_path,
    write_csv_files,
    write_duckdb,
    write_excel,
    write_parquet,
)
from accounting_analytics.messages import quote, shorten
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.exports.books import MonthProof

_MAX_REASON = 300


class Writer(NamedTuple):
    """How a format is written."""

    check: Callable[[str | Path], Path | VersionFolder]  # refuses an unsuitable output, and returns what to write
    write: Callable[..., Manifest]
    has_fiscal_years: bool = True


_WRITERS = {
    "parquet": Writer(partial(export_folder, suffix=".parquet"), write_parquet),
    "duckdb": Writer(duckdb_path, write_duckdb),
    "excel": Writer(excel_path, write_excel, has_fiscal_years=False),
    "csv": Writer(partial(export_folder, suffix=".csv"), write_csv_files),
}


def export(
    output: str | Path,
    *,
    line_entries: pd.DataFrame | ProvenBooks,
    ledgers: pd.DataFrame | None = None,
    report: CashFlowReport | None = None,
    period: Period | None = None,
    format: str = "parquet",  # noqa: A002 (the name of the option of the command)
    currency: str | None = None,
    fiscal_year_start_month: int = 1,
) -> Manifest:
    """Write the books of a period to files that other programs read.

    All formats have the same figures, and replace an earlier export in one step: a reader sees that one or the new one.

    ========== ======================================================================================================
    parquet    A folder: ``output/current`` has the tables of the star schema, in ``fact_*/month=YYYY-MM/`` and
               ``dim_*.parquet``, with a manifest. The version before is kept until the next export.
    duckdb     A file ``.duckdb``: the tables with keys, relations and comments, views with names instead of ids, and a
               view for each question that has no parameters. DuckDB 1.0 and later read it.
    excel      A file ``.xlsx`` for people: the sheets ``report``, ``lines`` and ``ledgers``. Amounts are numbers, times
               are local, text is never a formula, and text of more than 32,767 characters is cut and ends in ``...``.
    csv        A folder for people: a file a table, with times in local columns ``_local``. Text that a spreadsheet
               would take for a formula begins with an apostrophe.
    ========== ======================================================================================================

    Parameters
    ----------
    output : path
        What the format writes: a folder that is new, empty, or has an earlier export of the format; or a file.
    line_entries : DataFrame or Books
        :class:`~accounting_analytics.schemas.LineEntries`; those of the report's period are exported. Or local books:
        then `ledgers` and `report` are left out, and the verdict of a month is that of the last sync.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    report : CashFlowReport
        Its lines, balances, period and time zone; local dates are in that zone.
    period : Period, optional
        Days of local books; by default all that they have.
    format : {"parquet", "duckdb", "excel", "csv"}
        The format.
    currency : str, optional
        Name of the currency, such as ``USD``; the service does not state it.
    fiscal_year_start_month : int
        First month of the fiscal year, 1 to 12; a workbook has no fiscal years.

    Returns
    -------
    Manifest
        Files with rows, exact sums and digests, how report and line entries agree, and when each month was read.

    Raises
    ------
    FrameError
        A table is not valid, the scales differ, or an amount or a balance has more than 18 digits.
    InputError
        An argument is missing or of another type, the report is filtered by tags, the output contains other files, is
        in use, cannot be written or does not fit the books, or a package that the format needs is not installed.
    """
    writer = _writer(format)
    _require_fiscal_years(writer, fiscal_year_start_month)
    checked = writer.check(output)
    folder = checked.path / CURRENT if isinstance(checked, VersionFolder) else checked.parent
    if fiscal_year_start_month not in range(1, 13):
        raise InputError(f"fiscal_year_start_month is {quote(fiscal_year_start_month)}; it is a month from 1 to 12")
    source = _read_books(line_entries, ledgers, report, period)
    manifest = _manifest(source, folder, currency, fiscal_year_start_month)
    try:
        with StarDatabase(
            source.books, source.proofs, currency=currency, fiscal_year_start_month=fiscal_year_start_month
        ) as star:
            return writer.write(checked, star, manifest)
    except (OSError, duckdb.Error) as error:
        raise InputError(
            f"the export to {output} failed ({_reason(error)}); the previous content is unchanged"
        ) from error


def _reason(error: OSError | duckdb.Error) -> str:
    """Reason of the system, also where DuckDB states its number only."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    number = re.search(r'"errno":"(\d+)"', str(error))
    return os.strerror(int(number[1])) if number else shorten(str(error), limit=_MAX_REASON)


def export_parquet(
    output: str | Path,
    *,
    line_entries: pd.DataFrame | ProvenBooks,
    ledgers: pd.DataFrame | None = None,
    report: CashFlowReport | None = None,
    period: Period | None = None,
    currency: str | None = None,
    fiscal_year_start_month: int = 1,
) -> Manifest:
    """Write the books of a period as a star schema of Parquet files: :func:`export` with the format ``"parquet"``.

    Parameters
    ----------
    output, line_entries, ledgers, report, period, currency, fiscal_year_start_month
        As in :func:`export`.

    Returns
    -------
    Manifest
        Files with rows, exact sums and digests, how report and line entries agree, and when each month was read.

    Raises
    ------
    FrameError, InputError
        As in :func:`export`.
    """
    return export(
        output,
        line_entries=line_entries,
        ledgers=ledgers,
        report=report,
        period=period,
        currency=currency,
        fiscal_year_start_month=fiscal_year_start_month,
    )


def check_output(export_format: str, output: str | Path, fiscal_year_start_month: int = 1) -> bool:
    """Check, before the books are loaded, that a format can be written to `output`; whether it has fiscal years."""
    writer = _writer(export_format)
    _require_fiscal_years(writer, fiscal_year_start_month)
    writer.check(output)
    return writer.has_fiscal_years


def _require_fiscal_years(writer: Writer, fiscal_year_start_month: int) -> None:
    """Refuse a fiscal year that the format cannot state."""
    if fiscal_year_start_month != 1 and not writer.has_fiscal_years:
        raise InputError(
            "a workbook has no fiscal years; omit fiscal_year_start_month, or use the format parquet, duckdb or csv"
        )


def _writer(export_format: str) -> Writer:
    if export_format not in list(_WRITERS):  # a list cannot be a key
        raise InputError(f"unknown export format {quote(export_format)}; the formats are: {', '.join(FORMATS)}")
    return _WRITERS[export_format]


class _Source(NamedTuple):
    """Books to export, what proves each month, and which local books they are from."""

    books: ExportedBooks
    proofs: dict[str, MonthProof]
    verdict: str
    local_books: str | None = None
    books_version: int | None = None


def _read_books(
    line_entries: pd.DataFrame | ProvenBooks,
    ledgers: pd.DataFrame | None,
    report: CashFlowReport | None,
    period: Period | None,
) -> _Source:
    """Read local books, whose syncs proved them; or take frames, and compare them with the report."""
    if isinstance(line_entries, ProvenBooks):
        if ledgers is not None or report is not None:
            raise InputError(
                "local books have ledgers, and were compared with the service's reports when they were synced: leave "
                "ledgers and report out; nothing was written"
            )
        require_type(
            period, (Period, type(None)), "period", "Period('2026-01-01', '2026-03-31', books.time_zone) is one"
        )
        days = line_entries.period if period is None else period
        proofs = line_entries.month_proofs(days)
        verdict = join_verdicts((month, proof.verdict) for month, proof in proofs.items())
        books = ExportedBooks.from_books(line_entries, days)
        return _Source(books, proofs, verdict, line_entries.source, line_entries.version)
    if period is not None:
        raise InputError("period chooses days of local books; frames are exported for the days of their report")
    if ledgers is None or report is None:
        raise InputError("ledgers and report are missing; only local books are exported without them")
    books = ExportedBooks.from_frames(line_entries, ledgers, report)
    verdict, is_proven = describe_agreement(books)
    return _Source(books, books.same_proofs(verdict, books.report.read_at if is_proven else None), verdict)


def _manifest(source: _Source, folder: Path, currency: str | None, fiscal_year_start_month: int) -> Manifest:
    """Manifest of books, without its files."""
    books, proofs = source.books, source.proofs
    return Manifest(
        folder=folder,
        start_date=str(books.period.start_date),
        end_date=str(books.period.end_date),
        time_zone=books.period.time_zone,
        scale=books.scale,
        currency=currency,
        fiscal_year_start_month=fiscal_year_start_month,
        partial=books.is_partial or not all(proof.is_complete for proof in proofs.values()),
        verdict=source.verdict,
        known_ledgers=books.known_ledgers,
        files=(),
        notes=books.notes,
        months=tuple(ExportedMonth.of(name, proof.read_at, proof.proven_at) for name, proof in proofs.items()),
        local_books=source.local_books,
        books_version=source.books_version,
    )
