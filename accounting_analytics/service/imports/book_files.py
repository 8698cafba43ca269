"""Read a file of books, whichever of the layouts it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.service.imports import beancount_journal, hledger_journal, line_table
from accounting_analytics.service.imports.import_errors import ImportErrors
from accounting_analytics.service.imports.line_table import read_line_table
from accounting_analytics.service.imports.parsed_books import ImportOptions, ParsedBooks
from accounting_analytics.service.imports.table_files import csv_rows, is_parquet, parquet_rows

if TYPE_CHECKING:
    from pathlib import Path


def read_books(path: Path, options: ImportOptions = ImportOptions()) -> ParsedBooks:  # noqa: B008 (immutable)
    """Parse a file of books, whose layout is recognized; nothing is posted."""
    errors = ImportErrors(path)
    if reader := _JOURNALS.get(path.suffix.lower()):
        return reader(path, options, errors)
    if given := [option for name, option in _OF_JOURNALS.items() if getattr(options, name)]:
        errors.fail(f"a line table is read without {', '.join(given)}; leave out what it has no use for")
    if is_parquet(path, errors):
        return read_line_table(parquet_rows(path, errors), options, errors)
    table = csv_rows(path, errors)
    if {"entry_id", "ledger"}.isdisjoint(table.columns):
        errors.fail(
            f"its columns ({', '.join(table.columns)[:120]}) are not those of a line table "
            f"({', '.join(line_table.REQUIRED_COLUMNS)}); make one of it, as the notebook 07_your_own_books does, "
            f"or give a journal that is named so ({', '.join(sorted(_JOURNALS))})",
            "line 1",
        )
    return read_line_table(table, options, errors)


_OF_JOURNALS = {
    "commodity": "--commodity",
    "virtual": "--virtual",
    "roots": "--root",
    "use_entry_dates": "--use-entry-dates",
}
"""Options that only journals have a use for."""

_JOURNALS = dict.fromkeys(hledger_journal.SUFFIXES, hledger_journal.read_hledger_journal) | dict.fromkeys(
    beancount_journal.SUFFIXES, beancount_journal.read_beancount
)
"""How a journal is read, by the end of its name."""
