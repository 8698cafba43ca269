"""The formats of an export: Parquet, CSV, an Excel workbook and a DuckDB file."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.sheets import BYTE_ORDER_MARK, CONVERTED, FORMULA_START, GUARD
from accounting_analytics.core.workbook import (
    MAX_ROWS,
    WORKBOOK_SUFFIX,
    ColumnSheet,
    grouped_format,
    has_too_many_digits,
    new_workbook,
    require_xlsxwriter,
)
from accounting_analytics.exports.manifest import ExportedFile, file_sha256, totals
from accounting_analytics.exports.outputs import OutputFile
from accounting_analytics.exports.star_schema import INSTANT, STAR_SCHEMA, TEXT, THREADS, text_literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

    from accounting_analytics.exports.books_to_export import ExportedBooks
    from accounting_analytics.exports.manifest import Manifest
    from accounting_analytics.exports.star_schema import StarTable


def write_parquet(
    database: duckdb.DuckDBPyConnection, folder: Path, manifest: Manifest, _books: ExportedBooks
) -> Iterator[ExportedFile]:
    """Write a file a table, or a month of it: ``fact_transfer/month=2026-01/fact_transfer.parquet``."""
    months = [month for (month,) in database.execute("select month from dim_load order by month").fetchall()]
    tables = [(table, month) for table in STAR_SCHEMA for month in (months if table.is_partitioned else [None])]

    def write(table: StarTable, month: str | None) -> ExportedFile:
        name, query = f"{table.name}.parquet", f"from {table.name}"
        if month is not None:
            name = f"{table.name}/month={month}/{name}"
            query = f"{query} select * exclude month where month = '{month}'"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with database.cursor() as cursor:
            rows, sums = totals(cursor.sql(query))
            metadata = _metadata(table, manifest) | {f"sum.{column}": text for column, text in sums.items()}
            pairs = ", ".join(f"'{key}': {text_literal(text)}" for key, text in metadata.items())
            cursor.execute(
                f"copy ({query}) to {text_literal(str(path.absolute()))} "
                f"(format parquet, compression zstd, compression_level 1, kv_metadata {{{pairs}}})"
            )
        return ExportedFile(name, table.name, rows, sums, file_sha256(path))

    with ThreadPoolExecutor(THREADS) as pool:  # DuckDB writes one file with one thread
        yield from pool.map(write, *zip(*tables, strict=True))


def _metadata(table: StarTable, manifest: Manifest) -> dict[str, str]:
    """Describe a table and the export, as key-value metadata of Parquet."""
    return {
        "table": table.name,
        "grain": table.grain,
        "key": ", ".join(table.key),
        "period": f"{manifest.start_date} to {manifest.end_date}",
        "time_zone": manifest.time_zone,
        "scale": str(manifest.scale),
        "currency": manifest.currency or "",
        "verdict": manifest.verdict,
        "partial": str(manifest.partial).lower(),
    }


_FORMULA = f"[{re.escape(FORMULA_START + GUARD)}].*"
_WORDS = ("description", "name", "path", "merchant")
"""Ends of names of columns that people read; ids, codes and months stay as they are, unless they are formulas."""


def _guarded(name: str) -> str:
    """Text as `guard` of sheets writes it."""
    pattern = f"{_FORMULA}|{CONVERTED}" if name.endswith(_WORDS) else _FORMULA
    return f"if(regexp_full_match({name}, {text_literal(pattern)}, 'is'), {text_literal(GUARD)} || {name}, {name})"


def write_csv(
    database: duckdb.DuckDBPyConnection, folder: Path, _manifest: Manifest, _books: ExportedBooks
) -> Iterator[ExportedFile]:
    """Write a file a table as a person reads it: local times to the second, and text that is never a formula."""
    for table in STAR_SCHEMA:
        path, columns = folder / f"{table.name}.csv", {}
        for name, dtype in table.columns.items():
            if dtype == INSTANT:
                columns[name.replace("_utc", "_local")] = f"date_trunc('second', local_time({name}))"
            else:
                columns[name] = _guarded(name) if dtype == TEXT else name
        shown = ", ".join(f'{value} as "{name}"' for name, value in columns.items())
        marked = shown.replace(' as "', f' as "{BYTE_ORDER_MARK}', 1)
        database.execute(
            f"copy (select {marked} from {table.name}) to {text_literal(str(path.absolute()))} (format csv, header)"  # noqa: S608 (our own names)
        )
        yield ExportedFile(path.name, table.name, *totals(database.table(table.name)), file_sha256(path))


_LINES = """
select
    local_time(line.datetime_utc) as local_time, ledger.path as ledger, line.journal_entry_description,
    line.description, line.debit_credit, line.amount, line.signed_amount, line.line_entry_id, line.journal_entry_id,
    line.transaction_id, line.ledger_id
