"""Flat Parquet for BI tools: line entries, cash flow lines, ledgers, and a manifest that vouches for them.

Every column is of a type that every reader knows: plain strings, whole numbers, booleans, and for each instant an int64
microsecond UTC timestamp beside the local ``date32`` (``*_local_date``). Amounts are whole minor units (cents at scale
2) in int64, in columns named ``*_minor_units``, with the scale beside them; lists are joined with ``|``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from accounting_analytics.errors import FrameError, InputError
from accounting_analytics.load_metadata import missing_reasons
from accounting_analytics.periods import zone
from accounting_analytics.schemas import Ledgers, LineEntries, scale_of

if TYPE_CHECKING:
    from accounting_analytics.schemas import CashFlowReport

MANIFEST = "manifest.json"
LIST_SEPARATOR = "|"
_FORMAT = 1
_INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class ExportedFile:
    """One file of an export."""

    name: str
    rows: int
    sums: dict[str, int]
    sha256: str
    columns: dict[str, str]


@dataclass(frozen=True)
class Manifest:
    """What an export holds; ``manifest.json`` in the folder says the same.

    Parameters
    ----------
    folder : Path
        Where the export is.
    start_date, end_date, time_zone : str
        The period of the cash flow lines, and the zone of every local date.
    scale : int
        Fraction digits: an amount is its minor units divided by ten to this power.
    partial : bool
        Whether lines are known to be missing.
    files : tuple of ExportedFile
        Name, rows, sums of the amount columns in minor units, sha256 and column types of each file.
    """

    folder: Path
    start_date: str
    end_date: str
    time_zone: str
    scale: int
    partial: bool
    files: tuple[ExportedFile, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """Table of the files: name, rows, sha256."""
        rows = [(str(self.folder / file.name), file.rows, file.sha256) for file in self.files]
        return pd.DataFrame(rows, columns=["file", "rows", "sha256"])


def export_parquet(
    output: str | Path, *, line_entries: pd.DataFrame, ledgers: pd.DataFrame, report: CashFlowReport
) -> Manifest:
    """Write ``fact_line_entry``, ``fact_cash_flow_line`` and ``dim_ledger`` with a manifest into a folder.

    The files are written beside the folder and put in its place when all of them are whole: a reader sees the old
    export or the new one. A folder that holds anything else than an export is left alone.

    Parameters
    ----------
    output : path
        Folder of the export; an earlier export in it is replaced.
    line_entries : DataFrame
        :class:`~accounting_analytics.schemas.LineEntries`.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    report : CashFlowReport
        Its lines, period and time zone; local dates are in that zone.

    Raises
    ------
    FrameError
        A table is not valid, the scales differ, or an amount does not fit 64-bit minor units.
    InputError
        The folder holds other files, or cannot be written.
    """
    folder = Path(output)
    LineEntries.checked(line_entries)
    Ledgers.checked(ledgers)
    report.checked()
    scale = report.scale
    if len(line_entries) and scale_of(line_entries["amount"]) != scale:
        msg = f"line entries have scale {scale_of(line_entries['amount'])}, the report has scale {scale}"
        raise FrameError(msg)
    tables = {
        "fact_line_entry.parquet": _flat(line_entries, report),
        "fact_cash_flow_line.parquet": _cash_flow_lines(report),
        "dim_ledger.parquet": _flat(ledgers, report),
    }
    require_replaceable(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
            written = Path(temporary) / "new"
            written.mkdir()
            files = tuple(_write(written / name, table) for name, table in tables.items())
            period = report.period
            manifest = Manifest(
                folder=folder,
                start_date=str(period.start_date),
                end_date=str(period.end_date),
                time_zone=period.time_zone,
                scale=scale,
                partial=report.partial or bool(missing_reasons(line_entries, period)),
                files=files,
            )
            _write_manifest(written / MANIFEST, manifest)
            _put_in_place(written, folder, Path(temporary) / "old")
    except OSError as error:
        msg = f"the export to {folder} failed ({error.strerror or error}); what was there before is still there"
        raise InputError(msg) from error
    return manifest


def _cash_flow_lines(report: CashFlowReport) -> pa.Table:
    names = dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
    lines = report.lines
    return _flat(lines.assign(ledger_name=lines["ledger_id"].map(names).astype("str")), report)


def _flat(frame: pd.DataFrame, report: CashFlowReport) -> pa.Table:
    """Columns of a table as every reader knows them."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = pa.chunked_array([pa.array(frame[name], from_pandas=True)]).combine_chunks()
        if pa.types.is_decimal(column.type):
            columns[f"{name}_minor_units"] = _minor_units(column, name)
        elif pa.types.is_timestamp(column.type):
            columns[name] = column.cast(_INSTANT)
            columns[f"{name}_local_date"] = _local_dates(frame[name], report.period.time_zone)
        elif pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            columns[name] = pc.binary_join(column.cast(pa.list_(pa.string())), LIST_SEPARATOR)
        elif pa.types.is_boolean(column.type):
            columns[name] = column
        else:
            columns[name] = column.cast(pa.string())
    if any(name.endswith("_minor_units") for name in columns):
        columns["scale"] = pa.repeat(pa.scalar(report.scale, pa.int32()), len(frame))
    return pa.table(columns)


