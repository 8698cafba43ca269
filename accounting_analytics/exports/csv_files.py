"""Export to CSV files for people: one file a table, in local time, as spreadsheets open them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from accounting_analytics.atomic_files import replace_file
from accounting_analytics.exports.books import local_times
from accounting_analytics.exports.manifest import ExportedFile, current_manifest, file_sha256
from accounting_analytics.exports.star_schema.table_definitions import STAR_SCHEMA
from accounting_analytics.sheets.cells import BYTE_ORDER_MARK, FORMULA_START

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.exports.manifest import Manifest
    from accounting_analytics.exports.star_schema.star_database import StarDatabase
    from accounting_analytics.exports.version_folder import VersionFolder

SUFFIX = ".csv"
_FORMULA = f"^([{re.escape(FORMULA_START)}])"


def write_csv_files(folder: VersionFolder, star: StarDatabase, manifest: Manifest) -> Manifest:
    """Write a file a table, for people, as the next version of a folder."""
    with folder.new_version() as version:
        current_manifest(folder, SUFFIX)  # again: another program may have written it in the meantime
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
    path = folder / f"{name}{SUFFIX}"
    text = _for_people(rows, manifest.time_zone)
    replace_file(path, partial(_write_csv, text), remove_leftovers=False)
    return ExportedFile.of_rows(path.name, name, rows, file_sha256(path))


def _write_csv(rows: pa.Table, file: BinaryIO) -> None:
    file.write(BYTE_ORDER_MARK.encode())
    arrow_csv.write_csv(rows, file, arrow_csv.WriteOptions(quoting_style="needed"))
