"""The star schema as Parquet files: one file a table, or one a month of it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accounting_analytics.exports.books import name_of_month
from accounting_analytics.exports.manifest import ExportedFile, Manifest, current_manifest, file_sha256
from accounting_analytics.exports.star_schema.star_database import text_literal
from accounting_analytics.exports.star_schema.table_definitions import STAR_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.exports.star_schema.star_database import StarDatabase
    from accounting_analytics.exports.star_schema.table_definitions import StarTable
    from accounting_analytics.exports.version_folder import VersionFolder

SUFFIX = ".parquet"
_BALANCES = ("fact_daily_balance", "fact_period_balance")
"""Facts that need the lines of all months, because each month begins where the one before ends."""
_READ_BY_ANOTHER = ("fact_cash_flow_line",)
"""Facts that another one reads; the others are calculated as they are written."""


def write_parquet(folder: VersionFolder, star: StarDatabase, manifest: Manifest) -> Manifest:
    """Write the tables as the next version of a folder, and the manifest last."""
    with folder.new_version() as version:
        current_manifest(folder, SUFFIX)  # again: another program may have written it in the meantime
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
        name = name_of_month(month)
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
    file = f"{table.name}{SUFFIX}"
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
