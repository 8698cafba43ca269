"""The formats of an export: Parquet, CSV, an Excel workbook and a DuckDB file."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from accounting_analytics.atomic_files import replace_file, sync_folder
from accounting_analytics.errors import InputError
from accounting_analytics.exports.books import local_times
from accounting_analytics.exports.manifest import ExportedFile, Manifest, current_manifest, file_sha256
from accounting_analytics.exports.questions import QUESTIONS, Question
from accounting_analytics.exports.star_schema.star_database import text_literal
from accounting_analytics.exports.star_schema.table_definitions import STAR_SCHEMA, StarTable
from accounting_analytics.exports.version_folder import file_path, unfinished_folder
from accounting_analytics.messages import quote
from accounting_analytics.sheets.cells import BYTE_ORDER_MARK, FORMULA_START
from accounting_analytics.sheets.workbook import (
    MAX_ROWS,
    WORKBOOK_SUFFIX,
    ColumnSheet,
    grouped_format,
    has_too_many_digits,
    new_workbook,
    require_xlsxwriter,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.exports.books import ExportedBooks
    from accounting_analytics.exports.star_schema.star_database import StarDatabase
    from accounting_analytics.exports.version_folder import VersionFolder


PARQUET_SUFFIX = ".parquet"
_BALANCES = ("fact_daily_balance", "fact_period_balance")
"""Facts that need the lines of all months, because each month begins where the one before ends."""
_READ_BY_ANOTHER = ("fact_cash_flow_line",)
"""Facts that another one reads; the others are calculated as they are written."""


def write_parquet(folder: VersionFolder, star: StarDatabase, manifest: Manifest) -> Manifest:
    """Write the tables as the next version of a folder, and the manifest last."""
    with folder.new_version() as version:
        current_manifest(folder, PARQUET_SUFFIX)  # again: another program may have written it in the meantime
        with tempfile.TemporaryDirectory(dir=version) as temporary:
            star.spill_into(Path(temporary))
            files = list(_write_tables(version, star, manifest))
        complete = replace(manifest, files=tuple(sorted(files, key=lambda file: file.name)))
        complete.save(version)
        return complete


def _write_tables(folder: Path, star: StarDatabase, manifest: Manifest) -> Iterator[ExportedFile]:
    """Write dimensions, then the facts of one month after another."""
    whole = {"start_date": manifest.start_date, "end_date": manifest.end_date, "verdict": manifest.verdict,
             "is_partial": manifest.partial}  # fmt: skip
    dimensions = [one for one in STAR_SCHEMA if not one.is_partitioned]
    _keep(star, dimensions)
    for table in dimensions:
        yield _write_file(folder, star, table, None, _metadata(table, manifest, whole))
    loads = {row["month"]: row for row in star.rows("dim_load").to_pylist()}
    facts = [one for one in STAR_SCHEMA if one.is_partitioned]
    _keep(star, [table for table in facts if table.name in _BALANCES])
    for month in star.books.period.months():
        name = month.month
        star.show(month)
        _keep(star, [table for table in facts if table.name in _READ_BY_ANOTHER])
        for table in facts:
            yield _write_file(folder, star, table, name, _metadata(table, manifest, loads[name]))


def _keep(star: StarDatabase, tables: Iterable[StarTable]) -> None:
    """Calculate tables once, for all that read them."""
    for table in tables:
        star.execute(f"create or replace temp table {table.name} as from memory.{table.name}")


def _write_file(
    folder: Path, star: StarDatabase, table: StarTable, month: str | None, metadata: Mapping[str, str]
) -> ExportedFile:
    """Write the rows of a table, or of a month of it: ``fact_transfer/month=2026-01/fact_transfer.parquet``."""
    file = f"{table.name}{PARQUET_SUFFIX}"
    name, rows = file, f"from {table.name}"
    if month is not None:
        name, rows = f"{table.name}/month={month}/{file}", f"{rows} select * exclude month where month = '{month}'"
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    count, sums = star.totals(table, rows)
    stated = {**metadata, **{f"sum.{column}": text for column, text in sums.items()}}
    pairs = ", ".join(f"'{key}': {text_literal(value)}" for key, value in stated.items())
    star.execute(
        f"copy ({rows}) to {text_literal(str(path.absolute()))} "
        f"(format parquet, compression zstd, compression_level 1, kv_metadata {{{pairs}}})"
    )
    with path.open("rb+") as written:
        os.fsync(written.fileno())
    return ExportedFile(name, table.name, month, count, sums, file_sha256(path))


def _metadata(table: StarTable, manifest: Manifest, load: Mapping[str, Any]) -> dict[str, str]:
    """Describe the rows of a file, as key-value metadata of Parquet; those of a month do not depend on other months."""
    return {
        "table": table.name,
        "grain": table.grain,
        "key": ", ".join(table.key),
        "period": f"{load['start_date']} to {load['end_date']}",
        "time_zone": manifest.time_zone,
        "scale": str(manifest.scale),
        "currency": manifest.currency or "",
        "verdict": str(load["verdict"]),
        "partial": str(load["is_partial"]).lower(),
    }


CSV_SUFFIX = ".csv"
_FORMULA = f"^([{re.escape(FORMULA_START)}])"


def write_csv_files(folder: VersionFolder, star: StarDatabase, manifest: Manifest) -> Manifest:
    """Write a file a table, for people, as the next version of a folder."""
    with folder.new_version() as version:
        current_manifest(folder, CSV_SUFFIX)  # again: another program may have written it in the meantime
        files = tuple(_write_table(version, table.name, star.rows(table.name), manifest) for table in STAR_SCHEMA)
        complete = replace(manifest, files=files)
        complete.save(version)
        return complete


def _for_people(rows: pa.Table, time_zone: str) -> pa.Table:
    """Table as a person reads it: local times to the second, formulas as text, amounts with all their digits."""
    columns = {}
    for name in rows.column_names:
        values = rows[name]
        if pa.types.is_timestamp(values.type):
            columns[name.replace("_utc", "_local")] = local_times(values, time_zone).cast(pa.timestamp("s"), safe=False)
        elif pa.types.is_string(values.type):
            columns[name] = pc.replace_substring_regex(values, _FORMULA, r"'\1")
        else:
            columns[name] = values.cast(pa.string()) if pa.types.is_decimal(values.type) else values
    return pa.table(columns)


def _write_table(folder: Path, name: str, rows: pa.Table, manifest: Manifest) -> ExportedFile:
    path = folder / f"{name}{CSV_SUFFIX}"
    text = _for_people(rows, manifest.time_zone)
    replace_file(path, partial(_write_csv, text), remove_leftovers=False)
    return ExportedFile.of_rows(path.name, name, rows, file_sha256(path))


def _write_csv(rows: pa.Table, file: BinaryIO) -> None:
    file.write(BYTE_ORDER_MARK.encode())
    arrow_csv.write_csv(rows, file, arrow_csv.WriteOptions(quoting_style="needed"))


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
    unit = (manifest.currency or "").replace('"', "")
    amounts = grouped_format(manifest.scale, unit)
    with unfinished_folder(path) as folder, new_workbook(path, amounts, unit=unit, folder=folder) as workbook:
        for sheet in sheets:
            workbook.add_columns(ColumnSheet(sheet.name, _Columns(sheet.rows), totals=sheet.totals))
    digest = file_sha256(path)
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
    for amount in sheet.rows[name].to_pylist():
        if amount is not None and has_too_many_digits(amount):
            raise InputError(
                f"the sheet {sheet.name} would have the {name} {amount}, but Excel keeps 15 digits; use the format "
                "parquet, duckdb or csv; nothing was written"
            )


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


DUCKDB_SUFFIX = ".duckdb"
_UNWRITABLE = re.compile("[?\\\\\ud800-\udfff]")
_STORAGE = "v1.0.0"
"""Connectors of BI tools contain older versions of DuckDB, which cannot read what newer ones write by default."""
VIEWS = {
    "line_entries": (
        "Line entries with the names of their ledgers and transactions; one row is one line entry of the period.",
        """
        select line.*, ledger.path, ledger.type, ledger.statement, ledger.statement_section, bank.merchant
        from fact_line_entry as line
        inner join dim_ledger as ledger on ledger.ledger_id = line.ledger_id
        left join dim_transaction as bank on bank.transaction_id = line.transaction_id
        """,
    ),
    "cash_flow": (
        "Cash flow with the names of categories, accounts and merchants; one row is one category line.",
        """
        select flow.*, category.path as category, category.parent_name, category.type, account.cash_ledger_name,
            bank.merchant
        from fact_cash_flow_line as flow
        inner join dim_ledger as category on category.ledger_id = flow.ledger_id
        left join dim_cash_ledger as account on account.cash_ledger_id = flow.cash_ledger_id
        left join dim_transaction as bank on bank.transaction_id = flow.transaction_id
        """,
    ),
}
"""Comment and query of each view; each question without parameters is a view too."""


def write_duckdb(path: Path, star: StarDatabase, manifest: Manifest) -> Manifest:
    """Write the tables, with views and a view for each question without parameters, to a file in one step."""
    with unfinished_folder(path) as folder:
        unfinished = folder / path.name
        star.spill_into(folder)
        address = text_literal(str(unfinished.absolute()))
        star.execute(f"attach {address} as file (storage_version '{_STORAGE}')")
        _write_database(star)
        totals = {table.name: star.totals(table, f"from file.{table.name}") for table in STAR_SCHEMA}
        star.execute("checkpoint file")  # detaching writes the file too, but reports no error if the disk is full
        star.execute("detach file")
        digest = file_sha256(unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        _require_no_unsaved_changes(path)
        unfinished.replace(path)
        sync_folder(path.parent)
    files = tuple(ExportedFile(path.name, name, None, *one, digest) for name, one in totals.items())
    return replace(manifest, files=files)


def duckdb_path(output: str | Path) -> Path:
    """Path of the file."""
    path = file_path(output, DUCKDB_SUFFIX)
    if _UNWRITABLE.search(str(path.absolute())):
        raise InputError(
            f"{quote(str(path), limit=400)} cannot be a DuckDB file: DuckDB cannot write to a path with a question "
            "mark, a backslash, or bytes that are not UTF-8; name another file; nothing was written"
        )
    _require_no_unsaved_changes(path)
    return path


def _require_no_unsaved_changes(path: Path) -> None:
    """Refuse to replace a database beside whose changes, in a ``.wal`` file, DuckDB could not open the new one."""
    changes = path.with_name(f"{path.name}.wal")
    if changes.exists():
        raise InputError(
            f"{changes} has changes of another program that are not in {path} yet; close that program, or remove "
            f"{changes.name} if no program has the file open, or name another file; nothing was written"
        )


def _write_database(star: StarDatabase) -> None:
    """Write tables with keys, relations and comments, and views."""
    # a table follows those that it refers to
    for table in sorted(STAR_SCHEMA, key=lambda one: bool(one.references)):
        star.execute(create_table(table, star.books.scale))
        star.execute(f"insert into file.{table.name} from {table.name}")
        star.execute(f"comment on table file.{table.name} is {text_literal(f'One row is {table.grain}.')}")
    star.execute("use file")
    for name, comment, query in all_views():
        star.execute(f"create view {name} as {query}")
        star.execute(f"comment on view {name} is {text_literal(comment)}")
    star.execute("use memory")


def create_table(table: StarTable, scale: int) -> str:
    """Statement that creates a table with its types, its key and its relations in the file."""
    columns = [f"{name} {dtype}" for name, dtype in table.column_types(scale).items()]
    relations = [f"foreign key ({column}) references {other} ({column})" for column, other in table.references.items()]
    key = f"primary key ({', '.join(table.key)})"
    return f"create table file.{table.name} ({', '.join([*columns, key, *relations])})"


def all_views() -> Iterator[tuple[str, str, str]]:
    """Yield name, comment and query of each view, and of each question without parameters."""
    for name, (comment, query) in VIEWS.items():
        yield name, comment, query
    for question in map(Question.named, QUESTIONS):
        if "$" not in question.sql:
            yield question.name, f"{question.text} One row is {question.grain}", question.sql
