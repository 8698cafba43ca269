"""Read a file of books, whichever of the layouts it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.service.imports import hledger_csv, line_table
from accounting_analytics.service.imports.hledger_csv import read_hledger_csv
from accounting_analytics.service.imports.import_errors import ImportErrors
from accounting_analytics.service.imports.line_table import read_line_table
from accounting_analytics.service.imports.parsed_books import ImportOptions, ParsedBooks
from accounting_analytics.service.imports.table_files import csv_rows, is_parquet, parquet_rows

if TYPE_CHECKING:
    from pathlib import Path


def read_books(path: Path, options: ImportOptions = ImportOptions()) -> ParsedBooks:  # noqa: B008 (immutable)
    """Parse a file of books; its layout is recognized by its columns, and nothing is posted."""
    errors = ImportErrors(path)
    if is_parquet(path, errors):
        return read_line_table(parquet_rows(path, errors), options, errors)
    table = csv_rows(path, errors)
    if {"txnidx", "account"} <= set(table.columns):
        return read_hledger_csv(table, options, errors)
    if {"entry_id", "ledger"}.isdisjoint(table.columns):
        errors.fail(
            f"its columns ({', '.join(table.columns)[:120]}) are neither those of a line table "
            f"({', '.join(line_table.REQUIRED_COLUMNS)}) nor those of `hledger print -O csv` "
            f"({', '.join(hledger_csv.COLUMNS)}); columns are separated by commas",
            "line 1",
        )
    return read_line_table(table, options, errors)
