"""Read a file of books, whichever of the layouts it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from accounting_analytics.service.imports import beancount_journal, hledger_journal, line_table
from accounting_analytics.service.imports.import_errors import ImportErrors
from accounting_analytics.service.imports.line_table import read_line_table
from accounting_analytics.service.imports.mapped_journal import read_mapped_journal
from accounting_analytics.service.imports.mapped_table import map_table
from accounting_analytics.service.imports.mapping import Mapping, read_mapping
from accounting_analytics.service.imports.ofx_statement import is_ofx, read_ofx
from accounting_analytics.service.imports.parsed_books import ImportOptions, ParsedBooks
from accounting_analytics.service.imports.raw_rows import read_rows
from accounting_analytics.service.imports.statement_lines import read_mapped_statement
from accounting_analytics.service.imports.table_files import csv_rows, is_parquet, parquet_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def read_books(path: Path, options: ImportOptions = ImportOptions()) -> ParsedBooks:  # noqa: B008 (immutable)
    """Parse a file of books; its layout is that of the mapping, or recognized, and nothing is posted."""
    errors = ImportErrors(path)
    if options.mapping is not None:
        return read_mapped(path, read_mapping(options.mapping), options, errors)
    if is_parquet(path, errors):
        _refuse_others(options, (), "a line table", errors)
        return read_line_table(parquet_rows(path, errors), options, errors)
    if is_ofx(path):
        _refuse_others(options, ("account",), "an OFX file", errors)
        return read_ofx(path, options, errors)
    if reader := _JOURNALS.get(path.suffix.lower()):
        _refuse_others(options, ("commodity", "virtual", "roots", "use_entry_dates"), "a journal", errors)
        return reader(path, options, errors)
    return _read_csv(path, options, errors)


_OF_SOME_FILES = {
    "commodity": "--commodity",
    "account": "--account",
    "date_format": "--date-format",
    "virtual": "--virtual",
    "roots": "--root",
    "use_entry_dates": "--use-entry-dates",
}
"""Options that files of some kinds have no use for."""


def _refuse_others(options: ImportOptions, used: Sequence[str], kind: str, errors: ImportErrors) -> None:
    """Refuse options that would be ignored."""
    given = [option for name, option in _OF_SOME_FILES.items() if getattr(options, name) and name not in used]
    if given:
        errors.fail(f"{kind} is read without {', '.join(given)}; leave out what it has no use for")


_JOURNALS = dict.fromkeys(hledger_journal.SUFFIXES, hledger_journal.read_hledger_journal) | dict.fromkeys(
    beancount_journal.SUFFIXES, beancount_journal.read_beancount
)
"""How a journal is read, by the end of its name."""


def _read_csv(path: Path, options: ImportOptions, errors: ImportErrors) -> ParsedBooks:
    _refuse_others(options, (), "a table without a mapping", errors)
    table = csv_rows(path, errors)
    if {"entry_id", "ledger"}.isdisjoint(table.columns):
        errors.fail(
            f"its columns ({', '.join(table.columns)[:120]}) are not those of a line table "
            f"({', '.join(line_table.REQUIRED_COLUMNS)}); a file of another program needs a --mapping, which "
            "--inspect shows",
            "line 1",
        )
    return read_line_table(table, options, errors)


def read_mapped(path: Path, mapping: Mapping, options: ImportOptions, errors: ImportErrors) -> ParsedBooks:
    """Parse a table of another program."""
    if options.date_format:
        mapping = msgspec.structs.replace(mapping, dates=(options.date_format,))
    used = ("account", "date_format") if mapping.kind == "statement" else ("date_format",)
    _refuse_others(options, used, f"a {mapping.kind} with a mapping", errors)
    table = map_table(read_rows(path, errors).rows, mapping, options.scale, errors)
    read = read_mapped_statement if mapping.kind == "statement" else read_mapped_journal
    return read(table, mapping, options, errors)
