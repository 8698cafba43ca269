"""Export to one DuckDB file: the tables of the star schema with their keys and relations, and views."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from accounting_analytics.atomic_files import sync_folder
from accounting_analytics.errors import InputError
from accounting_analytics.exports.manifest import ExportedFile, file_sha256
from accounting_analytics.exports.questions import QUESTIONS, Question
from accounting_analytics.exports.star_schema.star_database import text_literal
from accounting_analytics.exports.star_schema.table_definitions import STAR_SCHEMA, StarTable
from accounting_analytics.exports.version_folder import file_path, unfinished_folder
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accounting_analytics.exports.manifest import Manifest
    from accounting_analytics.exports.star_schema.star_database import StarDatabase

SUFFIX = ".duckdb"
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
        _write_tables(star)
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


def _write_tables(star: StarDatabase) -> None:
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