from fact_line_entry as line
inner join dim_ledger as ledger on ledger.ledger_id = line.ledger_id
order by line.datetime_utc, line.line_entry_id
"""
_LEDGERS = """
select path, name, type, sub_type, debit_credit, financial_account_type, is_cash, ledger_id
from dim_ledger
order by display_order
"""


_TREE = "select ledger_id, name, level from dim_ledger"


def workbook_file(output: str | Path) -> OutputFile:
    """Check that a workbook can be written."""
    require_xlsxwriter()
    return OutputFile(output, WORKBOOK_SUFFIX)


def write_excel(
    database: duckdb.DuckDBPyConnection, path: Path, manifest: Manifest, books: ExportedBooks
) -> Iterator[ExportedFile]:
    """Write report, line entries and ledgers to a workbook."""
    lines, ledgers, tree = (database.sql(query).to_arrow_table().to_pydict() for query in (_LINES, _LEDGERS, _TREE))
    places = {one: (name, level) for one, name, level in zip(*tree.values(), strict=True)}
    sheets = (
        _report_sheet(books, manifest, places),
        ColumnSheet("lines", lines, totals=({"ledger": "Total", "signed_amount": "sum"},)),
        ColumnSheet("ledgers", ledgers),
    )
    sums = [_sums_that_fit(sheet) for sheet in sheets]
    unit = (manifest.currency or "").replace('"', "")
    shown = grouped_format(manifest.scale, unit)
    with new_workbook(path, shown, unit=unit, folder=path.parent) as workbook:
        for sheet in sheets:
            workbook.add_columns(sheet)
    digest = file_sha256(path)
    for sheet, of_sheet in zip(sheets, sums, strict=True):
        yield ExportedFile(path.name, sheet.name, sheet.row_count, of_sheet, digest)


def _report_sheet(books: ExportedBooks, manifest: Manifest, places: dict[str, tuple[str, int]]) -> ColumnSheet:
    """Cash flow of each category, indented below its parent, with the balances, the verdict and the notes below."""
    report, figures = books.report, books.report.ledgers
    found = [places[one] for one in figures["ledger_id"]]
    columns: dict[str, list[Any]] = {
        "category": [name for name, _ in found],
        "net_cash_flow": figures["net_cash_flow"].tolist(),
        "with_subcategories": figures["total_net_cash_flow"].tolist(),
    }
    totals_below: tuple[dict[str, Any], ...] = (
        {"category": "Net cash flow", "net_cash_flow": "sum"},
        {"category": "Starting cash balance", "net_cash_flow": report.starting_cash_balance},
        {"category": "Ending cash balance", "net_cash_flow": report.ending_cash_balance},
        {},
        {"category": manifest.verdict},
        *({"category": note} for note in manifest.notes),
    )
    title = f"{'PARTIAL: ' if manifest.partial else ''}Cash flow"
    heading = [
        *filter(None, [manifest.company]),
        title,
        ", ".join(filter(None, [f"{report.period}", manifest.currency])),
    ]
    return ColumnSheet(
        "report", columns, totals=totals_below, heading=heading, levels=[level - 1 for _, level in found]
    )


def _sums_that_fit(sheet: ColumnSheet) -> dict[str, str]:
    """Sum the amounts of a sheet exactly; refuse rows and digits that Excel does not have."""
    sums, needed = {}, 1 + sheet.top + sheet.row_count + len(sheet.totals)
    if needed > MAX_ROWS:
        raise InputError(
            f"the sheet {sheet.name} would have {needed:,} rows, but a sheet of Excel has {MAX_ROWS:,}; export "
            "a shorter period, or use the format parquet, duckdb or csv; nothing was written"
        )
    for name, values in sheet.columns.items():
        amounts = [value for value in values if isinstance(value, Decimal)]
        for amount in filter(has_too_many_digits, amounts):
            raise InputError(
                f"the sheet {sheet.name} would have the {name} {amount}, but Excel keeps 15 digits; use the format "
                "parquet, duckdb or csv; nothing was written"
            )
        if amounts:
            sums[name] = f"{sum(amounts, Decimal(0)):f}"
    return sums


_UNWRITABLE = re.compile("[?\\\\\ud800-\udfff]")


class DatabaseFile(OutputFile):
    """A DuckDB file, which is not replaced while another program has unsaved changes of it in a file ``.wal``."""

    def __init__(self, output: str | Path) -> None:
        super().__init__(output, ".duckdb")
        if _UNWRITABLE.search(str(self.path.absolute())):
            raise InputError(
                f"{quote(str(self.path), limit=400)} cannot be a DuckDB file: DuckDB cannot write to a path with a "
                "question mark, a backslash, or bytes that are not UTF-8; name another file; nothing was written"
            )
        changes = self.path.with_name(f"{self.path.name}.wal")
        if changes.exists():
            raise InputError(
                f"{changes} has changes of another program that are not in {self.path} yet; close that program, or "
                f"remove {changes.name} if no program has the file open, or name another file; nothing was written"
            )


def write_duckdb(
    database: duckdb.DuckDBPyConnection, path: Path, _manifest: Manifest, _books: ExportedBooks
) -> Iterator[ExportedFile]:
    """Write what the database has in memory to its file."""
    counted = {table.name: totals(database.table(table.name)) for table in STAR_SCHEMA}
    database.execute("checkpoint")  # closing writes the file too, but reports no error if the disk is full
    database.close()
    digest = file_sha256(path)
    for name, (rows, sums) in counted.items():
        yield ExportedFile(path.name, name, rows, sums, digest)