def _minor_units(column: pa.Array, name: str) -> pa.Array:
    """Whole minor units in int64; a number that does not fit is refused, never wrapped."""
    scale = column.type.scale
    integers = pa.Array.from_buffers(pa.decimal128(38, 0), len(column), column.buffers(), offset=column.offset)
    try:
        return integers.cast(pa.int64())
    except pa.ArrowInvalid as error:
        msg = f"column {name!r} has an amount that does not fit 64-bit minor units at scale {scale}"
        raise FrameError(msg) from error


def _local_dates(instants: pd.Series[Any], time_zone: str) -> pa.Array:
    midnights = instants.dt.tz_convert(zone(time_zone)).dt.tz_localize(None).dt.normalize()
    return pa.array(midnights, pa.timestamp("us"), from_pandas=True).cast(pa.date32())


def _write(path: Path, table: pa.Table) -> ExportedFile:
    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd", compression_level=1, store_schema=False, use_dictionary=True)
        file.flush()
        os.fsync(file.fileno())
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    # in decimals: a sum of int64 wraps around without a word
    sums = {
        name: int(pc.sum(table[name].cast(pa.decimal128(38, 0)), min_count=0).as_py())
        for name in table.column_names
        if name.endswith("_minor_units")
    }
    columns = {field.name: str(field.type) for field in table.schema}
    return ExportedFile(path.name, table.num_rows, sums, digest, columns)


def _write_manifest(path: Path, manifest: Manifest) -> None:
    content = {"format": _FORMAT, **asdict(manifest)}
    del content["folder"]
    with path.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())


def require_replaceable(folder: Path) -> None:
    """Refuse a folder with files that no export wrote: replacing it would lose them.

    Raises
    ------
    InputError
        It is such a folder, or a file.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        msg = f"{folder} is a file; name a folder to export to"
        raise InputError(msg)
    strangers = [one.name for one in folder.iterdir() if one.name != MANIFEST and one.suffix != ".parquet"]
    if strangers or (any(folder.iterdir()) and not (folder / MANIFEST).exists()):
        msg = f"{folder} holds other files than an export; name an empty or new folder, nothing was written"
        raise InputError(msg)


def _put_in_place(written: Path, folder: Path, old: Path) -> None:
    """Swap the new export in; if that fails, the old one goes back."""
    had_old = folder.exists()
    if had_old:
        folder.rename(old)
    try:
        written.rename(folder)
    except OSError:
        if had_old:
            old.rename(folder)
        raise
    if had_old:
        shutil.rmtree(old)
