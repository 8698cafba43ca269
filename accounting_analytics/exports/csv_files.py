"""Export to CSV files for people: one file a table, in local time, as spreadsheets open them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from accounting_analytics.atomic_files import replace_file
from accounting_analytics.errors import InputError
from accounting_analytics.exports.manifest import (
    MANIFEST,
    ExportedFile,
    Manifest,
    current_manifest,
    export_folder,
    file_sha256,
)
from accounting_analytics.exports.prepared_export import PreparedExport, require_whole
from accounting_analytics.exports.star_schema.exported_books import local_times
from accounting_analytics.exports.star_schema.tables import STAR_SCHEMA
from accounting_analytics.exports.version_folder import CURRENT

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport

SUFFIX = ".csv"
csv_folder = partial(export_folder, suffix=SUFFIX)
"""Folder of an export in this format; anything else is refused."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Without it Excel takes UTF-8 for the code page of the machine."""
_FORMULA = "^([=+\\-@\t\r\n＝＋－＠])"  # noqa: RUF001 (spreadsheets take the wide signs for formulas too)


def export_csv(
    output: str | Path,
    *,
    line_entries: pd.DataFrame,
    ledgers: pd.DataFrame,
    report: CashFlowReport,
    replace_months: bool = False,
    currency: str | None = None,
    fiscal_year_start_month: int = 1,
) -> Manifest:
    """Write the books of a period as CSV files for people, one a table, with a manifest.

    ``output/current`` has the files; it is replaced in one step. Times are local, in columns that end in ``_local``.
    Text that a spreadsheet would take for a formula begins with an apostrophe. Programs should read
    :func:`export_parquet`.

    Parameters
    ----------
    output : path
        Folder of the export: new, empty, or with an earlier export of this format.
    line_entries, ledgers, report, currency, fiscal_year_start_month
        As in :func:`export_parquet`.
    replace_months : bool
        Refused: the files are written as a whole.

    Returns
    -------
    Manifest
        Files with rows, exact sums and digests, and how report and line entries agree.

    Raises
    ------
    FrameError
        A table is not valid, the scales differ, or an amount or a balance has more than 18 digits.
    InputError
        An argument is not valid, or the folder contains other files, is in use or cannot be written.
    """
    require_whole(replace_months, "csv")
    folder = csv_folder(output)
    prepared = PreparedExport.of_frames(
        folder.path / CURRENT,
        line_entries,
        ledgers,
        report,
        currency=currency,
        fiscal_year_start_month=fiscal_year_start_month,
    )
    tables = prepared.star_schema().tables()
    try:
        with folder.new_version() as version:
            current_manifest(folder, SUFFIX)  # again: another program may have written it in the meantime
            files = tuple(_write_table(version, table.name, tables[table.name], prepared) for table in STAR_SCHEMA)
            manifest = replace(prepared.manifest, files=files)
            text = manifest.to_json()
            replace_file(version / MANIFEST, lambda file: file.write(text.encode()), remove_leftovers=False)
            return manifest
    except OSError as error:
        msg = f"the export to {output} failed ({error.strerror or error}); the previous content is unchanged"
        raise InputError(msg) from error


def for_people(rows: pa.Table, time_zone: str) -> pa.Table:
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


def _write_table(folder: Path, name: str, rows: pa.Table, prepared: PreparedExport) -> ExportedFile:
    path = folder / f"{name}{SUFFIX}"
    text = for_people(rows, prepared.manifest.time_zone)
    replace_file(path, partial(_write_csv, text), remove_leftovers=False)
    return ExportedFile.of_rows(path.name, name, rows, file_sha256(path))


def _write_csv(rows: pa.Table, file: BinaryIO) -> None:
    file.write(_BYTE_ORDER_MARK)
    arrow_csv.write_csv(rows, file, arrow_csv.WriteOptions(quoting_style="needed"))
