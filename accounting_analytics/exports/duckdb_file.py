"""Export to one DuckDB file: the tables of the star schema with their keys and relations, and views."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accounting_analytics.atomic_files import sync_folder
from accounting_analytics.errors import InputError
from accounting_analytics.exports.export_lock import unfinished_folder
from accounting_analytics.exports.manifest import ExportedFile, Manifest, file_sha256
from accounting_analytics.exports.prepared_export import PreparedExport, file_path, require_whole
from accounting_analytics.exports.questions import QUESTIONS, Question
from accounting_analytics.exports.star_schema.tables import STAR_SCHEMA, StarTable
from accounting_analytics.extras import import_extra
from accounting_analytics.messages import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport

SUFFIX = ".duckdb"
_TYPES = {
    pa.string(): "varchar",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.bool_(): "boolean",
}
_STORAGE = {"storage_compatibility_version": "v1.0.0"}
"""Connectors of BI tools contain older versions of DuckDB, which cannot read what newer ones write by default."""
_MAX_REASON = 300
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


def export_duckdb(
    output: str | Path,
    *,
    line_entries: pd.DataFrame,
    ledgers: pd.DataFrame,
    report: CashFlowReport,
    replace_months: bool = False,
    currency: str | None = None,
    fiscal_year_start_month: int = 1,
) -> Manifest:
    """Write the books of a period to one DuckDB file.

    It has the tables of the star schema with primary keys, foreign keys and comments, the views ``line_entries`` and
    ``cash_flow`` with names instead of ids, and a view for each question that has no parameters. DuckDB 1.0 and later
    read it.

    Parameters
    ----------
    output : path
        A file that ends in ``.duckdb``; an existing one is replaced in one step.
    line_entries, ledgers, report, currency, fiscal_year_start_month
        As in :func:`export_parquet`.
    replace_months : bool
        Refused: the file is written as a whole.

    Returns
    -------
    Manifest
        Rows and exact sums of each table, and the digest of the file.

    Raises
    ------
    FrameError
        A table is not valid, the scales differ, or an amount or a balance has more than 18 digits.
    InputError
        An argument is not valid, duckdb is not installed, another export to the file is running, another program has
        unsaved changes of it, or it cannot be written.
    """
    require_whole(replace_months, "duckdb")
    path = duckdb_path(output)
    prepared = PreparedExport.of_frames(
        path.parent, line_entries, ledgers, report, currency=currency, fiscal_year_start_month=fiscal_year_start_month
    )
    tables = prepared.star_schema().tables()
    try:
        digest = _replace_database(path, tables, prepared.books.scale)
    except (OSError, _import_duckdb().Error) as error:
        reason = getattr(error, "strerror", None) or shorten(str(error), limit=_MAX_REASON)
        msg = f"the export to {path} failed ({reason}); the previous content is unchanged"
        raise InputError(msg) from error
    files = tuple(ExportedFile.of_rows(path.name, name, rows, digest) for name, rows in tables.items())
    return replace(prepared.manifest, files=files)


def duckdb_path(output: str | Path) -> Path:
    """Path of the file.

    Raises
    ------
    InputError
        It is not the path of a ``.duckdb`` file in an existing folder, another program has unsaved changes of the file,
        or duckdb is not installed.
    """
    _import_duckdb()
    path = file_path(output, SUFFIX)
    _require_no_unsaved_changes(path)
    return path


def _import_duckdb() -> Any:  # noqa: ANN401 (a module)
    return import_extra("duckdb", "scale", "a DuckDB file")


def _require_no_unsaved_changes(path: Path) -> None:
    """Refuse to replace a database beside whose changes, in a ``.wal`` file, DuckDB could not open the new one."""
    changes = path.with_name(f"{path.name}.wal")
    if changes.exists():
        msg = (
            f"{changes} has changes of another program that are not in {path} yet; close that program, or remove "
            f"{changes.name} if no program has the file open, or name another file; nothing was written"
        )
        raise InputError(msg)


def _replace_database(path: Path, tables: Mapping[str, pa.Table], scale: int) -> str:
    """Write a database under another name, sync it to disk and rename it; return its digest."""
    with unfinished_folder(path) as folder:
        unfinished = folder / path.name
        with _import_duckdb().connect(str(unfinished), config=_STORAGE) as database:
            _write_tables(database, tables, scale)
            database.execute("checkpoint")  # closing writes the file too, but reports no error if the disk is full
        digest = file_sha256(unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        _require_no_unsaved_changes(path)
        unfinished.replace(path)
        sync_folder(path.parent)
    return digest


def _write_tables(database: Any, tables: Mapping[str, pa.Table], scale: int) -> None:  # noqa: ANN401 (a connection)
    # a table follows those that it refers to
    for table in sorted(STAR_SCHEMA, key=lambda one: bool(one.references)):
        database.execute(create_table(table, scale))
        database.register("exported_rows", tables[table.name])
        database.execute(f"insert into {table.name} by name select * from exported_rows")  # noqa: S608 (our own names)
        database.unregister("exported_rows")
        database.execute(f"comment on table {table.name} is {_text(f'One row is {table.grain}.')}")
    for name, comment, query in _views():
        database.execute(f"create view {name} as {query}")
        database.execute(f"comment on view {name} is {_text(comment)}")


def create_table(table: StarTable, scale: int) -> str:
    """Statement that creates a table with its types, its key and its relations."""
    columns = [f"{field.name} {_TYPES.get(field.type, f'decimal(18, {scale})')}" for field in table.schema(scale)]
    relations = [f"foreign key ({column}) references {other} ({column})" for column, other in table.references.items()]
    key = f"primary key ({', '.join(table.key)})"
    return f"create table {table.name} ({', '.join([*columns, key, *relations])})"


def _views() -> Iterator[tuple[str, str, str]]:
    for name, (comment, query) in VIEWS.items():
        yield name, comment, query
    for question in map(Question.named, QUESTIONS):
        if "$" not in question.sql:
            yield question.name, f"{question.text} One row is {question.grain}", question.sql


def _text(value: str) -> str:
    """Text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"
