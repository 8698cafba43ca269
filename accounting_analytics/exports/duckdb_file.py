"""Export to one DuckDB file: the tables of the star schema with their keys and relations, and views."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from accounting_analytics.atomic_files import sync_folder
from accounting_analytics.errors import InputError
from accounting_analytics.exports.manifest import ExportedFile, file_sha256
from accounting_analytics.exports.questions import QUESTIONS, Question
from accounting_analytics.exports.star_schema.query_database import WITHOUT_EXTENSIONS
from accounting_analytics.exports.star_schema.table_definitions import DIGITS, STAR_SCHEMA, StarTable
from accounting_analytics.exports.version_folder import file_path, unfinished_folder
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from accounting_analytics.exports.manifest import Manifest
    from accounting_analytics.exports.star_schema.build import StarSchema

SUFFIX = ".duckdb"
_UNWRITABLE = re.compile("[?\\\\\ud800-\udfff]")
_TYPES = {
    pa.string(): "varchar",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.bool_(): "boolean",
}
_STORAGE = WITHOUT_EXTENSIONS | {"storage_compatibility_version": "v1.0.0"}
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


def write_duckdb(path: Path, star: StarSchema, manifest: Manifest) -> Manifest:
    """Write the tables, with views and a view for each question without parameters, to a file in one step."""
    tables = star.tables()
    digest = _replace_database(path, tables, manifest.scale)
    files = tuple(ExportedFile.of_rows(path.name, name, rows, digest) for name, rows in tables.items())
    return replace(manifest, files=files)


def duckdb_path(output: str | Path) -> Path:
    """Path of the file."""
    path = file_path(output, SUFFIX)
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


def _replace_database(path: Path, tables: Mapping[str, pa.Table], scale: int) -> str:
    """Write a database under another name, sync it to disk and rename it; return its digest."""
    with unfinished_folder(path) as folder:
        unfinished = folder / path.name
        with duckdb.connect(str(unfinished.absolute()), config=_STORAGE) as database:
            _write_tables(database, tables, scale)
            database.execute("checkpoint")  # closing writes the file too, but reports no error if the disk is full
        digest = file_sha256(unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        _require_no_unsaved_changes(path)
        unfinished.replace(path)
        sync_folder(path.parent)
    return digest


def _write_tables(database: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table], scale: int) -> None:
    # a table follows those that it refers to
    for table in sorted(STAR_SCHEMA, key=lambda one: bool(one.references)):
        database.execute(create_table(table, scale))
        database.register("exported_rows", tables[table.name])
        database.execute(f"insert into {table.name} by name select * from exported_rows")  # noqa: S608 (our own names)
        database.unregister("exported_rows")
        database.execute(f"comment on table {table.name} is {_text(f'One row is {table.grain}.')}")
    for name, comment, query in all_views():
        database.execute(f"create view {name} as {query}")
        database.execute(f"comment on view {name} is {_text(comment)}")


def create_table(table: StarTable, scale: int) -> str:
    """Statement that creates a table with its types, its key and its relations."""
    columns = [f"{name} {dtype}" for name, dtype in column_types(table, scale).items()]
    relations = [f"foreign key ({column}) references {other} ({column})" for column, other in table.references.items()]
    key = f"primary key ({', '.join(table.key)})"
    return f"create table {table.name} ({', '.join([*columns, key, *relations])})"


def column_types(table: StarTable, scale: int) -> dict[str, str]:
    """Type of each column in DuckDB."""
    return {field.name: _TYPES.get(field.type, f"decimal({DIGITS}, {scale})") for field in table.schema(scale)}


def all_views() -> Iterator[tuple[str, str, str]]:
    """Yield name, comment and query of each view, and of each question without parameters."""
    for name, (comment, query) in VIEWS.items():
        yield name, comment, query
    for question in map(Question.named, QUESTIONS):
        if "$" not in question.sql:
            yield question.name, f"{question.text} One row is {question.grain}", question.sql


def _text(value: str) -> str:
    """Text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"
