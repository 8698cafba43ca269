"""The star schema as Parquet files: one file a table, or one a month of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.atomic_files import replace_file
from accounting_analytics.exports.manifest import (
    ExportedFile,
    Manifest,
    control_totals,
    current_manifest,
    file_sha256,
)
from accounting_analytics.exports.star_schema.table_definitions import (
    DIM_LOAD,
    TABLES,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from accounting_analytics.exports.star_schema.build import StarSchema
    from accounting_analytics.exports.star_schema.table_definitions import StarTable
    from accounting_analytics.exports.version_folder import VersionFolder

SUFFIX = ".parquet"


class FileRows(NamedTuple):
    """The rows of one file."""

    table: StarTable
    month: str | None  # None if the table is not divided by month
    rows: pa.Table  # without the column ``month`` if it is in the path

    @property
    def name(self) -> str:
        """Path of the file in its folder: ``fact_transfer/month=2026-01/fact_transfer.parquet``."""
        file = f"{self.table.name}{SUFFIX}"
        return file if self.month is None else f"{self.table.name}/month={self.month}/{file}"


def write_parquet(folder: VersionFolder, star: StarSchema, manifest: Manifest) -> Manifest:
    """Write the tables as the next version of a folder, and the manifest last."""
    with folder.new_version() as version:
        current_manifest(folder, SUFFIX)  # again: another program may have written it in the meantime
        loads = {row["month"]: row for row in star.dimensions[DIM_LOAD.name].to_pylist()}
        files = [_write_part(version, part, manifest, loads) for part in _parts(star)]
        complete = replace(manifest, files=tuple(sorted(files, key=lambda file: file.name)))
        complete.save(version)
        return complete


def _parts(star: StarSchema) -> Iterator[FileRows]:
    """Divide the tables into the rows of files, those of a month after those of the month before."""
    for month, facts in star.facts_by_month():
        for name, rows in facts.items():
            yield FileRows(TABLES[name], month, rows.drop_columns("month"))
    for name, rows in star.dimensions.items():
        yield FileRows(TABLES[name], None, rows)


def _write_part(
    folder: Path, part: FileRows, manifest: Manifest, loads: Mapping[str, Mapping[str, Any]]
) -> ExportedFile:
    path = folder / part.name
    path.parent.mkdir(parents=True, exist_ok=True)
    sums = control_totals(part.rows)
    metadata = {**_file_metadata(part, manifest, loads), **{f"sum.{name}": text for name, text in sums.items()}}
    replace_file(path, partial(_write_parquet, part.rows, metadata), remove_leftovers=False)
    return ExportedFile(part.name, part.table.name, part.month, part.rows.num_rows, sums, file_sha256(path))


def _write_parquet(rows: pa.Table, metadata: dict[str, str], file: BinaryIO) -> None:
    with pq.ParquetWriter(
        file,
        rows.schema,
        compression="zstd",
        compression_level=1,
        store_schema=False,  # readers other than Arrow do not know it
        store_decimal_as_integer=True,
    ) as writer:
        writer.write_table(rows.combine_chunks())  # the writer ends pages where chunks end
        writer.add_key_value_metadata(metadata)


def _file_metadata(part: FileRows, manifest: Manifest, loads: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Describe the rows of a file, as key-value metadata of Parquet; those of a month do not depend on other months."""
    whole = {"start_date": manifest.start_date, "end_date": manifest.end_date, "verdict": manifest.verdict,
             "is_partial": manifest.partial}  # fmt: skip
    load = whole if part.month is None else loads[part.month]
    return {
        "table": part.table.name,
        "grain": part.table.grain,
        "key": ", ".join(part.table.key),
        "period": f"{load['start_date']} to {load['end_date']}",
        "time_zone": manifest.time_zone,
        "scale": str(manifest.scale),
        "currency": manifest.currency or "",
        "verdict": str(load["verdict"]),
        "partial": str(load["is_partial"]).lower(),
    }
