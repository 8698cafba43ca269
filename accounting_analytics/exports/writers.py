"""The formats of an export: Parquet, CSV and a DuckDB file."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from accounting_analytics.core.edited_files import BYTE_ORDER_MARK, CONVERTED, FORMULA_START, GUARD
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.exports.manifest import ExportedFile, file_sha256, totals
from accounting_analytics.exports.replaced_outputs import OutputFile
from accounting_analytics.exports.star_schema.build import THREADS, text_literal
from accounting_analytics.exports.star_schema.tables import INSTANT, STAR_SCHEMA, TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

    from accounting_analytics.exports.manifest import Manifest
    from accounting_analytics.exports.star_schema.tables import StarTable


def write_parquet(database: duckdb.DuckDBPyConnection, folder: Path, manifest: Manifest) -> Iterator[ExportedFile]:
    """Write one file for each table or month, as ``fact_transfer/month=2026-01/fact_transfer.parquet``."""
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
_WORDS = ("description", "name", "path", "counterparty")
"""Ends of the names of columns that people read. Ids, codes and months are changed only if they are formulas."""


def _guarded(name: str) -> str:
    """Write the SQL expression that guards a column.

    `guard` guards cells of sheets in the same way.
    """
    pattern = f"{_FORMULA}|{CONVERTED}" if name.endswith(_WORDS) else _FORMULA
    return f"if(regexp_full_match({name}, {text_literal(pattern)}, 'is'), {text_literal(GUARD)} || {name}, {name})"


def write_csv(database: duckdb.DuckDBPyConnection, folder: Path, _manifest: Manifest) -> Iterator[ExportedFile]:
    """Write one file for each table, with local times and without formulas."""
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


_UNWRITABLE = re.compile("[?\\\\\ud800-\udfff]")


class DatabaseFile(OutputFile):
    """A DuckDB file, which is not replaced while another program has changes in its ``.wal``."""

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


def write_duckdb(database: duckdb.DuckDBPyConnection, path: Path, _manifest: Manifest) -> Iterator[ExportedFile]:
    """Write the database to its file."""
    counted = {table.name: totals(database.table(table.name)) for table in STAR_SCHEMA}
    database.execute("checkpoint")  # closing also writes the file, but reports no error if the disk is full
    database.close()
    digest = file_sha256(path)
    for name, (rows, sums) in counted.items():
        yield ExportedFile(path.name, name, rows, sums, digest)
