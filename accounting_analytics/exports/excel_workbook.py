"""Export to an Excel workbook: the cash flow report, the line entries and the ledgers."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from accounting_analytics.atomic_files import replace_file
from accounting_analytics.errors import InputError
from accounting_analytics.exports.books import local_times
from accounting_analytics.exports.manifest import ExportedFile
from accounting_analytics.exports.version_folder import file_path, unfinished_folder
from accounting_analytics.extras import import_extra
from accounting_analytics.messages import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accounting_analytics.exports.books import ExportedBooks
    from accounting_analytics.exports.manifest import Manifest
    from accounting_analytics.exports.star_schema import StarSchema

SUFFIX = ".xlsx"
MAX_ROWS = 1_048_576
"""Rows of a sheet, the header and the row of totals included."""
_MAX_TEXT = 32_767
_EXACT_BELOW = 10**15
"""Excel calculates with 15 digits."""
_FIRST_YEAR = 1900
_MAX_WIDTH = 60
_MARGIN = 3
"""Characters for the button of the filter in the header."""
_MEASURED_ROWS = 200


class Sheet(NamedTuple):
    """A table of a workbook, with rows below it that total it."""

    name: str
    rows: pa.Table
    totals: tuple[dict[str, Any], ...] = ()


def write_excel(path: Path, star: StarSchema, manifest: Manifest) -> Manifest:
    """Write report, line entries and ledgers to a workbook in one step; refuse what a workbook cannot hold."""
    sheets = _sheets(star, manifest)
    for sheet in sheets:
        _require_fits(sheet)
    with unfinished_folder(path) as folder:
        content = _workbook(sheets, manifest.scale, manifest.currency, folder)
        replace_file(path, lambda file: file.write(content))
    digest = hashlib.sha256(content).hexdigest()
    files = tuple(ExportedFile.of_rows(path.name, sheet.name, sheet.rows, digest) for sheet in sheets)
    return replace(manifest, files=files)


def excel_path(output: str | Path) -> Path:
    """Path of the workbook.

    Raises
    ------
    InputError
        It is not the path of an ``.xlsx`` file in an existing folder, or xlsxwriter is not installed.
    """
    import_extra("xlsxwriter", "excel", "an Excel workbook")
    return file_path(output, SUFFIX)


def _sheets(star: StarSchema, manifest: Manifest) -> tuple[Sheet, ...]:
    books, ledgers = star.books, star.dimensions["dim_ledger"]
    paths = dict(zip(ledgers["ledger_id"].to_pylist(), ledgers["path"].to_pylist(), strict=True))
    return _report_sheet(books, manifest, paths), _lines_sheet(books, paths), _ledgers_sheet(ledgers)


def _report_sheet(books: ExportedBooks, manifest: Manifest, paths: dict[str, str]) -> Sheet:
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
    return Sheet("report", rows, totals)


def _lines_sheet(books: ExportedBooks, paths: dict[str, str]) -> Sheet:
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
    return Sheet("lines", pa.table(columns), ({"ledger": "Total", "signed_amount": "sum"},))


def _ledgers_sheet(ledgers: pa.Table) -> Sheet:
    shown = ("path", "name", "type", "sub_type", "debit_credit", "financial_account_type", "is_cash", "ledger_id")
    return Sheet("ledgers", ledgers.sort_by("display_order").select(shown))


def _require_fits(sheet: Sheet) -> None:
    """Refuse what a sheet cannot hold, before anything is written."""
    needed = 1 + sheet.rows.num_rows + len(sheet.totals)
    if needed > MAX_ROWS:
        msg = (
            f"the sheet {sheet.name} would have {needed:,} rows, but a sheet of Excel has {MAX_ROWS:,}; export "
            "a shorter period, or use the format parquet, duckdb or csv; nothing was written"
        )
        raise InputError(msg)
    for name in sheet.rows.column_names:
        if pa.types.is_decimal(sheet.rows[name].type):
            _require_digits(sheet, name)


def _require_digits(sheet: Sheet, name: str) -> None:
    scale = sheet.rows[name].type.scale
    for amount in (value for value in sheet.rows[name].to_pylist() if value is not None):
        if abs(amount.scaleb(scale)) >= _EXACT_BELOW:
            msg = (
                f"the sheet {sheet.name} would have the {name} {amount}, but Excel keeps 15 digits; use the format "
                "parquet, duckdb or csv; nothing was written"
            )
            raise InputError(msg)


def _workbook(sheets: tuple[Sheet, ...], scale: int, currency: str | None, folder: Path) -> bytes:
    """Content of the workbook; its temporary files are in the folder."""
    file, xlsxwriter = io.BytesIO(), import_extra("xlsxwriter", "excel", "an Excel workbook")
    as_text = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
    try:
        with xlsxwriter.Workbook(file, {**as_text, "tmpdir": str(folder)}) as workbook:
            formats = _Formats.of_workbook(workbook, scale, currency)
            for sheet in sheets:
                _write_sheet(workbook.add_worksheet(sheet.name), sheet, formats)
    except xlsxwriter.exceptions.FileCreateError as error:
        msg = f"temporary files of the workbook in {folder}: {error}"
        raise OSError(msg) from error
    return file.getvalue()


class _Formats(NamedTuple):
    """Formats of a workbook."""

    header: Any
    amount: Any
    total: Any
    time: Any
    label: Any
    unit: str

    @classmethod
    def of_workbook(cls, workbook: Any, scale: int, currency: str | None) -> _Formats:  # noqa: ANN401
        unit = (currency or "").replace('"', "")
        digits = f"#,##0{'.' if scale else ''}{'0' * scale}" + (f' "{unit}"' if unit else "")
        return cls(
            workbook.add_format({"bold": True, "bottom": 1}),
            workbook.add_format({"num_format": digits}),
            workbook.add_format({"num_format": digits, "bold": True}),
            workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
            workbook.add_format({"bold": True}),
            unit,
        )


def _write_sheet(worksheet: Any, sheet: Sheet, formats: _Formats) -> None:  # noqa: ANN401 (a worksheet)
    names, count = sheet.rows.column_names, sheet.rows.num_rows
    worksheet.write_row(0, 0, names, formats.header)
    worksheet.freeze_panes(1, 0)
    worksheet.autofilter(0, 0, count, len(names) - 1)
    for column, name in enumerate(names):
        values = sheet.rows[name].to_pylist()
        worksheet.set_column(column, column, _width(name, values, formats.unit))
        for row, value in enumerate(values, start=1):
            _write_cell(worksheet, row, column, value, formats)
    for row, column, cell in _total_cells(sheet):
        if cell == "sum":
            _write_sum(worksheet, row, column, sheet.rows[names[column]].to_pylist(), formats)
        elif isinstance(cell, Decimal):
            worksheet.write_number(row, column, float(cell), formats.total)
        else:
            worksheet.write_string(row, column, shorten(cell, limit=_MAX_TEXT), formats.label)


def _total_cells(sheet: Sheet) -> Iterator[tuple[int, int, Any]]:
    for row, cells in enumerate(sheet.totals, start=sheet.rows.num_rows + 1):
        for name, cell in cells.items():
            yield row, sheet.rows.column_names.index(name), cell


def _write_sum(worksheet: Any, row: int, column: int, values: list[Any], formats: _Formats) -> None:  # noqa: ANN401
    total = float(sum(values, Decimal(0)))
    if not values:
        worksheet.write_number(row, column, total, formats.total)
        return
    letter = chr(ord("A") + column)
    worksheet.write_formula(row, column, f"=SUM({letter}2:{letter}{len(values) + 1})", formats.total, total)


def _write_cell(worksheet: Any, row: int, column: int, value: Any, formats: _Formats) -> None:  # noqa: ANN401
    if isinstance(value, Decimal):
        worksheet.write_number(row, column, float(value), formats.amount)
    elif isinstance(value, bool):
        worksheet.write_boolean(row, column, value)
    elif isinstance(value, dt.datetime) and value.year >= _FIRST_YEAR:
        worksheet.write_datetime(row, column, value, formats.time)
    elif value is not None:
        worksheet.write_string(row, column, shorten(str(value), limit=_MAX_TEXT))


def _width(name: str, values: list[Any], unit: str) -> int:
    """Width of a column: that of its longest amount or total, because Excel shows ``###`` instead; text has a limit."""
    amounts = [value for value in values if isinstance(value, Decimal)]
    if amounts:
        shown = [f"{amount:,f} {unit}" for amount in (min(amounts), max(amounts), sum(amounts, Decimal(0)))]
        return max(len(text) for text in (name, *shown)) + _MARGIN
    return min(_MAX_WIDTH, max(len(name), *(len(str(value)) for value in values[:_MEASURED_ROWS]), 8) + _MARGIN)
