"""Export to an Excel workbook: the cash flow report, the line entries and the ledgers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from accounting_analytics.atomic_files import replace_file
from accounting_analytics.errors import InputError
from accounting_analytics.exports.books import local_times
from accounting_analytics.exports.manifest import ExportedFile
from accounting_analytics.exports.version_folder import file_path, unfinished_folder
from accounting_analytics.sheets.writer import (
    MAX_ROWS,
    WORKBOOK_SUFFIX,
    Worksheet,
    require_xlsxwriter,
    workbook_content,
)

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.exports.books import ExportedBooks
    from accounting_analytics.exports.manifest import Manifest
    from accounting_analytics.exports.star_schema.star_database import StarDatabase

_EXACT_BELOW = 10**15
"""Excel calculates with 15 digits."""


class ExportedSheet(NamedTuple):
    """A table of a workbook, with rows below it that total it."""

    name: str
    rows: pa.Table
    totals: tuple[dict[str, Any], ...] = ()


def write_excel(path: Path, star: StarDatabase, manifest: Manifest) -> Manifest:
    """Write report, line entries and ledgers to a workbook in one step; refuse what a workbook cannot hold."""
    sheets = _sheets(star, manifest)
    for sheet in sheets:
        _require_fits(sheet)
    with unfinished_folder(path) as folder:
        content = _content(sheets, manifest.scale, manifest.currency, folder)
        replace_file(path, lambda file: file.write(content))
    digest = hashlib.sha256(content).hexdigest()
    files = tuple(ExportedFile.of_rows(path.name, sheet.name, sheet.rows, digest) for sheet in sheets)
    return replace(manifest, files=files)


def excel_path(output: str | Path) -> Path:
    """Path of the workbook."""
    require_xlsxwriter()
    return file_path(output, WORKBOOK_SUFFIX)


def _sheets(star: StarDatabase, manifest: Manifest) -> tuple[ExportedSheet, ...]:
    books, ledgers = star.books, star.rows("dim_ledger")
    paths = dict(zip(ledgers["ledger_id"].to_pylist(), ledgers["path"].to_pylist(), strict=True))
    return _report_sheet(books, manifest, paths), _lines_sheet(books, paths), _ledgers_sheet(ledgers)


def _report_sheet(books: ExportedBooks, manifest: Manifest, paths: dict[str, str]) -> ExportedSheet:
    figures, report = pa.Table.from_pandas(books.report.ledgers, preserve_index=False), books.report
    rows = pa.table(
        {
            "category": [paths[ledger_id] for ledger_id in figures["ledger_id"].to_pylist()],
            "net_cash_flow": figures["net_cash_flow"],
            "with_subcategories": figures["total_net_cash_flow"],
        }
    )
    totals: tuple[dict[str, Any], ...] = (
        {"category": "Net cash flow", "net_cash_flow": "sum"},
        {"category": "Starting cash balance", "net_cash_flow": report.starting_cash_balance},
        {"category": "Ending cash balance", "net_cash_flow": report.ending_cash_balance},
        {},
        {"category": f"{'PARTIAL: ' if manifest.partial else ''}Cash flow, {report.period}"},
        {"category": manifest.verdict},
        *({"category": note} for note in manifest.notes),
    )
    return ExportedSheet("report", rows, totals)


def _lines_sheet(books: ExportedBooks, paths: dict[str, str]) -> ExportedSheet:
    lines = books.lines.sort_by([("datetime", "ascending"), ("id", "ascending")])
    columns = {
        "local_time": local_times(lines["datetime"], books.period.time_zone),
        "ledger": pa.array([paths[ledger_id] for ledger_id in lines["ledger_id"].to_pylist()], pa.string()),
        "journal_entry_description": lines["journal_entry_description"],
        "description": lines["description"],
        "debit_credit": lines["debit_credit"],
        "amount": lines["amount"],
        "signed_amount": lines["signed_amount"],
        "line_entry_id": lines["id"],
        "journal_entry_id": lines["journal_entry_id"],
        "transaction_id": lines["transaction_id"],
        "ledger_id": lines["ledger_id"],
    }
    return ExportedSheet("lines", pa.table(columns), ({"ledger": "Total", "signed_amount": "sum"},))


def _ledgers_sheet(ledgers: pa.Table) -> ExportedSheet:
    shown = ("path", "name", "type", "sub_type", "debit_credit", "financial_account_type", "is_cash", "ledger_id")
    return ExportedSheet("ledgers", ledgers.sort_by("display_order").select(shown))


def _require_fits(sheet: ExportedSheet) -> None:
    """Refuse what a sheet cannot hold, before anything is written."""
    needed = 1 + sheet.rows.num_rows + len(sheet.totals)
    if needed > MAX_ROWS:
        raise InputError(
            f"the sheet {sheet.name} would have {needed:,} rows, but a sheet of Excel has {MAX_ROWS:,}; export "
            "a shorter period, or use the format parquet, duckdb or csv; nothing was written"
        )
    for name in sheet.rows.column_names:
        if pa.types.is_decimal(sheet.rows[name].type):
            _require_digits(sheet, name)


def _require_digits(sheet: ExportedSheet, name: str) -> None:
    scale = sheet.rows[name].type.scale
    for amount in (value for value in sheet.rows[name].to_pylist() if value is not None):
        if abs(amount.scaleb(scale)) >= _EXACT_BELOW:
            raise InputError(
                f"the sheet {sheet.name} would have the {name} {amount}, but Excel keeps 15 digits; use the format "
                "parquet, duckdb or csv; nothing was written"
            )


def _content(sheets: tuple[ExportedSheet, ...], scale: int, currency: str | None, folder: Path) -> bytes:
    unit = (currency or "").replace('"', "")
    amount_format = f"#,##0{'.' if scale else ''}{'0' * scale}" + (f' "{unit}"' if unit else "")
    worksheets = [Worksheet(sheet.name, _Columns(sheet.rows), totals=sheet.totals) for sheet in sheets]
    return workbook_content(worksheets, amount_format=amount_format, unit=unit, folder=folder)


class _Columns(Mapping[str, list[Any]]):
    """Columns of a table, of which only the one that is written is in Python objects."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> list[Any]:
        values: list[Any] = self._rows[name].to_pylist()
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.column_names)

    def __len__(self) -> int:
        return len(self._rows.column_names)
