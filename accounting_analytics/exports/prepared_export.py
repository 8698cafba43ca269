"""What every format starts with: the books, their tables, and a manifest that lists no files yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from accounting_analytics.arguments import to_path
from accounting_analytics.errors import InputError
from accounting_analytics.exports.manifest import ExportedMonth, Manifest
from accounting_analytics.exports.star_schema.build import StarSchema
from accounting_analytics.exports.star_schema.exported_books import ExportedBooks
from accounting_analytics.exports.verdict import describe_agreement
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    import datetime as dt

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport


class PreparedExport(NamedTuple):
    """Validated books, the manifest of their export without its files, and when their report proved them."""

    books: ExportedBooks
    manifest: Manifest
    proven_at: dt.datetime | None

    @classmethod
    def of_frames(
        cls,
        output: str | Path,
        line_entries: pd.DataFrame,
        ledgers: pd.DataFrame,
        report: CashFlowReport,
        *,
        currency: str | None,
        fiscal_year_start_month: int,
    ) -> Self:
        """Validate the frames, and compare the report with the line entries.

        Raises
        ------
        FrameError
            A table is not valid, or the scales differ.
        InputError
            An argument is of another type, or the month is not one.
        """
        if fiscal_year_start_month not in range(1, 13):
            msg = f"fiscal_year_start_month is {quote(fiscal_year_start_month)}; it is a month from 1 to 12"
            raise InputError(msg)
        books = ExportedBooks.from_frames(line_entries, ledgers, report)
        verdict, is_proven = describe_agreement(books)
        proven_at = books.report.read_at if is_proven else None
        manifest = Manifest(
            folder=Path(output),
            start_date=str(report.period.start_date),
            end_date=str(report.period.end_date),
            time_zone=report.period.time_zone,
            scale=books.scale,
            currency=currency,
            fiscal_year_start_month=fiscal_year_start_month,
            partial=books.is_partial,
            verdict=verdict,
            files=(),
            notes=books.notes,
            months=tuple(ExportedMonth.of(name, books.read_at, proven_at) for name in books.lines_by_month()),
        )
        return cls(books, manifest, proven_at)

    def star_schema(self) -> StarSchema:
        """Build balances and dimensions of the star schema.

        Raises
        ------
        FrameError
            An amount or a balance has more than 18 digits.
        """
        return StarSchema.from_books(
            self.books,
            verdict=self.manifest.verdict,
            proven_at=self.proven_at,
            currency=self.manifest.currency,
            fiscal_year_start_month=self.manifest.fiscal_year_start_month,
        )


def require_whole(replace_months: bool, export_format: str) -> None:  # noqa: FBT001 (the option to be refused)
    """Refuse to replace single months in a format that is always written as a whole."""
    if replace_months:
        msg = (
            f"the format {export_format} is written as a whole; single months are replaced in the format parquet only; "
            "nothing was written"
        )
        raise InputError(msg)


def file_path(output: str | Path, suffix: str) -> Path:
    """Path of a file to write or replace.

    Raises
    ------
    InputError
        It has another suffix, is a folder, or its folder does not exist.
    """
    path = to_path(output, "output")
    if path.suffix.lower() != suffix:
        msg = f"{path}: this format writes one file; name a file that ends in {suffix}; nothing was written"
        raise InputError(msg)
    if path.is_dir():
        msg = f"{path} is a folder; name a file to write; nothing was written"
        raise InputError(msg)
    if not path.parent.is_dir():
        msg = f"{path.parent} is not a folder; create it, or name a file in another folder; nothing was written"
        raise InputError(msg)
    return path
