"""The formats that books can be exported to, by the name that ``accounting-analytics export --format`` takes."""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.exports.manifest import Manifest


class ExportFormat(NamedTuple):
    """A format, with the names of its functions, which are imported when they are used.

    Attributes
    ----------
    output : str
        What the export is.
    export : str
        Function that writes it.
    check : str
        Function that refuses an unsuitable output.
    """

    output: str
    export: str
    check: str


_ROOM = "accounting_analytics.exports"
FORMATS = {
    "parquet": ExportFormat("a folder", f"{_ROOM}.parquet:export_parquet", f"{_ROOM}.parquet:parquet_folder"),
    "duckdb": ExportFormat("a file .duckdb", f"{_ROOM}.duckdb_file:export_duckdb", f"{_ROOM}.duckdb_file:duckdb_path"),
    "excel": ExportFormat("a file .xlsx", f"{_ROOM}.excel_workbook:export_excel", f"{_ROOM}.excel_workbook:excel_path"),
    "csv": ExportFormat("a folder", f"{_ROOM}.csv_files:export_csv", f"{_ROOM}.csv_files:csv_folder"),
}


class Export(Protocol):
    """A function that writes books in one format; it refuses an option that the format cannot honour."""

    def __call__(
        self,
        output: str | Path,
        *,
        line_entries: pd.DataFrame,
        ledgers: pd.DataFrame,
        report: CashFlowReport,
        replace_months: bool = False,
        currency: str | None = None,
        fiscal_year_start_month: int = 1,
    ) -> Manifest:
        """Write the files and return their manifest; an option that the format does not have is refused."""


def find_export(name: str) -> Export:
    """Return the function that exports to the named format.

    Raises
    ------
    InputError
        There is no such format.
    """
    return cast("Export", pkgutil.resolve_name(_format(name).export))


def check_output(name: str, output: str | Path) -> None:
    """Check, before the books are loaded, that the named format can be written to `output`.

    Raises
    ------
    InputError
        There is no such format, it needs a package that is not installed, or `output` is not suitable.
    """
    pkgutil.resolve_name(_format(name).check)(output)


def _format(name: str) -> ExportFormat:
    if name not in FORMATS:
        msg = f"unknown export format {name!r}; the formats are: {', '.join(FORMATS)}"
        raise InputError(msg)
    return FORMATS[name]
